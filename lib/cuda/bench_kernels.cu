/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/bench_kernels.h"
#include "cuda/launch.h"

#include <cstddef>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// Sixteen bytes a load, four loads under way, a block apart.
constexpr unsigned loads = 4;

__global__ void
read_all_kernel(const uint4* __restrict__ data, std::size_t n, std::uint32_t* sum)
{
    const std::size_t first =
        std::size_t(blockIdx.x) * block_threads * loads + threadIdx.x;
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned i = 0; i < loads; ++i)
        if (first + i * block_threads < n) {
            const uint4 v = data[first + i * block_threads];
            mine ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    for (int lanes = 16; lanes != 0; lanes /= 2)
        mine ^= __shfl_xor_sync(0xffffffffu, mine, lanes);
    if (threadIdx.x % 32 == 0)
        atomicXor(sum, mine);
}

} // namespace

int launch_read_all(device_span<const std::uint32_t> words,
                    std::uint32_t* sum,
                    stream_ref stream) noexcept
{
    if (words.size % 4 != 0 || reinterpret_cast<std::size_t>(words.data) % 16 != 0)
        return cudaErrorInvalidValue;
    if (words.size == 0)
        return cudaSuccess;
    const std::size_t n = words.size / 4;
    return launch(read_all_kernel,
                  (n + loads - 1) / loads,
                  stream,
                  reinterpret_cast<const uint4*>(words.data),
                  n,
                  sum);
}

} // namespace cuda
} // namespace rdma
} // namespace gr
