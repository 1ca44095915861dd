/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/icrc.h"
#include "wire/byte_order.h"
#include "wire/packet.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>

namespace gr {
namespace rdma {
namespace wire {

namespace {

constexpr std::size_t lrh_bytes = 8;
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t ipv6_bytes = 40;
constexpr std::size_t udp_bytes = 8;
constexpr std::byte protocol_udp{ 17 };

// libdeflate takes a null buffer for a request of the initial value.
std::uint32_t extend(std::uint32_t crc, const std::byte* data, std::size_t bytes) noexcept
{
    return bytes > 0 ? libdeflate_crc32(crc, data, bytes) : crc;
}

// UDP header and BTH behind the IP header, then the CRC over all of the front. What
// routers change is left at the ones that the front was filled with.
std::uint32_t crc_of_front(std::byte* front,
                           std::size_t ip_bytes,
                           std::uint16_t source_port,
                           std::uint16_t destination_port,
                           std::uint16_t udp_length,
                           const std::byte* bth) noexcept
{
    std::byte* udp = front + lrh_bytes + ip_bytes;
    store_be<std::uint16_t>(udp, source_port);
    store_be<std::uint16_t>(udp + 2, destination_port);
    store_be<std::uint16_t>(udp + 4, udp_length);
    std::byte* masked = udp + udp_bytes;
    std::memcpy(masked, bth, bth_bytes);
    masked[4] = std::byte{ 0xff };
    return extend(0, front, lrh_bytes + ip_bytes + udp_bytes + bth_bytes);
}

std::uint16_t udp_length_of(std::size_t bytes) noexcept
{
    return static_cast<std::uint16_t>(udp_bytes + bytes + icrc_bytes);
}

std::uint32_t crc_of_front(const ipv4_flow& flow,
                           std::uint16_t ip_id,
                           bool dont_fragment,
                           const std::byte* bth,
                           std::size_t bytes) noexcept
{
    std::byte front[lrh_bytes + ipv4_bytes + udp_bytes + bth_bytes];
    std::memset(front, 0xff, sizeof(front));
    const std::uint16_t udp_length = udp_length_of(bytes);
    std::byte* ip = front + lrh_bytes;
    ip[0] = std::byte{ 0x45 };
    store_be<std::uint16_t>(ip + 2, static_cast<std::uint16_t>(ipv4_bytes + udp_length));
    store_be<std::uint16_t>(ip + 4, ip_id);
    store_be<std::uint16_t>(ip + 6, dont_fragment ? 0x4000 : 0);
    ip[9] = protocol_udp;
    store_be<std::uint32_t>(ip + 12, flow.source);
    store_be<std::uint32_t>(ip + 16, flow.destination);
    return crc_of_front(
        front, ipv4_bytes, flow.source_port, flow.destination_port, udp_length, bth);
}

std::uint32_t
crc_of_front(const ipv6_flow& flow, const std::byte* bth, std::size_t bytes) noexcept
{
    std::byte front[lrh_bytes + ipv6_bytes + udp_bytes + bth_bytes];
    std::memset(front, 0xff, sizeof(front));
    const std::uint16_t udp_length = udp_length_of(bytes);
    std::byte* ip = front + lrh_bytes;
    ip[0] = std::byte{ 0x6f };
    store_be<std::uint16_t>(ip + 4, udp_length);
    ip[6] = protocol_udp;
    std::memcpy(ip + 8, flow.source.data(), flow.source.size());
    std::memcpy(ip + 24, flow.destination.data(), flow.destination.size());
    return crc_of_front(
        front, ipv6_bytes, flow.source_port, flow.destination_port, udp_length, bth);
}

std::uint32_t append_zeros(std::uint32_t crc, std::size_t bytes) noexcept
{
    static constexpr std::byte zeros[4096] = {};
    while (bytes > 0) {
        const std::size_t n = std::min(bytes, sizeof(zeros));
        crc = extend(crc, zeros, n);
        bytes -= n;
    }
    return crc;
}

std::uint32_t lowest_bit(std::uint32_t value) noexcept { return value & (0u - value); }

} // namespace

std::uint32_t icrc_ipv4(const ipv4_flow& flow,
                        std::uint16_t ip_id,
                        bool dont_fragment,
                        const std::byte* bth,
                        std::size_t bytes) noexcept
{
    return icrc_ipv4(flow, ip_id, dont_fragment, bth, bytes, nullptr, 0);
}

std::uint32_t icrc_ipv4(const ipv4_flow& flow,
                        std::uint16_t ip_id,
                        bool dont_fragment,
                        const std::byte* headers,
                        std::size_t header_bytes,
                        const std::byte* payload,
                        std::size_t payload_bytes) noexcept
{
    std::uint32_t crc =
        crc_of_front(flow, ip_id, dont_fragment, headers, header_bytes + payload_bytes);
    crc = extend(crc, headers + bth_bytes, header_bytes - bth_bytes);
    return extend(crc, payload, payload_bytes);
}

std::uint32_t
icrc_ipv6(const ipv6_flow& flow, const std::byte* bth, std::size_t bytes) noexcept
{
    return icrc_ipv6(flow, bth, bytes, nullptr, 0);
}

std::uint32_t icrc_ipv6(const ipv6_flow& flow,
                        const std::byte* headers,
                        std::size_t header_bytes,
                        const std::byte* payload,
                        std::size_t payload_bytes) noexcept
{
    std::uint32_t crc = crc_of_front(flow, headers, header_bytes + payload_bytes);
    crc = extend(crc, headers + bth_bytes, header_bytes - bth_bytes);
    return extend(crc, payload, payload_bytes);
}

std::uint32_t icrc(const udp_flow& flow,
                   std::uint16_t ip_id,
                   bool dont_fragment,
                   const std::byte* headers,
                   std::size_t header_bytes,
                   const std::byte* payload,
                   std::size_t payload_bytes) noexcept
{
    if (flow.source.is_v4()) {
        const ipv4_flow four{ flow.source.v4(),
                              flow.destination.v4(),
                              flow.source_port,
                              flow.destination_port };
        return icrc_ipv4(
            four, ip_id, dont_fragment, headers, header_bytes, payload, payload_bytes);
    }
    const ipv6_flow six{ flow.source.bytes(),
                         flow.destination.bytes(),
                         flow.source_port,
                         flow.destination_port };
    return icrc_ipv6(six, headers, header_bytes, payload, payload_bytes);
}

icrc_ip_id_solver::icrc_ip_id_solver(std::size_t bytes) noexcept : d_bytes(bytes)
{
    // What stands in front of the identification is the same in both packets: it cancels.
    const auto crc_from_id = [bytes](std::uint16_t ip_id) {
        std::byte id[2];
        store_be<std::uint16_t>(id, ip_id);
        return append_zeros(extend(0, id, sizeof(id)),
                            ipv4_bytes - 6 + udp_bytes + bytes);
    };
    const auto add_if = [this](bool needed, unsigned from, unsigned to) {
        d_basis[to] ^= needed ? d_basis[from] : 0;
        d_combination[to] ^= needed ? d_combination[from] : 0;
    };
    const std::uint32_t crc0 = crc_from_id(0);
    for (unsigned i = 0; i < 16; ++i) {
        const auto bit = static_cast<std::uint16_t>(1u << i);
        d_column[i] = crc_from_id(bit) ^ crc0;
        d_basis[i] = d_column[i];
        d_combination[i] = bit;
        for (unsigned k = 0; k < i; ++k)
            add_if(d_basis[i] & lowest_bit(d_basis[k]), k, i);
        for (unsigned k = 0; k < i; ++k)
            add_if(d_basis[k] & lowest_bit(d_basis[i]), i, k);
    }
    // No element is zero: a CRC of 32 bits tells all errors within 32 bits apart.
}

std::uint32_t icrc_ip_id_solver::difference(std::uint16_t ip_id) const noexcept
{
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < 16; ++i)
        sum ^= ip_id >> i & 1 ? d_column[i] : 0;
    return sum;
}

bool icrc_ip_id_solver::solve(std::uint32_t difference,
                              std::uint16_t& ip_id) const noexcept
{
    std::uint32_t sum = 0;
    std::uint32_t found = 0;
    // Without branches: random bits decide, half of them would be mispredicted.
    for (unsigned k = 0; k < 16; ++k) {
        const std::uint32_t mask = difference & lowest_bit(d_basis[k]) ? ~0u : 0u;
        sum ^= d_basis[k] & mask;
        found ^= d_combination[k] & mask;
    }
    if (sum != difference)
        return false;
    ip_id = static_cast<std::uint16_t>(found);
    return true;
}

} // namespace wire
} // namespace rdma
} // namespace gr
