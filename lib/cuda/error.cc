/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/error.h"

#include "core/sizes.h"

#include <cuda_runtime_api.h>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

std::string version_text(int version)
{
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string with_code(const machine_facts& facts)
{
    return facts.device + " is sm_" + std::to_string(facts.capability) +
           ", this build has code for " + facts.built_for;
}

} // namespace

machine_facts current_facts()
{
    machine_facts facts;
    facts.toolkit_version = CUDART_VERSION;
    facts.built_for = built_architectures();
    if (cudaDriverGetVersion(&facts.driver_version) != cudaSuccess)
        facts.driver_version = 0;
    int device = 0;
    int major = 0;
    int minor = 0;
    cudaDeviceProp properties;
    if (facts.driver_version != 0 && cudaGetDevice(&device) == cudaSuccess &&
        cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
        facts.device = "GPU " + std::to_string(device) + " (" + properties.name + ")";
        major = properties.major;
        minor = properties.minor;
        facts.capability = 10 * major + minor;
    }
    cudaGetLastError();
    return facts;
}

std::string advice(int code, const machine_facts& facts)
{
    const std::string toolkit = version_text(facts.toolkit_version);
    switch (code) {
    case cudaErrorInsufficientDriver: // also where there is no driver at all
        if (facts.driver_version == 0)
            return "there is no NVIDIA driver here: install one that supports CUDA " +
                   toolkit + " or later, or use memory='host'";
        return "the NVIDIA driver supports CUDA " + version_text(facts.driver_version) +
               ", this build needs " + toolkit +
               ": update the driver, or build with that toolkit or an older one";
    case cudaErrorNoDevice:
        return "the NVIDIA driver sees no GPU: look at nvidia-smi and "
               "CUDA_VISIBLE_DEVICES, or use memory='host'";
    case cudaErrorStubLibrary:
        return "the libcuda.so.1 that was loaded is the toolkit's stub for linking: take "
               "the toolkit's stubs folder out of LD_LIBRARY_PATH";
    case cudaErrorSystemDriverMismatch:
        return "the NVIDIA kernel module and libcuda.so.1 are of different versions: "
               "reboot, or reload the module";
    case cudaErrorNoKernelImageForDevice:
        return with_code(facts) + ": build with -DCMAKE_CUDA_ARCHITECTURES=" +
               std::to_string(facts.capability);
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
        return with_code(facts) +
               ", and the driver cannot compile it for this GPU: update the driver, or "
               "build with -DCMAKE_CUDA_ARCHITECTURES=" +
               std::to_string(facts.capability);
    case cudaErrorInvalidDevice:
        return "no GPU has that number: nvidia-smi -L lists them";
    case cudaErrorDevicesUnavailable:
        return "another process holds the GPU for itself (compute mode)";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
        return "a kernel failed; this process can use the GPU no more";
    default:
        return {};
    }
}

std::string describe(int code, const char* call)
{
    const auto error = static_cast<cudaError_t>(code);
    std::string text = std::string(call) + ": " + cudaGetErrorString(error) + " (" +
                       cudaGetErrorName(error) + ", " + std::to_string(code) + ")";
    const std::string more = advice(code, current_facts());
    return more.empty() ? text : text + "; " + more;
}

void throw_error(int code, const char* call)
{
    cudaGetLastError();
    throw cuda_error(code, describe(code, call));
}

void check_allocation(int code, const char* call, std::size_t bytes, const char* what)
{
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw out_of_memory(std::string(call) + ": " + core::human_bytes(bytes) + " of " +
                            what + " were refused");
    }
    check(code, call);
}

} // namespace cuda
} // namespace rdma
} // namespace gr
