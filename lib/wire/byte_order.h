/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_BYTE_ORDER_H
#define INCLUDED_RDMA_WIRE_BYTE_ORDER_H

#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace wire {

/*!
 * \brief Read or write an unsigned integer of \p bytes bytes in network byte order.
 *
 * No alignment is asked for. Compilers make one load or store and a byte swap of it.
 */
template <typename T, std::size_t bytes = sizeof(T)>
constexpr T load_be(const std::byte* p) noexcept
{
    static_assert(bytes <= sizeof(T), "the value does not fit");
    T value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value = static_cast<T>((value << 8) | std::to_integer<T>(p[i]));
    return value;
}

template <typename T, std::size_t bytes = sizeof(T)>
constexpr void store_be(std::byte* p, T value) noexcept
{
    static_assert(bytes <= sizeof(T), "the value does not fit");
    for (std::size_t i = 0; i < bytes; ++i)
        p[i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)) & 0xff);
}

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_BYTE_ORDER_H */
