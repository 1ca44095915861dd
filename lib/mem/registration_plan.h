/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_REGISTRATION_PLAN_H
#define INCLUDED_RDMA_MEM_REGISTRATION_PLAN_H

#include "mem/registrar.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace mem {

//! How what a NIC receives comes into the ring. In the order in which `auto` tries them.
enum class route : std::uint8_t {
    dmabuf,  //!< the NIC writes into the GPU, registered as dma-buf
    peermem, //!< the same, registered by address through nvidia-peermem
    staged,  //!< the NIC writes into pinned host memory, the copy engine does the rest
    host     //!< the ring is host memory: nothing to choose
};
const char* to_string(route r) noexcept;

//! What \p text (`route=`) forces; empty for "auto". \throws config_error
std::optional<route> parse_route(const std::string& text);

enum class peermem_state : std::uint8_t { absent, loaded };
//! Whether nvidia-peermem or its predecessor is loaded; \p root: "" or a test's tree.
peermem_state find_peermem(const std::string& root = "");

//! All that the plan is made from.
struct route_facts {
    gpu_info gpu;
    bar1_memory bar1; //!< 0: not known
    std::uint64_t ring_bytes = 0;
    std::uint64_t slot_bytes = 1;
    std::uint64_t staging_bytes = 0; //!< pinned host memory that `staged` would take
    //! Host memory that this process may lock; UINT64_MAX: any.
    std::uint64_t memlock_bytes = UINT64_MAX;
    bool ring_in_gpu = true;      //!< false: host memory, or pinned (integrated GPU)
    bool rdma_capable = true;     //!< of the ring's memory, as it was made
    bool registers_memory = true; //!< false: the endpoint has no NIC (softroce)
    peermem_state peermem = peermem_state::absent;
};

//! A route that was not taken, and why, in words.
struct refused_route {
    route which;
    std::string reason;
};

//! Which routes are worth a registration, in order, and why the others are not.
struct registration_plan {
    std::vector<route> to_try;
    std::vector<refused_route> refused;
};

/*!
 * \brief Decide before anything is registered. Pure.
 *
 * Refused at once: what the device or its driver does not offer, what does not fit BAR1
 * (counted in its pages of 64 KiB) or the limit of locked memory, and direct routes on a
 * device whose memory needs a flush that the driver does not have. to_try is empty where
 * a forced route is refused, or nothing is left.
 */
registration_plan plan_registration(const route_facts& facts,
                                    std::optional<route> forced = std::nullopt);

//! What has to happen between a completion and the tag that shows it.
enum class flush_method : std::uint8_t {
    none,      //!< kernels that start later see the data
    host_call, //!< gpu::flush_rdma_writes()
    missing    //!< a flush is needed and the driver has none that we use
};
//! Pure. Scope: kernels of the GPU that owns the memory.
flush_method plan_flush(const gpu_info& gpu, route r) noexcept;

//! The outcome: the route in use, and what was refused on the way to it.
struct registered_ring {
    route used = route::host;
    std::unique_ptr<registration> memory; //!< null for staged and host
    std::vector<refused_route> refused;

    //! "dmabuf", or "staged (dmabuf: ...; peermem: ...)": for logs and status.
    std::string text() const;
};

/*!
 * \brief Register \p ring by the first route that works, one real registration each.
 *
 * \p nic may be null where facts.registers_memory is false. The registration must go
 * before the ring.
 * \throws config_error a forced route is not offered or does not fit; or, for `auto`,
 * none is left: with the reason of each
 * \throws os_error a forced route failed: errno, the route, the bytes
 */
registered_ring register_ring(const ring_memory& ring,
                              const route_facts& facts,
                              std::optional<route> forced,
                              registrar* nic);

//! The largest part of \p bytes, in whole slots, that fits \p limit: for messages.
std::uint64_t largest_ring(std::uint64_t limit, std::uint64_t slot_bytes) noexcept;

//! What this process may lock, by RLIMIT_MEMLOCK and its capabilities.
std::uint64_t lockable_bytes();

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_REGISTRATION_PLAN_H */
