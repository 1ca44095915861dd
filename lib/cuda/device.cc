/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/device.h"

#include "cuda/error.h"
#include "cuda/memory.h"
#include "cuda/probe_kernel.h"
#include "cuda/stream.h"

#include <cstdint>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// Through the runtime, which finds the driver's library; nothing here links to it.
template <class Function>
Function driver_function(const char* name) noexcept
{
    void* found = nullptr;
#if CUDART_VERSION >= 12050
    cudaDriverEntryPointQueryResult result;
    const auto code =
        cudaGetDriverEntryPointByVersion(name, &found, 4000, cudaEnableDefault, &result);
#else
    const auto code = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault);
#endif
    if (code != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    return reinterpret_cast<Function>(found);
}

struct context_calls {
    CUresult (*get)(CUcontext*) =
        driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
    CUresult (*set)(CUcontext) =
        driver_function<CUresult (*)(CUcontext)>("cuCtxSetCurrent");
};

const context_calls& contexts() noexcept
{
    static const context_calls calls;
    return calls;
}

int make_current(int device) noexcept
{
    int code = cudaSetDevice(device);
    // Up to CUDA 11 that alone creates no context; this does.
    if (code == cudaSuccess && CUDART_VERSION < 12000)
        code = cudaFree(nullptr);
    if (code != cudaSuccess)
        cudaGetLastError();
    return code;
}

} // namespace

int device_count() noexcept
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return count;
}

device_info describe_device(int device)
{
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    char pci[32] = {};
    check(cudaDeviceGetPCIBusId(pci, sizeof pci, device), "cudaDeviceGetPCIBusId");
    return { device,
             properties.name,
             pci,
             10 * properties.major + properties.minor,
             properties.totalGlobalMem,
             properties.multiProcessorCount };
}

void use_device(int device) { check(make_current(device), "cudaSetDevice"); }

void try_kernel(int device)
{
    constexpr std::uint32_t wanted = 0x52444d41;
    const device_guard guard(device);
    const stream work(device);
    const device_memory cell(device, sizeof wanted);
    std::uint32_t got = ~wanted;
    check(cudaMemcpyAsync(
              cell.data(), &got, sizeof got, cudaMemcpyHostToDevice, work.ref().get()),
          "cudaMemcpyAsync");
    check(launch_probe(static_cast<std::uint32_t*>(cell.data()), wanted, work.ref()),
          "cudaLaunchKernel");
    check(cudaMemcpyAsync(
              &got, cell.data(), sizeof got, cudaMemcpyDeviceToHost, work.ref().get()),
          "cudaMemcpyAsync");
    check(work.ref().wait(), "cudaStreamSynchronize");
    if (got != wanted)
        throw cuda_error(0,
                         "a kernel ran on GPU " + std::to_string(device) +
                             " and wrote nothing: is its driver of the right version?");
}

device_guard::device_guard(int device) : device_guard(device, std::nothrow)
{
    // The destructor of a fully constructed object (delegation) restores.
    check(d_code, "cudaSetDevice");
}

device_guard::device_guard(int device, std::nothrow_t) noexcept
{
    d_restore = contexts().get && contexts().get(&d_before) == CUDA_SUCCESS;
    d_code = make_current(device);
}

device_guard::~device_guard()
{
    if (d_restore && contexts().set)
        contexts().set(d_before);
}

} // namespace cuda
} // namespace rdma
} // namespace gr
