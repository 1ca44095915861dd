/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/cuda_driver.h"

#include "mem/cuda_bar1.h"

#include <gnuradio/rdma/error.h>

#include <cuda_runtime_api.h>

#include <memory>

namespace gr {
namespace rdma {
namespace mem {

namespace {

// The version of each call that the oldest supported toolkit has: the same types since.
constexpr unsigned api_version = 11080;

struct loader {
    cudaError_t error = cudaSuccess; // the first that was not a missing symbol

    template <typename Function>
    bool operator()(Function& function, const char* name)
    {
        void* address = nullptr;
#if CUDART_VERSION >= 12000
        cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
        const cudaError_t code = cudaGetDriverEntryPointByVersion(
            name, &address, api_version, cudaEnableDefault, &found);
#else
        const cudaError_t code =
            cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found);
#endif
        if (found != cudaDriverEntryPointSuccess)
            address = nullptr;
#else
        const cudaError_t code =
            cudaGetDriverEntryPoint(name, &address, cudaEnableDefault);
#endif
        if (code != cudaSuccess && error == cudaSuccess)
            error = code;
        cudaGetLastError(); // it would stick to somebody's next call
        if (code != cudaSuccess)
            address = nullptr;
        function = reinterpret_cast<Function>(address);
        return address != nullptr;
    }
};

bool load_devices(loader& load, cuda_vmm_api& a)
{
    return load(a.get_error_name, "cuGetErrorName") &&
           load(a.device_get_count, "cuDeviceGetCount") &&
           load(a.device_get, "cuDeviceGet") &&
           load(a.device_get_name, "cuDeviceGetName") &&
           load(a.device_get_uuid, "cuDeviceGetUuid") &&
           load(a.device_get_pci_bus_id, "cuDeviceGetPCIBusId") &&
           load(a.device_total_mem, "cuDeviceTotalMem") &&
           load(a.device_get_attribute, "cuDeviceGetAttribute") &&
           load(a.primary_ctx_retain, "cuDevicePrimaryCtxRetain") &&
           load(a.primary_ctx_release, "cuDevicePrimaryCtxRelease") &&
           load(a.ctx_set_current, "cuCtxSetCurrent") &&
           load(a.ctx_push_current, "cuCtxPushCurrent") &&
           load(a.ctx_pop_current, "cuCtxPopCurrent");
}

bool load_memory(loader& load, cuda_vmm_api& a)
{
    return load(a.mem_get_info, "cuMemGetInfo") &&
           load(a.mem_get_allocation_granularity, "cuMemGetAllocationGranularity") &&
           load(a.mem_address_reserve, "cuMemAddressReserve") &&
           load(a.mem_address_free, "cuMemAddressFree") &&
           load(a.mem_create, "cuMemCreate") && load(a.mem_release, "cuMemRelease") &&
           load(a.mem_map, "cuMemMap") && load(a.mem_unmap, "cuMemUnmap") &&
           load(a.mem_set_access, "cuMemSetAccess") &&
           load(a.pointer_get_attribute, "cuPointerGetAttribute") &&
           load(a.mem_host_register, "cuMemHostRegister") &&
           load(a.mem_host_unregister, "cuMemHostUnregister") &&
           load(a.mem_host_get_device_pointer, "cuMemHostGetDevicePointer") &&
           load(a.memcpy_async, "cuMemcpyAsync") &&
           load(a.memset_d8_async, "cuMemsetD8Async");
}

bool load_streams(loader& load, cuda_vmm_api& a)
{
    return load(a.stream_create, "cuStreamCreate") &&
           load(a.stream_destroy, "cuStreamDestroy") &&
           load(a.stream_query, "cuStreamQuery") &&
           load(a.stream_synchronize, "cuStreamSynchronize") &&
           load(a.stream_wait_event, "cuStreamWaitEvent") &&
           load(a.stream_add_callback, "cuStreamAddCallback") &&
           load(a.event_create, "cuEventCreate") &&
           load(a.event_destroy, "cuEventDestroy") &&
           load(a.event_record, "cuEventRecord") && load(a.event_query, "cuEventQuery") &&
           load(a.event_synchronize, "cuEventSynchronize");
}

struct loaded_driver {
    cuda_vmm_api api{};
    gpu_state state;

    loaded_driver()
    {
        int driver = 0;
        if (cudaDriverGetVersion(&driver) != cudaSuccess)
            driver = 0;
        loader load;
        decltype(&::cuInit) init = nullptr;
        int error = 0;
        int devices = 0;
        if (!load(init, "cuInit") || !load_devices(load, api) ||
            !load_memory(load, api) || !load_streams(load, api))
            error = load.error != cudaSuccess ? load.error : cudaErrorInsufficientDriver;
        else
            error = init(0);
        if (error == 0) {
            load(api.mem_get_handle_for_address_range, "cuMemGetHandleForAddressRange");
            load(api.stream_write_value32, "cuStreamWriteValue32");
            load(api.flush_gpu_direct_rdma_writes, "cuFlushGPUDirectRDMAWrites");
            api.bar1 = &machine_bar1;
            error = api.device_get_count(&devices);
        }
        state = explain_driver(error, driver, CUDART_VERSION, devices);
    }
};

const loaded_driver& driver()
{
    static const loaded_driver d;
    return d;
}

} // namespace

std::string cuda_version_text(int version)
{
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

gpu_state explain_driver(int error, int driver, int build, int devices)
{
    gpu_state s;
    s.driver = driver;
    s.build = build;
    const std::string needs = "this build needs a driver for CUDA " +
                              cuda_version_text(build / 1000 * 1000) + " or later";
    if (error == CUDA_ERROR_STUB_LIBRARY) {
        s.absence = gpu_absence::stub_library;
        s.reason =
            "the libcuda.so.1 that was loaded is the CUDA toolkit's stub, which is for "
            "linking only; take its folder off LD_LIBRARY_PATH";
    } else if (driver == 0 && error != 0) {
        s.absence = gpu_absence::no_driver;
        s.reason = "no NVIDIA driver: libcuda.so.1 was not found; " + needs;
    } else if (error == cudaErrorInsufficientDriver ||
               (error != 0 && driver / 1000 < build / 1000)) {
        s.absence = gpu_absence::too_old;
        s.reason = "the NVIDIA driver is too old: it has CUDA " +
                   cuda_version_text(driver) + ", and " + needs;
    } else if (error == CUDA_ERROR_NO_DEVICE || (error == 0 && devices == 0)) {
        s.absence = gpu_absence::no_device;
        s.reason =
            "the NVIDIA driver sees no GPU; check nvidia-smi, the container's devices "
            "and CUDA_VISIBLE_DEVICES";
    } else if (error == CUDA_ERROR_SYSTEM_NOT_READY) {
        s.absence = gpu_absence::broken;
        s.reason =
            "the NVIDIA driver is not ready (802): nvidia-fabricmanager has to run on "
            "this machine";
    } else if (error == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) {
        s.absence = gpu_absence::broken;
        s.reason =
            "the NVIDIA kernel module and libcuda.so.1 are of different releases (803): "
            "reboot, or reload the module";
    } else if (error != 0) {
        s.absence = gpu_absence::broken;
        s.reason = "the NVIDIA driver failed to start with error " +
                   std::to_string(error) + "; check nvidia-smi and the kernel log";
    } else {
        s.absence = gpu_absence::none;
    }
    return s;
}

const cuda_vmm_api* system_cuda_api()
{
    return driver().state.absence == gpu_absence::none ? &driver().api : nullptr;
}

const gpu_state& state_of_gpus() { return driver().state; }

std::string cuda_error_text(const cuda_vmm_api& api, CUresult code)
{
    const char* name = nullptr;
    if (api.get_error_name(code, &name) != CUDA_SUCCESS || !name)
        name = "unknown CUDA error";
    return std::string(name) + " (" + std::to_string(code) + ")";
}

void check_cuda(const cuda_vmm_api& api,
                CUresult code,
                const char* call,
                const std::string& what)
{
    if (code != CUDA_SUCCESS)
        throw cuda_error(code,
                         std::string(call) + " for " + what + " failed with " +
                             cuda_error_text(api, code));
}

} // namespace mem
} // namespace rdma
} // namespace gr
