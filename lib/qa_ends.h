/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_ENDS_H
#define INCLUDED_RDMA_QA_ENDS_H

#include <gnuradio/top_block.h>

#include <chrono>
#include <future>

namespace gr {
namespace rdma {
namespace testing {

//! Whether a flowgraph that was started ends by itself in that time; else it is stopped.
inline bool ends(const gr::top_block_sptr& top,
                 std::chrono::seconds within = std::chrono::seconds(20))
{
    auto ended = std::async(std::launch::async, [&] { top->wait(); });
    const bool in_time = ended.wait_for(within) == std::future_status::ready;
    if (!in_time)
        top->stop();
    return in_time;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_ENDS_H */
