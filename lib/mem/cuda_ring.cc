/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/cuda_ring.h"

#include "core/sizes.h"
#include "mem/ring_bytes.h"

#include <gnuradio/rdma/error.h>

#include <unistd.h>

namespace gr {
namespace rdma {
namespace mem {

namespace {

CUmemAllocationProp allocation_of(const gpu_info& info)
{
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = info.ordinal;
    prop.allocFlags.gpuDirectRDMACapable = info.rdma_vmm ? 1 : 0;
    return prop;
}

void check_span(std::uint64_t offset, std::uint64_t bytes, std::uint64_t ring)
{
    if (offset >= ring || bytes > ring)
        throw config_error("a span of " + std::to_string(bytes) + " bytes at offset " +
                           std::to_string(offset) + " in a ring of " +
                           std::to_string(ring) + " bytes");
}

} // namespace

page_span
whole_pages(std::uint64_t address, std::uint64_t bytes, std::uint64_t page_bytes)
{
    const std::uint64_t start = address / page_bytes * page_bytes;
    return { start, core::round_up(address + bytes, page_bytes) - start };
}

cuda_ring::cuda_ring(std::shared_ptr<cuda_gpu> gpu, const gpu_ring_config& config)
    : d_gpu(std::move(gpu))
{
    const gpu_info& info = d_gpu->info();
    if (!info.vmm)
        throw config_error(info.describe() +
                           " has no virtual memory management, which a ring needs to be "
                           "mapped twice; use another GPU or memory='host'");
    const CUmemAllocationProp prop = allocation_of(info);
    std::size_t granule = 0;
    check_cuda(d_gpu->api(),
               d_gpu->api().mem_get_allocation_granularity(
                   &granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
               "cuMemGetAllocationGranularity",
               info.describe());
    d_bytes = whole_ring_bytes(config.min_bytes, config.unit_bytes, granule, "GPU");
    d_granularity = common_multiple(config.unit_bytes, granule);
    const std::uint64_t free = d_gpu->free_bytes();
    if (d_bytes > free)
        throw out_of_memory("a ring of " + with_bytes(d_bytes) + " on " +
                            info.describe() + ", but " + with_bytes(free) +
                            " are free there; the largest that fits has " +
                            with_bytes(free / d_granularity * d_granularity) +
                            ": use fewer or smaller buffers");
    d_stream = d_gpu->make_stream();
    try {
        map();
    } catch (...) {
        unmap();
        throw;
    }
}

cuda_ring::~cuda_ring() { unmap(); }

void cuda_ring::check(CUresult code, const char* call) const
{
    const std::string what =
        "a ring of " + with_bytes(d_bytes) + " on " + d_gpu->info().describe();
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        throw out_of_memory(std::string(call) + " for " + what +
                            ": the GPU has not that much memory left; use fewer or "
                            "smaller buffers");
    check_cuda(d_gpu->api(), code, call, what);
}

void cuda_ring::map()
{
    const cuda_vmm_api& api = d_gpu->api();
    const current_context current(api, d_gpu->context());
    current.require(d_gpu->info().describe());
    const CUmemAllocationProp prop = allocation_of(d_gpu->info());
    check(api.mem_address_reserve(&d_base, 2 * d_bytes, 0, 0, 0), "cuMemAddressReserve");
    check(api.mem_create(&d_memory, d_bytes, &prop, 0), "cuMemCreate");
    for (; d_mapped < 2; ++d_mapped)
        check(api.mem_map(d_base + static_cast<std::uint64_t>(d_mapped) * d_bytes,
                          d_bytes,
                          0,
                          d_memory,
                          0),
              "cuMemMap");
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(api.mem_set_access(d_base, 2 * d_bytes, &access, 1), "cuMemSetAccess");
    // The flag is a wish: ask what came of it.
    int capable = 0;
    d_rdma_capable =
        d_gpu->info().rdma_vmm &&
        api.pointer_get_attribute(&capable,
                                  CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
                                  d_base) == CUDA_SUCCESS &&
        capable != 0;
}

void cuda_ring::unmap() noexcept
{
    const cuda_vmm_api& api = d_gpu->api();
    const current_context current(api, d_gpu->context());
    while (d_mapped-- > 0)
        api.mem_unmap(d_base + static_cast<std::uint64_t>(d_mapped) * d_bytes, d_bytes);
    if (d_memory != 0)
        api.mem_release(d_memory);
    if (d_base != 0)
        api.mem_address_free(d_base, 2 * d_bytes);
}

region cuda_ring::first_mapping() const noexcept
{
    region r;
    r.kind = memory_kind::cuda;
    r.device = d_gpu->info().ordinal;
    r.address = d_base;
    r.bytes = d_bytes;
    return r;
}

void cuda_ring::zero(std::uint64_t offset, std::uint64_t bytes)
{
    check_span(offset, bytes, d_bytes);
    if (bytes == 0)
        return;
    int code = d_stream->fill(d_base + offset, 0, bytes);
    if (code == 0)
        code = d_stream->synchronize();
    check(static_cast<CUresult>(code), "cuMemsetD8Async");
}

dma_buf cuda_ring::export_dma_buf(std::uint64_t offset, std::uint64_t bytes) const
{
    check_span(offset, bytes, d_bytes);
    const cuda_vmm_api& api = d_gpu->api();
    if (!api.mem_get_handle_for_address_range)
        throw config_error("the NVIDIA driver has no dma-buf export: it needs CUDA 11.7, "
                           "release 515, or later");
    if (!d_gpu->info().dma_buf)
        throw config_error(d_gpu->info().describe() +
                           " cannot export memory as dma-buf: that takes NVIDIA's open "
                           "kernel modules and Linux 5.12 or later");
    const page_span span = whole_pages(
        d_base + offset, bytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    if (span.start + span.bytes > d_base + 2 * d_bytes)
        throw config_error("the export of " + with_bytes(bytes) +
                           " runs over the end of the ring's second mapping");
    const current_context current(api, d_gpu->context());
    current.require(d_gpu->info().describe());
    int fd = -1;
    check(api.mem_get_handle_for_address_range(
              &fd, span.start, span.bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
          "cuMemGetHandleForAddressRange");
    return dma_buf(fd, d_base + offset - span.start, span.bytes);
}

pinned_ring::pinned_ring(std::shared_ptr<cuda_gpu> gpu, const gpu_ring_config& config)
    : d_gpu(std::move(gpu)), d_ring([&config] {
          host_ring_config c;
          c.min_bytes = config.min_bytes;
          c.unit_bytes = config.unit_bytes;
          return c;
      }())
{
    const region r = d_ring.first_mapping();
    d_pinned = d_gpu->pin(r.host, 2 * r.bytes);
    const cuda_vmm_api& api = d_gpu->api();
    const current_context current(api, d_gpu->context());
    CUdeviceptr there = 0;
    const std::string what =
        "a ring of " + with_bytes(r.bytes) + " pinned for " + d_gpu->info().describe();
    check_cuda(api,
               api.mem_host_get_device_pointer(&there, r.host, 0),
               "cuMemHostGetDevicePointer",
               what);
    if (there != r.address)
        throw config_error(what +
                           ": this GPU sees host memory at other addresses than the "
                           "CPU; use memory='host'");
}

region pinned_ring::first_mapping() const noexcept
{
    region r = d_ring.first_mapping();
    r.kind = memory_kind::cuda;
    r.device = d_gpu->info().ordinal;
    return r;
}

} // namespace mem
} // namespace rdma
} // namespace gr
