/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_STATUS_H
#define INCLUDED_RDMA_SOURCE_STATUS_H

#include "io/endpoint.h"

#include <cstdint>
#include <map>
#include <pmt/pmt.h>
#include <string>

namespace gr {
namespace rdma {

//! \p text, and what is known to be lost behind the last message of an endpoint that was
//! stopped: no item is there to carry a tag.
std::string with_trailing_gap(const std::string& text, const io::endpoint& endpoint);

//! Makes the dict of rdma.source's status port. Not thread-safe.
class source_status
{
public:
    struct facts {
        std::map<std::string, std::uint64_t> counters; //!< all of the endpoint's
        std::uint64_t queue_depth = 0;                 //!< slots on offer to the sender
        std::string state;
        std::string status_text;
        std::string description;
        std::string route; //!< how messages get into the ring: host, staged, ...
    };

    //! Microseconds from a message's arrival to its place in the stream.
    void note_latency(double microseconds) noexcept;
    //! Latencies are those since the call before.
    pmt::pmt_t make(const facts& now);

private:
    std::uint64_t d_count = 0;
    double d_sum = 0;
    double d_max = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_STATUS_H */
