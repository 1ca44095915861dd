/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_RING_CLIENT_H
#define INCLUDED_RDMA_RING_CLIENT_H

#include "mem/region.h"

#include <cstddef>
#include <memory>

namespace gr {
namespace rdma {

//! A block that brings the memory of its output buffer, because it registered or will
//! register it.
class ring_client
{
public:
    virtual ~ring_client() = default;
    /*!
     * \brief The ring of output \p port; the same one at each call until the block is
     * destroyed. Called while the flowgraph is built, before start(), by the thread that
     * builds it. \param item_bytes bytes of one item; the ring is a whole number of items
     * \param min_items what GNU Radio thinks that the readers need
     */
    virtual std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_RING_CLIENT_H */
