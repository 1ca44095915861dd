/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_BLOCK_CHECKS_H
#define INCLUDED_RDMA_BLOCK_CHECKS_H

#include <cstddef>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

namespace mem {
class gpu;
}

/*
 * Parameters that several blocks have, checked in the same words.
 */

//! Bytes of an item of \p vlen samples. \throws config_error vlen is 0 or too large
int item_bytes(std::size_t sample_bytes, std::size_t vlen);

/*!
 * \brief The GPU that a block with this `memory` works on; null: it works on the CPU.
 *
 * auto is the CPU as long as rdma.source's own auto is host memory: a GPU block behind it
 * would be refused. \throws as mem::choose_gpu()
 */
std::shared_ptr<mem::gpu> gpu_for(const std::string& memory);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_BLOCK_CHECKS_H */
