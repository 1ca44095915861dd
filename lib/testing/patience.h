/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_PATIENCE_H
#define INCLUDED_RDMA_TESTING_PATIENCE_H

#include <algorithm>
#include <cstdlib>

namespace gr {
namespace rdma {
namespace testing {

//! How many times slower than usual tests run here, under a tool: RDMA_PATIENCE in the
//! environment. Limits of time are so much longer, and long streams so much shorter.
inline unsigned patience()
{
    const char* const given = std::getenv("RDMA_PATIENCE");
    return given ? static_cast<unsigned>(std::max(1, std::atoi(given))) : 1;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_PATIENCE_H */
