/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_ICRC_H
#define INCLUDED_RDMA_WIRE_ICRC_H

#include "wire/ip_address.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace wire {

//! The IPv4 and UDP fields that the ICRC covers. Addresses and ports in host byte order.
struct ipv4_flow {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 4791;
};

/*!
 * \brief Invariant CRC of a RoCEv2 packet over IPv4 (RoCEv2 annex A17.3.3; CRC-32 of
 * Ethernet).
 *
 * Masked to ones: 8 bytes standing for the LRH, IP TOS, TTL and checksum, UDP checksum,
 * BTH resv8a. Covered: everything else, IP identification and flags included.
 *
 * \param ip_id  identification of the IP header (Linux: 0 for unconnected UDP sockets
 *               that set DF; segments of one UDP GSO send count up from it)
 * \param bth    UDP payload from the BTH on
 * \param bytes  its length without the ICRC: headers, payload and pad; at least 12
 * \return the value; on the wire it stands little-endian
 */
std::uint32_t icrc_ipv4(const ipv4_flow& flow,
                        std::uint16_t ip_id,
                        bool dont_fragment,
                        const std::byte* bth,
                        std::size_t bytes) noexcept;

//! For sending from two pieces: \p headers (from the BTH, at least 12 bytes), then \p
//! payload (with its pad).
std::uint32_t icrc_ipv4(const ipv4_flow& flow,
                        std::uint16_t ip_id,
                        bool dont_fragment,
                        const std::byte* headers,
                        std::size_t header_bytes,
                        const std::byte* payload,
                        std::size_t payload_bytes) noexcept;

//! The IPv6 and UDP fields that the ICRC covers. Addresses in network byte order, as
//! ip_address::bytes() gives them; ports in host byte order.
struct ipv6_flow {
    std::array<std::byte, 16> source{};
    std::array<std::byte, 16> destination{};
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 4791;
};

/*!
 * \brief Invariant CRC of a RoCEv2 packet over IPv6 (RoCEv2 annex A17.3.3).
 *
 * Masked to ones: 8 bytes standing for the LRH, traffic class, flow label, hop limit, UDP
 * checksum, BTH resv8a. Nothing that is covered is hidden from a UDP socket, so a
 * receiver can always verify it.
 *
 * \param bytes as for icrc_ipv4()
 */
std::uint32_t
icrc_ipv6(const ipv6_flow& flow, const std::byte* bth, std::size_t bytes) noexcept;

//! From two pieces, as for icrc_ipv4().
std::uint32_t icrc_ipv6(const ipv6_flow& flow,
                        const std::byte* headers,
                        std::size_t header_bytes,
                        const std::byte* payload,
                        std::size_t payload_bytes) noexcept;

//! The same of a packet over either; the addresses are of one version.
struct udp_flow {
    ip_address source;
    ip_address destination;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 4791;
};

//! icrc_ipv4() or icrc_ipv6(), as the addresses are: IPv6 has neither identification nor
//! flag.
std::uint32_t icrc(const udp_flow& flow,
                   std::uint16_t ip_id,
                   bool dont_fragment,
                   const std::byte* headers,
                   std::size_t header_bytes,
                   const std::byte* payload,
                   std::size_t payload_bytes) noexcept;

/*!
 * \brief Finds the IP identification that makes an ICRC right.
 *
 * CRC is linear: a packet of a given length whose ICRC was computed with another
 * identification differs by a value that depends only on the two identifications and the
 * length. Made once per length; lookups cost a few operations. A UDP socket does not tell
 * the identification, so this is how a receiver can still verify packets of senders that
 * count it up.
 */
class icrc_ip_id_solver
{
public:
    //! \param bytes as for icrc_ipv4()
    explicit icrc_ip_id_solver(std::size_t bytes) noexcept;
    std::size_t bytes() const noexcept { return d_bytes; }

    //! XOR between the ICRC with identification 0 and that with \p ip_id.
    std::uint32_t difference(std::uint16_t ip_id) const noexcept;

    //! \return true and the identification if one explains \p difference (2^-16 of random
    //! differences are explained by chance).
    bool solve(std::uint32_t difference, std::uint16_t& ip_id) const noexcept;

private:
    std::size_t d_bytes;
    std::uint32_t d_column[16]; //!< difference of identification 1 << i
    // Fully reduced: d_basis[k] has its lowest set bit where no other one has, so that
    // bit of a difference tells alone whether d_basis[k] is part of it. d_combination[k]
    // tells which identification bits make it.
    std::uint32_t d_basis[16];
    std::uint16_t d_combination[16];
};

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_ICRC_H */
