/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_CUDA_RING_H
#define INCLUDED_RDMA_MEM_CUDA_RING_H

#include "mem/cuda_gpu.h"
#include "mem/host_ring.h"

#include <memory>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief A ring in the memory of one GPU: one VMM allocation, mapped twice back to back.
 *
 * Sizes are bytes. The length is a whole number of units and of the device's allocation
 * granularity (2 MiB on most); ask first_mapping().bytes. The base is aligned to the
 * granularity. Memory is uninitialised. Where the device offers it, the memory is made
 * for GPUDirect RDMA: rdma_capable() says what the driver made of that.
 *
 * Owns the allocation and both mappings, and keeps its GPU. Neither copies nor moves.
 * Registrations made from it must be gone before it is.
 *
 * Any thread may call any method. zero() runs on a stream of the ring's own and waits for
 * it; it is not ordered against anybody else's work.
 *
 * \throws config_error the device has no VMM; unit_bytes is 0, or unit and granularity
 * have so little in common that the ring would be too long
 * \throws out_of_memory the device has less free memory; with the bytes wanted, there,
 * and of the largest ring that fits
 * \throws cuda_error a call failed for another reason; named, with the bytes
 */
class cuda_ring : public gpu_ring
{
public:
    cuda_ring(std::shared_ptr<cuda_gpu> gpu, const gpu_ring_config& config);
    ~cuda_ring() override;
    cuda_ring(const cuda_ring&) = delete;
    cuda_ring& operator=(const cuda_ring&) = delete;

    region first_mapping() const noexcept override;
    std::uint64_t granularity() const noexcept override { return d_granularity; }
    void zero(std::uint64_t offset, std::uint64_t bytes) override;
    dma_buf export_dma_buf(std::uint64_t offset, std::uint64_t bytes) const override;
    bool rdma_capable() const noexcept override { return d_rdma_capable; }

private:
    void map();
    void unmap() noexcept;
    void check(CUresult code, const char* call) const;

    std::shared_ptr<cuda_gpu> d_gpu;
    std::unique_ptr<gpu_stream> d_stream; //!< of zero()
    std::uint64_t d_bytes = 0;
    std::uint64_t d_granularity = 0;
    bool d_rdma_capable = false;
    // What is held, in the order of taking.
    CUdeviceptr d_base = 0;
    CUmemGenericAllocationHandle d_memory = 0;
    int d_mapped = 0;
};

/*!
 * \brief The span of whole host pages that holds [address, address + bytes). Pure.
 *
 * \return its start and length; the rest of \p address is the offset in it
 */
struct page_span {
    std::uint64_t start;
    std::uint64_t bytes;
};
page_span
whole_pages(std::uint64_t address, std::uint64_t bytes, std::uint64_t page_bytes);

/*!
 * \brief The ring of an integrated GPU: host memory, mapped twice and pinned, which is
 * the GPU's own memory there.
 *
 * Both sides use it at first_mapping().host. zero() is the CPU's. A NIC registers it as
 * host memory.
 *
 * \throws config_error, out_of_memory, os_error as host_ring
 * \throws cuda_error it cannot be pinned, or has another address on the device
 */
class pinned_ring : public ring_memory
{
public:
    pinned_ring(std::shared_ptr<cuda_gpu> gpu, const gpu_ring_config& config);

    region first_mapping() const noexcept override;
    std::uint64_t granularity() const noexcept override { return d_ring.granularity(); }
    void zero(std::uint64_t offset, std::uint64_t bytes) override
    {
        d_ring.zero(offset, bytes);
    }

private:
    std::shared_ptr<cuda_gpu> d_gpu;
    host_ring d_ring;
    std::unique_ptr<pinned_range> d_pinned;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_CUDA_RING_H */
