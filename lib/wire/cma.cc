/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/cma.h"
#include "wire/byte_order.h"

#include <cstring>

namespace gr {
namespace rdma {
namespace wire {

namespace {

constexpr std::size_t source_at = 4;
constexpr std::size_t destination_at = 20;
constexpr std::size_t v4_at = 12; //!< within an address of 16 bytes; zeros before it

ip_address read_address(const std::byte* p, bool v4) noexcept
{
    if (v4)
        return ip_address::ipv4(load_be<std::uint32_t>(p + v4_at));
    ip_address::bytes_type bytes;
    std::memcpy(bytes.data(), p, bytes.size());
    return ip_address(bytes);
}

void write_address(const ip_address& address, bool v4, std::byte* p) noexcept
{
    if (v4)
        store_be<std::uint32_t>(p + v4_at, address.v4());
    else
        std::memcpy(p, address.bytes().data(), address.bytes().size());
}

} // namespace

cma_parse_status
parse_cma(const std::byte* private_data, std::size_t bytes, cma_header& out) noexcept
{
    if (bytes < cma_header_bytes)
        return cma_parse_status::too_short;
    if (private_data[0] != std::byte{ 0 })
        return cma_parse_status::version;
    const unsigned ip_version = std::to_integer<unsigned>(private_data[1]) >> 4;
    if (ip_version != 4 && ip_version != 6)
        return cma_parse_status::ip_version;
    out.source_port = load_be<std::uint16_t>(private_data + 2);
    out.source = read_address(private_data + source_at, ip_version == 4);
    out.destination = read_address(private_data + destination_at, ip_version == 4);
    return cma_parse_status::ok;
}

void write_cma(const cma_header& h, std::byte* private_data) noexcept
{
    const bool v4 = h.source.is_v4() && h.destination.is_v4();
    std::memset(private_data, 0, cma_header_bytes);
    private_data[1] = std::byte{ v4 ? std::uint8_t{ 0x40 } : std::uint8_t{ 0x60 } };
    store_be<std::uint16_t>(private_data + 2, h.source_port);
    write_address(h.source, v4, private_data + source_at);
    write_address(h.destination, v4, private_data + destination_at);
}

} // namespace wire
} // namespace rdma
} // namespace gr
