/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_RING_H
#define INCLUDED_RDMA_SOURCE_RING_H

#include "io/endpoint.h"
#include "kernel_log.h"
#include "mem/gpu.h"
#include "mem/registration_plan.h"

#include <atomic>
#include <cstdint>
#include <gnuradio/rdma/source.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace gr {
namespace rdma {

/*!
 * \brief The ring of rdma.source: in host memory, or in a GPU's with the way into it.
 *
 * The way is chosen when the ring is made, and is one of two for as long as the ring
 * lives: the NIC writes into the GPU (dmabuf, peermem), or the copy engine does (staged).
 * A new endpoint gets a registration of its own of the same memory.
 *
 * make() and attach() are for the thread that opens endpoints; make_visible() and zero()
 * for the one that polls them; the rest is for any, and constant but for route() and
 * text().
 */
class source_ring
{
public:
    //! Opens the GPU that `memory` names. \throws config_error, cuda_error as
    //! mem::choose_gpu(); `route` forces what `memory` or `endpoint` cannot have
    explicit source_ring(const source_config& config);

    /*!
     * \brief A ring of at least \p slots messages, or the one there is if that is as
     * long; with the first way into it that \p nic can have, which may be null.
     *
     * Where `memory` is auto and the GPU cannot have such a ring, the host has it, unless
     * `route` is forced. attach() must follow where a ring was made.
     * \return whether it is a new one
     * \throws config_error, out_of_memory, os_error, cuda_error as the rings and
     * mem::register_ring()
     */
    bool make(std::uint64_t slots, mem::registrar* nic);
    /*!
     * \brief Let an endpoint that is open write into the ring.
     *
     * \throws as io::endpoint::attach(); and as mem::register_ring(), where the ring was
     * made with another endpoint
     */
    void attach(io::endpoint& endpoint, const mem::region& headers);

    explicit operator bool() const noexcept { return d_memory != nullptr; }
    const std::shared_ptr<mem::ring_memory>& memory() const noexcept { return d_memory; }
    //! Null: the ring is in host memory.
    const std::shared_ptr<mem::gpu>& gpu() const noexcept { return d_gpu; }
    std::uint64_t bytes() const noexcept { return d_memory->first_mapping().bytes; }

    //! Between completions and the tags that show them: what they brought is there for
    //! kernels that start later. \return 0 or the driver's error code
    int make_visible() noexcept;
    //! How often the device had to be asked for that.
    std::uint64_t flushes() const noexcept { return d_flushes; }
    //! Clears a part of a message that the endpoint wrote and nobody has read yet.
    //! \return 0 or the driver's error code
    int zero(std::uint64_t offset, std::uint64_t bytes) noexcept;

    //! The driver's code if the GPU of the ring has failed for all; else 0.
    int gpu_error() const noexcept { return d_board ? d_board->error() : 0; }
    //! Of an error of the driver, with whose kernel it was, if it was one. Where gpu() is
    //! not null, on the thread that polls.
    std::string describe_failure(int code) const;
    //! "host" or "cuda:0"
    std::string device() const;
    //! "host", "dmabuf", "peermem" or "staged"
    std::string route() const;
    //! "in host memory", "in cuda:0 (...), route staged (dmabuf: ...)"
    std::string text() const;

private:
    void make_in_gpu(std::uint64_t slots, mem::registrar* nic);
    mem::registered_ring register_with(const mem::ring_memory& ring,
                                       mem::registrar* nic) const;
    void tell(const mem::registered_ring& way);
    void tell(const std::string& route, const std::string& text);

    const source_config d_config;
    const std::optional<mem::route> d_forced;
    std::shared_ptr<mem::gpu> d_gpu;
    std::shared_ptr<kernel_board> d_board; // with d_gpu
    std::shared_ptr<mem::ring_memory> d_memory;
    std::shared_ptr<mem::ring_memory> d_replaced;      // may still be registered
    std::unique_ptr<mem::registration> d_registration; // between make() and attach()
    bool d_direct = false;                             // the NIC writes into d_memory
    mem::flush_method d_flush = mem::flush_method::none;
    std::atomic<std::uint64_t> d_flushes{ 0 };

    mutable std::mutex d_mutex; // guards the next two
    std::string d_route = "host";
    std::string d_text = "in host memory";
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_RING_H */
