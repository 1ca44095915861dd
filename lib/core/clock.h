/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_CLOCK_H
#define INCLUDED_RDMA_CORE_CLOCK_H

#include <cstdint>
#include <ctime>

namespace gr {
namespace rdma {
namespace core {

//! Nanoseconds of CLOCK_MONOTONIC: for time-outs and durations. The machines take it as a
//! parameter, so that tests step it.
inline std::int64_t monotonic_ns() noexcept
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

//! Nanoseconds since the Unix epoch: for rx_time.
inline std::int64_t realtime_ns() noexcept
{
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return std::int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_CLOCK_H */
