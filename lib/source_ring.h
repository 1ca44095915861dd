/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_RING_H
#define INCLUDED_RDMA_SOURCE_RING_H

#include "mem/gpu.h"
#include "mem/region.h"

#include <cstdint>
#include <gnuradio/rdma/source.h>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

/*!
 * \brief The ring of rdma.source: in host memory, or in a GPU's with the way into it.
 *
 * The thread that builds the flowgraph makes it; afterwards everything but zero() is
 * constant and for any thread.
 */
class source_ring
{
public:
    //! Opens the GPU that `memory` names. \throws config_error, cuda_error as
    //! mem::choose_gpu()
    explicit source_ring(const source_config& config);

    /*!
     * \brief A ring of at least \p slots messages, or the one there is if that is as
     * long.
     *
     * Where `memory` is auto and the GPU cannot have such a ring, the host has it.
     * \return whether it is a new one
     * \throws config_error, out_of_memory, os_error, cuda_error as the rings and
     * mem::register_ring()
     */
    bool make(std::uint64_t slots);

    explicit operator bool() const noexcept { return d_memory != nullptr; }
    const std::shared_ptr<mem::ring_memory>& memory() const noexcept { return d_memory; }
    //! Null: the ring is in host memory.
    const std::shared_ptr<mem::gpu>& gpu() const noexcept { return d_gpu; }
    std::uint64_t bytes() const noexcept { return d_memory->first_mapping().bytes; }
    //! Where the endpoint writes: the ring, or the host memory in front of it.
    mem::region writable() const noexcept;
    //! Clears a part of a message that the endpoint wrote and nobody has read yet.
    void zero(std::uint64_t offset, std::uint64_t bytes);

    //! "host" or "cuda:0"
    std::string device() const;
    //! "host", "staged", ...
    std::string route() const { return d_route; }
    //! "in host memory", "in cuda:0 (...), route staged (dmabuf: ...)"
    std::string text() const { return d_text; }

private:
    void make_in_gpu(std::uint64_t slots);

    const source_config d_config;
    std::shared_ptr<mem::gpu> d_gpu;
    std::shared_ptr<mem::ring_memory> d_memory;
    std::string d_route = "host";
    std::string d_text = "in host memory";
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_RING_H */
