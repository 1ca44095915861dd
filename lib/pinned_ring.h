/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PINNED_RING_H
#define INCLUDED_RDMA_PINNED_RING_H

#include "mem/gpu.h"
#include "mem/host_ring.h"

#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {

//! A host ring that a GPU's copy engine writes by itself. Zero at the start.
class pinned_ring : public mem::ring_memory
{
public:
    //! \throws config_error, out_of_memory, os_error as host_ring; cuda_error
    pinned_ring(std::shared_ptr<mem::gpu> gpu,
                std::uint64_t min_bytes,
                std::uint64_t unit_bytes)
        : d_gpu(std::move(gpu)),
          d_ring(config(min_bytes, unit_bytes)),
          d_pinned(
              d_gpu->pin(d_ring.first_mapping().host, 2 * d_ring.first_mapping().bytes))
    {
    }
    mem::region first_mapping() const noexcept override { return d_ring.first_mapping(); }
    std::uint64_t granularity() const noexcept override { return d_ring.granularity(); }
    void zero(std::uint64_t offset, std::uint64_t bytes) override
    {
        d_ring.zero(offset, bytes);
    }

private:
    static mem::host_ring_config config(std::uint64_t min_bytes, std::uint64_t unit_bytes)
    {
        mem::host_ring_config c;
        c.min_bytes = min_bytes;
        c.unit_bytes = unit_bytes;
        c.prefault = true; // it is pinned at once
        return c;
    }
    std::shared_ptr<mem::gpu> d_gpu;
    mem::host_ring d_ring;
    std::unique_ptr<mem::pinned_range> d_pinned;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_PINNED_RING_H */
