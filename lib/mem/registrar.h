/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_REGISTRAR_H
#define INCLUDED_RDMA_MEM_REGISTRAR_H

#include "mem/gpu.h"

#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {
namespace mem {

//! Memory that a NIC may write into for as long as this lives; must go before the memory.
class registration
{
public:
    virtual ~registration() = default;
    virtual std::uint32_t lkey() const noexcept = 0;
    virtual std::uint32_t rkey() const noexcept = 0;
};

/*!
 * \brief What a NIC offers for memory that is not the host's. io/verbs implements it.
 *
 * Each call makes one real registration, with the rights that the endpoint needs, and
 * keeps nothing of it where it fails. Called by the thread that opens the endpoint.
 */
class registrar
{
public:
    virtual ~registrar() = default;
    /*!
     * \brief ibv_reg_dmabuf_mr(): \p bytes that begin at buffer.offset() in the export,
     * and are \p address to work requests. The descriptor may be closed afterwards.
     * \throws os_error with the errno of the call
     */
    virtual std::unique_ptr<registration> register_dma_buf(const dma_buf& buffer,
                                                           std::uint64_t address,
                                                           std::uint64_t bytes) = 0;
    /*!
     * \brief ibv_reg_mr() on a device's address, which the kernel hands to
     * nvidia-peermem. \throws os_error with the errno of the call
     */
    virtual std::unique_ptr<registration> register_address(std::uint64_t address,
                                                           std::uint64_t bytes) = 0;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_REGISTRAR_H */
