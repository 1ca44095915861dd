/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_BLOCK_CHECKS_H
#define INCLUDED_RDMA_BLOCK_CHECKS_H

#include <cstddef>

namespace gr {
namespace rdma {

/*
 * Parameters that several blocks have, checked in the same words.
 */

//! Bytes of an item of \p vlen samples. \throws config_error vlen is 0 or too large
int item_bytes(std::size_t sample_bytes, std::size_t vlen);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_BLOCK_CHECKS_H */
