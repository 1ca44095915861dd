/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_REGISTRATION_H
#define INCLUDED_RDMA_IO_VERBS_REGISTRATION_H

#include "io/verbs/handles.h"
#include "mem/region.h"
#include "mem/registrar.h"

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief Registered memory, as scatter elements name it. Movable; empty: of nothing.
 *
 * To be gone before its protection domain, and before the memory.
 */
struct registration final : mem::registration {
    mr_handle mr;
    bool relaxed = false; //!< writes may pass one another on the way to the memory
    std::uint32_t lkey() const noexcept override { return mr ? mr->lkey : 0; }
    std::uint32_t rkey() const noexcept override { return mr ? mr->rkey : 0; }
};

/*
 * All of these ask for relaxed ordering and do without where it is refused. access: what
 * the device may do besides, of IBV_ACCESS_LOCAL_WRITE and IBV_ACCESS_REMOTE_WRITE: a
 * dma-buf takes few others.
 */

/*!
 * \brief Register host memory. \p what names it in errors. \p slot_bytes: of which the
 * largest ring that fits is a whole number; 0: it is no ring
 * \throws os_error bytes, device, errno and, where it is the limit of locked memory, what
 * fits
 */
registration register_memory(const verbs_api& api,
                             ibv_pd* pd,
                             const mem::region& memory,
                             unsigned access,
                             const std::string& what,
                             std::uint64_t slot_bytes);

/*!
 * \brief Register \p bytes of a dma-buf, from buffer.offset() on, as \p address.
 * \throws os_error bytes, device and errno of ibv_reg_dmabuf_mr
 */
registration register_dma_buf(const verbs_api& api,
                              ibv_pd* pd,
                              const mem::dma_buf& buffer,
                              std::uint64_t address,
                              std::uint64_t bytes,
                              unsigned access);

/*!
 * \brief Register a GPU's memory by its address, which takes a kernel that knows whom to
 * ask for it. \throws os_error bytes, device and errno of ibv_reg_mr
 */
registration register_device_address(const verbs_api& api,
                                     ibv_pd* pd,
                                     std::uint64_t address,
                                     std::uint64_t bytes,
                                     unsigned access);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_REGISTRATION_H */
