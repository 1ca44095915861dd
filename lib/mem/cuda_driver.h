/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_CUDA_DRIVER_H
#define INCLUDED_RDMA_MEM_CUDA_DRIVER_H

#include "mem/gpu.h"

#include <cuda.h>

#include <string>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief The calls of the CUDA driver that this module makes, each with the type that the
 * toolkit's header gives it.
 *
 * Filled at run time, so that the library loads where there is no driver; tests fill it
 * with functions that imitate one. Null: the driver is too old to have the call, which
 * only the ones marked optional may be. Everything else in mem/cuda_* takes a table and
 * calls nothing but it.
 */
struct cuda_vmm_api {
    decltype(&::cuGetErrorName) get_error_name;
    decltype(&::cuDeviceGetCount) device_get_count;
    decltype(&::cuDeviceGet) device_get;
    decltype(&::cuDeviceGetName) device_get_name;
    decltype(&::cuDeviceGetUuid) device_get_uuid;
    decltype(&::cuDeviceGetPCIBusId) device_get_pci_bus_id;
    decltype(&::cuDeviceTotalMem) device_total_mem;
    decltype(&::cuDeviceGetAttribute) device_get_attribute;
    decltype(&::cuDevicePrimaryCtxRetain) primary_ctx_retain;
    decltype(&::cuDevicePrimaryCtxRelease) primary_ctx_release;
    decltype(&::cuCtxSetCurrent) ctx_set_current;
    decltype(&::cuCtxPushCurrent) ctx_push_current;
    decltype(&::cuCtxPopCurrent) ctx_pop_current;
    decltype(&::cuMemGetInfo) mem_get_info;
    decltype(&::cuMemGetAllocationGranularity) mem_get_allocation_granularity;
    decltype(&::cuMemAddressReserve) mem_address_reserve;
    decltype(&::cuMemAddressFree) mem_address_free;
    decltype(&::cuMemCreate) mem_create;
    decltype(&::cuMemRelease) mem_release;
    decltype(&::cuMemMap) mem_map;
    decltype(&::cuMemUnmap) mem_unmap;
    decltype(&::cuMemSetAccess) mem_set_access;
    decltype(&::cuPointerGetAttribute) pointer_get_attribute;
    decltype(&::cuMemHostRegister) mem_host_register;
    decltype(&::cuMemHostUnregister) mem_host_unregister;
    decltype(&::cuMemHostGetDevicePointer) mem_host_get_device_pointer;
    decltype(&::cuMemcpyAsync) memcpy_async;
    decltype(&::cuMemsetD8Async) memset_d8_async;
    decltype(&::cuStreamCreate) stream_create;
    decltype(&::cuStreamDestroy) stream_destroy;
    decltype(&::cuStreamQuery) stream_query;
    decltype(&::cuStreamSynchronize) stream_synchronize;
    decltype(&::cuStreamWaitEvent) stream_wait_event;
    decltype(&::cuStreamAddCallback) stream_add_callback;
    decltype(&::cuEventCreate) event_create;
    decltype(&::cuEventDestroy) event_destroy;
    decltype(&::cuEventRecord) event_record;
    decltype(&::cuEventQuery) event_query;
    decltype(&::cuEventSynchronize) event_synchronize;
    decltype(&::cuMemGetHandleForAddressRange)
        mem_get_handle_for_address_range;                   //!< optional: driver 11.7
    decltype(&::cuStreamWriteValue32) stream_write_value32; //!< optional: driver 11.7
    decltype(&::cuFlushGPUDirectRDMAWrites)
        flush_gpu_direct_rdma_writes; //!< optional: driver 11.3

    //! The BAR1 window of the device at a PCI address; not the driver's, but the
    //! machine's.
    bar1_memory (*bar1)(const char* pci);
};

/*!
 * \brief The machine's driver, or null: then state_of_gpus() has the reason. Loaded once,
 * at the first call, which initialises the driver and makes no context.
 */
const cuda_vmm_api* system_cuda_api();

/*!
 * \brief What a driver's answers mean. Pure.
 *
 * \param error what initialising came to, a CUresult or cudaError_t; 0: all is well
 * \param driver CUDA version of the driver, 0: none was found
 * \param build CUDA version of the toolkit
 * \param devices how many devices there are, if \p error is 0
 */
gpu_state explain_driver(int error, int driver, int build, int devices);

//! "12.4" of 12040.
std::string cuda_version_text(int version);

/*!
 * \brief Throws for a call that failed: nothing, if \p code is CUDA_SUCCESS.
 *
 * \param call such as "cuMemCreate" \param what what it was for: "a ring of 64 MiB on
 * cuda:0 (...)"
 * \throws cuda_error
 */
void check_cuda(const cuda_vmm_api& api,
                CUresult code,
                const char* call,
                const std::string& what);

//! "CUDA_ERROR_UNKNOWN (999)"
std::string cuda_error_text(const cuda_vmm_api& api, CUresult code);

//! Makes a context current for the calls of a scope, and puts the thread's own back.
class current_context
{
public:
    current_context(const cuda_vmm_api& api, CUcontext context) noexcept
        : d_api(api), d_code(api.ctx_push_current(context))
    {
    }
    ~current_context()
    {
        CUcontext ours;
        if (d_code == CUDA_SUCCESS)
            d_api.ctx_pop_current(&ours);
    }
    current_context(const current_context&) = delete;
    current_context& operator=(const current_context&) = delete;
    //! Whether it is current; the calls of the scope are for nothing if not.
    CUresult code() const noexcept { return d_code; }
    //! \throws cuda_error it is not
    void require(const std::string& what) const
    {
        check_cuda(d_api, d_code, "cuCtxPushCurrent", what);
    }

private:
    const cuda_vmm_api& d_api;
    CUresult d_code;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_CUDA_DRIVER_H */
