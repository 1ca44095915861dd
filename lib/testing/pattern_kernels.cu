/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/pattern_kernels.h"

namespace gr {
namespace rdma {
namespace testing {

namespace {

constexpr unsigned threads = 256;

unsigned blocks_for(std::uint64_t count)
{
    const std::uint64_t blocks = (count + threads - 1) / threads;
    return static_cast<unsigned>(blocks < 2048 ? blocks : 2048);
}

__global__ void
pattern_kernel(std::uint32_t* to, std::uint64_t first, std::uint64_t count)
{
    for (std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x;
         i < count;
         i += std::uint64_t(gridDim.x) * blockDim.x)
        to[i] = pattern_item(first + i);
}

__global__ void check_kernel(const volatile std::uint32_t* from,
                             std::uint64_t first,
                             std::uint64_t count,
                             int times,
                             long long clocks,
                             unsigned long long* wrong)
{
    for (int round = 0; round < times; ++round) {
        unsigned long long bad = 0;
        for (std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x;
             i < count;
             i += std::uint64_t(gridDim.x) * blockDim.x)
            bad += from[i] != pattern_item(first + i);
        if (bad != 0)
            atomicAdd(wrong, bad);
        const long long end = clock64() + clocks;
        while (round + 1 < times && clock64() < end) {
        }
    }
}

__global__ void fault_kernel(int* nowhere) { *nowhere = 1; }

__global__ void trap_kernel() { __trap(); }

} // namespace

int launch_pattern(std::uint32_t* to,
                   std::uint64_t first,
                   std::uint64_t count,
                   CUstream_st* stream)
{
    pattern_kernel<<<blocks_for(count), threads, 0, stream>>>(to, first, count);
    return cudaGetLastError();
}

int launch_check(const std::uint32_t* from,
                 std::uint64_t first,
                 std::uint64_t count,
                 int times,
                 long long clocks,
                 unsigned long long* wrong,
                 CUstream_st* stream)
{
    check_kernel<<<blocks_for(count), threads, 0, stream>>>(
        from, first, count, times, clocks, wrong);
    return cudaGetLastError();
}

int launch_fault(CUstream_st* stream)
{
    fault_kernel<<<1, 1, 0, stream>>>(nullptr);
    return cudaGetLastError();
}

int launch_trap(CUstream_st* stream)
{
    trap_kernel<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}

unsigned long long* make_count()
{
    unsigned long long* count = nullptr;
    if (cudaMalloc(&count, sizeof *count) != cudaSuccess ||
        cudaMemset(count, 0, sizeof *count) != cudaSuccess)
        return nullptr;
    cudaDeviceSynchronize();
    return count;
}

unsigned long long take_count(unsigned long long* count, CUstream_st* stream)
{
    unsigned long long value = ~0ULL;
    if (cudaStreamSynchronize(stream) == cudaSuccess)
        cudaMemcpy(&value, count, sizeof value, cudaMemcpyDeviceToHost);
    cudaFree(count);
    return value;
}

} // namespace testing
} // namespace rdma
} // namespace gr
