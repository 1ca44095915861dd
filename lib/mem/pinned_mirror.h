/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_PINNED_MIRROR_H
#define INCLUDED_RDMA_MEM_PINNED_MIRROR_H

#include "mem/gpu.h"
#include "mem/host_ring.h"

#include <memory>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief Host memory as long as a ring of a GPU, mapped twice like it, that the GPU's
 * copy engine reads and writes by itself.
 *
 * Byte i of it stands for byte i of the ring; who copies what and when is the user's
 * affair. Zero at the start. Owns its memory and keeps the GPU.
 * \throws out_of_memory, os_error as host_ring \throws cuda_error it cannot be pinned
 */
class pinned_mirror
{
public:
    pinned_mirror(std::shared_ptr<gpu> device, std::uint64_t bytes);

    region first_mapping() const noexcept { return d_ring.first_mapping(); }
    void zero(std::uint64_t offset, std::uint64_t bytes) { d_ring.zero(offset, bytes); }

private:
    std::shared_ptr<gpu> d_gpu;
    host_ring d_ring;
    std::unique_ptr<pinned_range> d_pinned;
};

/*!
 * \brief A ring of a GPU that is written through host memory: by an endpoint that cannot
 * reach the GPU, or by an ordinary block.
 *
 * first_mapping() is the GPU's; the writer fills mirror(), and ring_buffer has the copy
 * engine carry each span over before its readers see it. zero() clears both.
 */
class staged_ring : public ring_memory
{
public:
    //! \throws as pinned_mirror
    staged_ring(std::shared_ptr<gpu> device, std::shared_ptr<ring_memory> ring);

    region first_mapping() const noexcept override { return d_ring->first_mapping(); }
    std::uint64_t granularity() const noexcept override { return d_ring->granularity(); }
    void zero(std::uint64_t offset, std::uint64_t bytes) override;

    const std::shared_ptr<pinned_mirror>& mirror() const noexcept { return d_mirror; }

private:
    std::shared_ptr<ring_memory> d_ring;
    std::shared_ptr<pinned_mirror> d_mirror;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_PINNED_MIRROR_H */
