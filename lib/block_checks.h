/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_BLOCK_CHECKS_H
#define INCLUDED_RDMA_BLOCK_CHECKS_H

#include <cstddef>
#include <string>

namespace gr {
namespace rdma {

/*
 * Parameters that several blocks have, checked in the same words.
 */

//! Bytes of an item of \p vlen samples. \throws config_error vlen is 0 or too large
int item_bytes(std::size_t sample_bytes, std::size_t vlen);

//! Whether a device block waits for input by spinning. \throws config_error \p wait is
//! neither event nor busy
bool waits_busily(const std::string& wait);
//! Of a block that is a device block only where \p memory is a GPU's. \throws
//! config_error \p wait is wrong, or busy with memory=host
void check_wait(const std::string& wait, const std::string& memory);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_BLOCK_CHECKS_H */
