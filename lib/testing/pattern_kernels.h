/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_PATTERN_KERNELS_H
#define INCLUDED_RDMA_TESTING_PATTERN_KERNELS_H

#include <cstdint>

struct CUstream_st;

namespace gr {
namespace rdma {
namespace testing {

//! Item \p n of the pattern: nothing else decides it.
#ifdef __CUDACC__
__host__ __device__
#endif
    inline std::uint32_t
    pattern_item(std::uint64_t n)
{
    std::uint32_t x = static_cast<std::uint32_t>(n) * 2654435761u;
    x ^= x >> 16;
    return x * 2246822519u + static_cast<std::uint32_t>(n >> 32);
}

/*!
 * All put a kernel into \p stream and return the error of the launch; addresses are the
 * device's, counts are items of 32 bits.
 */
//! Writes items \p first to \p first + \p count - 1.
int launch_pattern(std::uint32_t* to,
                   std::uint64_t first,
                   std::uint64_t count,
                   CUstream_st* stream);
/*!
 * \brief Adds to \p wrong how many items differ from the pattern. Reads the span \p times
 * over, with \p clocks of the GPU between: a slow reader, that sees what is overwritten.
 */
int launch_check(const std::uint32_t* from,
                 std::uint64_t first,
                 std::uint64_t count,
                 int times,
                 long long clocks,
                 unsigned long long* wrong,
                 CUstream_st* stream);
//! Writes through a null pointer.
int launch_fault(CUstream_st* stream);
//! Executes a trap.
int launch_trap(CUstream_st* stream);

//! Memory for \p wrong, zero; and its value when all that is in the stream is done.
unsigned long long* make_count();
unsigned long long take_count(unsigned long long* count, CUstream_st* stream);

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_PATTERN_KERNELS_H */
