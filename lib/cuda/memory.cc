/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/memory.h"

#include "cuda/device.h"
#include "cuda/error.h"

#include <cuda_runtime_api.h>
#include <string>

namespace gr {
namespace rdma {
namespace cuda {

device_memory::device_memory(int device, std::size_t bytes)
    : d_bytes(bytes), d_device(device)
{
    if (bytes == 0)
        return;
    const device_guard guard(device);
    const std::string what = "memory of GPU " + std::to_string(device);
    check_allocation(cudaMalloc(&d_data, bytes), "cudaMalloc", bytes, what.c_str());
}

device_memory::~device_memory()
{
    if (!d_data)
        return;
    const device_guard guard(d_device, std::nothrow);
    if (cudaFree(d_data) != cudaSuccess)
        cudaGetLastError();
}

pinned_memory::pinned_memory(int device, std::size_t bytes)
    : d_bytes(bytes), d_device(device)
{
    if (bytes == 0)
        return;
    const device_guard guard(device);
    check_allocation(cudaHostAlloc(&d_data, bytes, cudaHostAllocPortable),
                     "cudaHostAlloc",
                     bytes,
                     "page-locked host memory");
}

pinned_memory::~pinned_memory()
{
    if (!d_data)
        return;
    const device_guard guard(d_device, std::nothrow);
    if (cudaFreeHost(d_data) != cudaSuccess)
        cudaGetLastError();
}

int copy_async(void* to, const void* from, std::size_t bytes, stream_ref stream) noexcept
{
    const auto code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get());
    if (code != cudaSuccess)
        cudaGetLastError();
    return code;
}

} // namespace cuda
} // namespace rdma
} // namespace gr
