/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_COPY_PARTS_H
#define INCLUDED_RDMA_COPY_PARTS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {

/*
 * Sizes of rdma.to_host and rdma.to_device: how long their ring is, and how much of it
 * one copy takes, so that several are under way while readers are busy with others.
 */

inline std::uint64_t copy_ring_bytes(std::size_t item_bytes, std::size_t min_items)
{
    constexpr std::uint64_t usual = 16 << 20;
    return std::max<std::uint64_t>(usual, std::uint64_t(item_bytes) * min_items);
}

//! At least 1; a quarter of the ring at most, unless that is less than an item.
inline std::uint64_t copy_part_items(std::size_t item_bytes, std::uint64_t ring_bytes)
{
    constexpr std::uint64_t usual = 2 << 20;
    return std::max<std::uint64_t>(1, std::min(usual, ring_bytes / 4) / item_bytes);
}

template <class T>
std::uint64_t address_of(T* pointer)
{
    return reinterpret_cast<std::uintptr_t>(pointer);
}

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_COPY_PARTS_H */
