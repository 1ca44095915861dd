/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_DATAGRAM_H
#define INCLUDED_RDMA_TESTING_DATAGRAM_H

#include "wire/icrc.h"
#include "wire/packet.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr {
namespace rdma {
namespace testing {

//! UDP payload of one RoCEv2 packet, from the BTH to the ICRC.
using datagram = std::vector<std::byte>;

//! Bytes that tell their place: a byte that lands elsewhere, or not at all, shows.
inline std::vector<std::byte> pattern(std::uint64_t seed, std::size_t bytes)
{
    std::vector<std::byte> out(bytes);
    std::uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
    for (std::size_t i = 0; i < bytes; ++i) {
        if (i % 8 == 0) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        out[i] = static_cast<std::byte>(x >> (8 * (i % 8)));
    }
    return out;
}

inline wire::udp_flow either(const wire::udp_flow& flow) { return flow; }
inline wire::udp_flow either(const wire::ipv4_flow& flow)
{
    return { wire::ip_address::ipv4(flow.source),
             wire::ip_address::ipv4(flow.destination),
             flow.source_port,
             flow.destination_port };
}

//! Write the ICRC of all but the last four bytes into those. \p flow is of any kind.
template <typename Flow>
void seal(datagram& d, const Flow& flow, std::uint16_t ip_id = 0, bool df = true)
{
    const std::size_t bytes = d.size() - wire::icrc_bytes;
    const std::uint32_t icrc =
        wire::icrc(either(flow), ip_id, df, d.data(), bytes, nullptr, 0);
    for (unsigned i = 0; i < wire::icrc_bytes; ++i)
        d[bytes + i] = static_cast<std::byte>(icrc >> (8 * i));
}

//! The packet as it stands on the wire; payload and pad as \p p says.
template <typename Flow>
datagram
to_wire(const wire::packet& p, const Flow& flow, std::uint16_t ip_id = 0, bool df = true)
{
    datagram d(wire::max_header_bytes);
    d.resize(wire::write_headers(p, d.data()));
    d.insert(d.end(), p.payload, p.payload + p.payload_bytes);
    d.resize(d.size() + p.bth.pad + wire::icrc_bytes);
    seal(d, flow, ip_id, df);
    return d;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_DATAGRAM_H */
