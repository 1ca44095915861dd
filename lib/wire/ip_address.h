/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_IP_ADDRESS_H
#define INCLUDED_RDMA_WIRE_IP_ADDRESS_H

#include "wire/byte_order.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace wire {

/*!
 * \brief An IPv4 or IPv6 address, held as the 16 bytes of the RoCE GID that stands for
 * it.
 *
 * IPv4 is held in its v4-mapped form ::ffff:a.b.c.d, as RoCEv2 GIDs have it (annex
 * A17.4.5), so an IPv4 address and the mapped IPv6 address that means it are one value,
 * and bytes() is the GID. Default: the unspecified address ::, which is not IPv4 (0.0.0.0
 * is ipv4(0)); both are is_unspecified(). No scope: that of a link-local address is the
 * socket's business. A plain value, ordered by its bytes. Text is the socket layer's.
 */
class ip_address
{
public:
    using bytes_type = std::array<std::byte, 16>; //!< network byte order

    constexpr ip_address() noexcept : d_bytes{} {}
    constexpr explicit ip_address(const bytes_type& bytes) noexcept : d_bytes(bytes) {}

    //! \param address in host byte order: 127.0.0.1 is 0x7f000001
    static constexpr ip_address ipv4(std::uint32_t address) noexcept
    {
        bytes_type bytes{};
        bytes[10] = bytes[11] = std::byte{ 0xff };
        for (unsigned i = 0; i < 4; ++i)
            bytes[12 + i] = static_cast<std::byte>(address >> (24 - 8 * i) & 0xff);
        return ip_address(bytes);
    }

    //! The GID, and the 16 bytes of the IPv6 address.
    constexpr const bytes_type& bytes() const noexcept { return d_bytes; }

    constexpr bool is_v4() const noexcept
    {
        return load_be<std::uint64_t>(&d_bytes[0]) == 0 &&
               load_be<std::uint32_t>(&d_bytes[8]) == 0xffff;
    }

    //! In host byte order; the last four bytes if this is not IPv4.
    constexpr std::uint32_t v4() const noexcept
    {
        return load_be<std::uint32_t>(&d_bytes[12]);
    }

    //! 0.0.0.0 or ::
    constexpr bool is_unspecified() const noexcept
    {
        const bool four = is_v4();
        for (unsigned i = four ? 12 : 0; i < 16; ++i)
            if (byte(i) != 0)
                return false;
        return true;
    }

    //! 127.0.0.0/8 or ::1
    constexpr bool is_loopback() const noexcept
    {
        if (is_v4())
            return byte(12) == 127;
        for (unsigned i = 0; i < 15; ++i)
            if (byte(i) != 0)
                return false;
        return byte(15) == 1;
    }

    //! 169.254.0.0/16 or fe80::/10
    constexpr bool is_link_local() const noexcept
    {
        return is_v4() ? byte(12) == 169 && byte(13) == 254
                       : byte(0) == 0xfe && (byte(1) & 0xc0) == 0x80;
    }

    //! 224.0.0.0/4 or ff00::/8
    constexpr bool is_multicast() const noexcept
    {
        return is_v4() ? byte(12) >> 4 == 0xe : byte(0) == 0xff;
    }

    friend constexpr bool operator==(const ip_address& a, const ip_address& b) noexcept
    {
        return load_be<std::uint64_t>(&a.d_bytes[0]) ==
                   load_be<std::uint64_t>(&b.d_bytes[0]) &&
               load_be<std::uint64_t>(&a.d_bytes[8]) ==
                   load_be<std::uint64_t>(&b.d_bytes[8]);
    }
    friend constexpr bool operator!=(const ip_address& a, const ip_address& b) noexcept
    {
        return !(a == b);
    }
    friend constexpr bool operator<(const ip_address& a, const ip_address& b) noexcept
    {
        return a.compare(b) < 0;
    }

private:
    bytes_type d_bytes;

    constexpr unsigned byte(unsigned i) const noexcept
    {
        return std::to_integer<unsigned>(d_bytes[i]);
    }
    constexpr int compare(const ip_address& o) const noexcept
    {
        for (unsigned i = 0; i < 16; ++i)
            if (byte(i) != o.byte(i))
                return byte(i) < o.byte(i) ? -1 : 1;
        return 0;
    }
};

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_IP_ADDRESS_H */
