/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_PSN_H
#define INCLUDED_RDMA_WIRE_PSN_H

#include <cstdint>

namespace gr {
namespace rdma {
namespace wire {

/*!
 * \brief Packet sequence number: 24 bits, arithmetic modulo 2^24.
 *
 * InfiniBand spec vol. 1, 9.7.2. distance() is how far \p to lies ahead of \p from, in
 * [-2^23, 2^23): half the space is ahead, half behind.
 */
class psn
{
public:
    static constexpr std::uint32_t mask = 0xffffff;

    constexpr psn() noexcept = default;
    constexpr explicit psn(std::uint32_t value) noexcept : d_value(value & mask) {}

    constexpr std::uint32_t value() const noexcept { return d_value; }
    constexpr psn operator+(std::uint32_t n) const noexcept { return psn(d_value + n); }
    constexpr psn operator-(std::uint32_t n) const noexcept { return psn(d_value - n); }
    psn& operator++() noexcept { return *this = *this + 1; }
    constexpr bool operator==(psn o) const noexcept { return d_value == o.d_value; }
    constexpr bool operator!=(psn o) const noexcept { return d_value != o.d_value; }

    static constexpr std::int32_t distance(psn from, psn to) noexcept
    {
        const std::int32_t d =
            static_cast<std::int32_t>((to.d_value - from.d_value) & mask);
        return d >= 0x800000 ? d - 0x1000000 : d;
    }

private:
    std::uint32_t d_value = 0;
};

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_PSN_H */
