/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_RING_BYTES_H
#define INCLUDED_RDMA_MEM_RING_BYTES_H

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief The length of a ring: at least \p min_bytes, a whole number of units (items, or
 * slots) and of the \p page_bytes in which its memory is mapped. Pure.
 *
 * Never more than twice min_bytes, or 256 MiB where that is longer.
 * \param where such as "host", for messages
 * \throws config_error unit_bytes is 0, or unit and page have so little in common that
 * the ring would be longer than that; what() has the numbers and the nearest unit that
 * works
 * \throws out_of_memory min_bytes is longer than any address space
 */
std::uint64_t whole_ring_bytes(std::uint64_t min_bytes,
                               std::uint64_t unit_bytes,
                               std::uint64_t page_bytes,
                               const char* where);

//! The smallest number that both divide, or 0 where it does not fit 64 bits.
std::uint64_t common_multiple(std::uint64_t unit, std::uint64_t page);

//! "4096 bytes (4 KiB)"
std::string with_bytes(std::uint64_t bytes);

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_RING_BYTES_H */
