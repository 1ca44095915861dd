/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_PACKET_H
#define INCLUDED_RDMA_WIRE_PACKET_H

#include "wire/psn.h"

#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace wire {

//! Destination QP of packets to a multicast group (InfiniBand spec vol. 1, 10.5.1).
constexpr std::uint32_t multicast_qpn = 0xffffff;
constexpr std::uint16_t roce_udp_port = 4791; //!< RoCEv2 annex A17
constexpr std::size_t bth_bytes = 12;
constexpr std::size_t deth_bytes = 8;
constexpr std::size_t reth_bytes = 16;
constexpr std::size_t aeth_bytes = 4;
constexpr std::size_t immdt_bytes = 4;
constexpr std::size_t icrc_bytes = 4;
//! The most that stands in front of a payload: BTH, RETH, ImmDt.
constexpr std::size_t max_header_bytes = bth_bytes + reth_bytes + immdt_bytes;

/*!
 * \brief BTH opcodes (InfiniBand spec vol. 1, 9.2.1, table 38): the upper three bits are
 * the service, the lower five the operation.
 */
enum class service : std::uint8_t { rc = 0x00, uc = 0x20, ud = 0x60 };
enum class operation : std::uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_immediate = 0x03,
    send_only = 0x04,
    send_only_immediate = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_immediate = 0x09,
    write_only = 0x0a,
    write_only_immediate = 0x0b,
    read_request = 0x0c,
    read_response_first = 0x0d,
    read_response_middle = 0x0e,
    read_response_last = 0x0f,
    read_response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
};
constexpr std::uint8_t make_opcode(service s, operation o) noexcept
{
    return static_cast<std::uint8_t>(s) | static_cast<std::uint8_t>(o);
}

/*!
 * \brief What an opcode implies. Unknown and reserved opcodes have known == false.
 *
 * starts: first packet of a message (FIRST or ONLY); ends: last packet (LAST or ONLY).
 * Both are false for requests and acknowledges that carry no payload.
 */
struct opcode_traits {
    bool known = false;
    bool starts = false;
    bool ends = false;
    bool is_send = false;
    bool is_write = false;
    bool has_deth = false;
    bool has_reth = false;
    bool has_aeth = false;
    bool has_immdt = false;
    bool has_payload = false;
    std::uint8_t header_bytes = 0; //!< BTH and extension headers
};
const opcode_traits& traits(std::uint8_t opcode) noexcept;

struct bth {
    std::uint8_t opcode = 0;
    bool solicited = false;
    bool migreq = true;   //!< hardware sends 1; receivers ignore it
    std::uint8_t pad = 0; //!< 0..3 bytes behind the payload
    std::uint8_t version = 0;
    std::uint16_t pkey = 0xffff; //!< default partition, full member: all that RoCE has
    std::uint32_t dest_qpn = 0;  //!< 24 bits
    bool ack_request = false;
    wire::psn psn;
};
//! May a member of the default partition take packets with this P_Key? The membership
//! (top bit) of one side must be full, and ours is.
constexpr bool in_default_partition(std::uint16_t pkey) noexcept
{
    return (pkey & 0x7fff) == 0x7fff;
}

struct deth {
    std::uint32_t qkey = 0;
    std::uint32_t source_qpn = 0; //!< 24 bits
};

struct reth {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t bytes = 0;
};

//! AETH syndromes (InfiniBand spec vol. 1, 9.7.5.1.1, tables 46 and 47).
enum class aeth_kind : std::uint8_t { ack = 0, rnr_nak = 1, nak = 3, reserved = 2 };
enum class nak_code : std::uint8_t {
    psn_sequence_error = 0,
    invalid_request = 1,
    remote_access_error = 2,
    remote_operational_error = 3,
    invalid_rd_request = 4,
};
struct aeth {
    aeth_kind kind = aeth_kind::ack;
    //! ack: credit count code (31: no credit information); rnr_nak: timer code; nak:
    //! nak_code
    std::uint8_t value = 31;
    std::uint32_t msn = 0; //!< 24 bits, messages completed by the responder
};

//! A parsed packet. The views point into the datagram; header fields not on the wire are
//! as initialised.
struct packet {
    wire::bth bth;
    wire::deth deth;
    wire::reth reth;
    wire::aeth aeth;
    std::uint32_t immediate = 0; //!< host byte order
    const std::byte* payload = nullptr;
    std::size_t payload_bytes = 0; //!< without pad and ICRC
    std::uint32_t icrc = 0;        //!< as icrc_ipv4() gives it
};

enum class parse_status : std::uint8_t {
    ok,
    too_short, //!< shorter than the headers of its opcode and the ICRC
    version,   //!< transport version is not 0
    opcode,    //!< unknown or reserved
    pad,       //!< pad count above the payload, or payload on an opcode without one
};

//! AETH credit count code for \p credits receives: the largest count of table 46 (spec
//! vol. 1, 9.7.7.2.4) that is not above it; 0 to 30.
std::uint8_t credit_code(std::uint64_t credits) noexcept;
//! The other way; UINT64_MAX for code 31, no credit information.
std::uint64_t credits_of(std::uint8_t code) noexcept;

/*!
 * \brief Take apart one UDP payload (from the BTH to the ICRC). Reads \p bytes bytes at
 * most, allocates nothing. Checks layout only: not the ICRC, not the state of a queue
 * pair. Of the atomic operations the headers are counted, not taken apart.
 * On any status but ok \p out is unspecified.
 */
parse_status parse(const std::byte* datagram, std::size_t bytes, packet& out) noexcept;

/*!
 * \brief Write BTH and the extension headers that p.bth.opcode asks for.
 * \return bytes written, at most max_header_bytes; 0 for an unknown opcode and for the
 * atomic operations, whose headers a packet has no fields for. Payload, pad and ICRC are
 * the caller's.
 */
std::size_t write_headers(const packet& p, std::byte* out) noexcept;

//! RNR NAK timer code (0..31) to nanoseconds (spec vol. 1, 9.7.5.2.8, table 45). Code 0
//! is the longest, 655.36 ms.
std::int64_t rnr_timer_ns(std::uint8_t code) noexcept;

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_PACKET_H */
