/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_CM_H
#define INCLUDED_RDMA_WIRE_CM_H

#include "wire/ip_address.h"
#include "wire/psn.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

/*
 * The messages of the InfiniBand communication manager (InfiniBand spec vol. 1, chapter
 * 12; MAD header: 13.4). A message is one MAD of 256 bytes, the payload of a UD SEND ONLY
 * packet between QP1 and QP1. Numbers in the structures are in host byte order. Bytes go
 * from and to the wire by pure functions that allocate nothing.
 *
 * "Local" and "remote" are seen from the sender of the message. Fields of less than their
 * type's bits are cut to their width when written.
 */
namespace gr {
namespace rdma {
namespace wire {

constexpr std::size_t mad_bytes = 256;
constexpr std::uint32_t cm_qpn = 1; //!< destination QP, and source QP in the DETH
constexpr std::uint32_t cm_qkey = 0x80010000; //!< well known Q_Key of QP1

//! Attribute IDs of class CM. LAP and APR (alternate paths) are not taken apart.
enum class cm_attribute : std::uint16_t {
    req = 0x0010,
    mra = 0x0011,
    rej = 0x0012,
    rep = 0x0013,
    rtu = 0x0014,
    dreq = 0x0015,
    drep = 0x0016,
    sidr_req = 0x0017,
    sidr_rep = 0x0018,
    lap = 0x0019,
    apr = 0x001a,
};

//! REQ: transport service type. extended: see extended_transport (1: XRC).
enum class cm_transport : std::uint8_t { rc = 0, uc = 1, rd = 2, extended = 3 };

//! Which message an MRA or a REJ answers.
enum class cm_answered : std::uint8_t { req = 0, rep = 1, other = 2, reserved = 3 };

//! REJ: reason (spec vol. 1, 12.6.7.2). Other numbers may arrive; they keep their value.
enum class cm_rej_reason : std::uint16_t {
    no_qp = 1,
    no_eec = 2,
    no_resources = 3,
    timeout = 4,
    unsupported_request = 5,
    invalid_communication_id = 6,
    invalid_communication_instance = 7,
    invalid_service_id = 8,
    invalid_transport_service_type = 9,
    stale_connection = 10,
    rdc_does_not_exist = 11,
    primary_remote_gid = 12,
    primary_remote_lid = 13,
    invalid_primary_sl = 14,
    invalid_primary_traffic_class = 15,
    invalid_primary_hop_limit = 16,
    invalid_primary_packet_rate = 17,
    alternate_remote_gid = 18,
    alternate_remote_lid = 19,
    invalid_alternate_sl = 20,
    invalid_alternate_traffic_class = 21,
    invalid_alternate_hop_limit = 22,
    invalid_alternate_packet_rate = 23,
    cm_redirection = 24,
    port_redirection = 25,
    invalid_path_mtu = 26,
    insufficient_responder_resources = 27,
    consumer_reject = 28,
    invalid_rnr_retry_count = 29,
    duplicate_local_communication_id = 30,
    invalid_class_version = 31,
    invalid_primary_flow_label = 32,
    invalid_alternate_flow_label = 33,
    vendor_option_not_supported = 35,
};
//! In words, such as "invalid service ID". A number without a meaning: "unknown reason".
const char* to_string(cm_rej_reason reason) noexcept;

//! SIDR_REP: status (spec vol. 1, 12.11.2.2).
enum class cm_sidr_status : std::uint8_t {
    valid_qpn = 0,
    service_id_not_supported = 1,
    rejected_by_service_provider = 2,
    no_qp_available = 3,
    redirect = 4,
    version_not_supported = 5,
};
//! In words, such as "service ID not supported"; otherwise "unknown status".
const char* to_string(cm_sidr_status status) noexcept;

//! Private data, padded with zeros: its length is not on the wire.
template <std::size_t n>
using cm_private_data = std::array<std::byte, n>;

//! One path of a REQ. RoCEv2: LIDs are 0xffff or 0, the GIDs are the IP addresses.
struct cm_path {
    std::uint16_t local_lid = 0;
    std::uint16_t remote_lid = 0;
    ip_address local_gid;
    ip_address remote_gid;
    std::uint32_t flow_label = 0; //!< 20 bits
    std::uint8_t packet_rate = 0; //!< 6 bits, static rate code (9.11)
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t sl = 0; //!< 4 bits
    bool subnet_local = false;
    std::uint8_t local_ack_timeout = 0; //!< 5 bits, see cm_timeout_ns()
};

//! Request for communication.
struct cm_req {
    std::uint32_t local_comm_id = 0;
    std::uint64_t service_id = 0; //!< see wire/cma.h
    std::uint64_t local_ca_guid = 0;
    std::uint32_t local_qkey = 0; //!< RD only
    std::uint32_t local_qpn = 0;  //!< 24 bits
    std::uint8_t responder_resources = 0;
    std::uint32_t local_eecn = 0; //!< 24 bits, RD only
    std::uint8_t initiator_depth = 0;
    std::uint32_t remote_eecn = 0;               //!< 24 bits, RD only
    std::uint8_t remote_cm_response_timeout = 0; //!< 5 bits: the receiver answers within
    cm_transport transport = cm_transport::rc;
    bool end_to_end_flow_control = false;
    psn starting_psn; //!< with which the receiver of this message shall begin to send
    std::uint8_t local_cm_response_timeout = 0; //!< 5 bits: the sender answers within
    std::uint8_t retry_count = 0;               //!< 3 bits
    std::uint16_t pkey = 0xffff;
    std::uint8_t path_mtu = 0; //!< 4 bits, see mtu_bytes()
    bool rdc_exists = false;
    std::uint8_t rnr_retry_count = 0; //!< 3 bits, 7: for ever
    std::uint8_t max_cm_retries = 0;  //!< 4 bits
    bool srq = false;
    std::uint8_t extended_transport = 0; //!< 3 bits
    cm_path primary;
    cm_path alternate; //!< all zero: none
    cm_private_data<92> private_data{};
};

//! Message receipt acknowledgement: the answer will take longer.
struct cm_mra {
    std::uint32_t local_comm_id = 0;
    std::uint32_t remote_comm_id = 0;
    cm_answered answered = cm_answered::req;
    std::uint8_t service_timeout = 0; //!< 5 bits, see cm_timeout_ns()
    cm_private_data<222> private_data{};
};

//! Reject.
struct cm_rej {
    std::uint32_t local_comm_id = 0; //!< 0 if the sender has none
    std::uint32_t remote_comm_id = 0;
    cm_answered answered = cm_answered::req;
    //! Bytes of ari that mean something, at most ari.size(): a larger number on the wire
    //! is read, and written, as that.
    std::uint8_t ari_bytes = 0;
    cm_rej_reason reason = cm_rej_reason::no_qp;
    std::array<std::byte, 72> ari{}; //!< additional reject information
    cm_private_data<148> private_data{};
};

//! Reply to a REQ.
struct cm_rep {
    std::uint32_t local_comm_id = 0;
    std::uint32_t remote_comm_id = 0;
    std::uint32_t local_qkey = 0; //!< RD only
    std::uint32_t local_qpn = 0;  //!< 24 bits
    std::uint32_t local_eecn = 0; //!< 24 bits, RD and XRC only
    psn starting_psn;             //!< as in cm_req
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;  //!< 5 bits, see cm_timeout_ns()
    std::uint8_t failover_accepted = 0; //!< 2 bits: 0 yes, 1 not supported, 2 rejected
    bool end_to_end_flow_control = false;
    std::uint8_t rnr_retry_count = 0; //!< 3 bits, 7: for ever
    bool srq = false;
    std::uint64_t local_ca_guid = 0;
    cm_private_data<196> private_data{};
};

//! Ready to use: the answer to a REP.
struct cm_rtu {
    std::uint32_t local_comm_id = 0;
    std::uint32_t remote_comm_id = 0;
    cm_private_data<224> private_data{};
};

//! Request to disconnect.
struct cm_dreq {
    std::uint32_t local_comm_id = 0;
    std::uint32_t remote_comm_id = 0;
    std::uint32_t remote_qpn = 0; //!< 24 bits, the receiver's; EECN for RD
    cm_private_data<220> private_data{};
};

//! Reply to a DREQ.
struct cm_drep {
    std::uint32_t local_comm_id = 0;
    std::uint32_t remote_comm_id = 0;
    cm_private_data<224> private_data{};
};

//! Service ID resolution request: asks for the QPN of a UD service.
struct cm_sidr_req {
    std::uint32_t request_id = 0;
    std::uint16_t pkey = 0xffff;
    std::uint64_t service_id = 0;
    cm_private_data<216> private_data{};
};

//! The answer to a SIDR_REQ.
struct cm_sidr_rep {
    std::uint32_t request_id = 0;
    cm_sidr_status status = cm_sidr_status::valid_qpn;
    //! As cm_rej::ari_bytes.
    std::uint8_t additional_bytes = 0;
    std::uint32_t qpn = 0; //!< 24 bits
    std::uint64_t service_id = 0;
    std::uint32_t qkey = 0;
    std::array<std::byte, 72> additional{};
    cm_private_data<136> private_data{};
};

struct cm_message {
    //! Chosen by the sender of a REQ, DREQ or SIDR_REQ; answers repeat it.
    std::uint64_t transaction_id = 0;
    std::variant<cm_req,
                 cm_mra,
                 cm_rej,
                 cm_rep,
                 cm_rtu,
                 cm_dreq,
                 cm_drep,
                 cm_sidr_req,
                 cm_sidr_rep>
        body;
};

enum class cm_parse_status : std::uint8_t {
    ok,
    too_short,        //!< less than mad_bytes
    base_version,     //!< MAD base version is not 1
    management_class, //!< not the CM's 0x07
    class_version,    //!< not 2
    method,           //!< not Send
    attribute,        //!< none of those in cm_message
};

/*!
 * \brief Take apart a MAD. Reads mad_bytes bytes; what follows them is ignored, and so
 * are status, attribute modifier and reserved bits.
 *
 * On status attribute out.transaction_id is set; otherwise, on any status but ok, \p out
 * is as before.
 */
cm_parse_status
parse_cm(const std::byte* mad, std::size_t bytes, cm_message& out) noexcept;

//! Write all mad_bytes bytes, reserved ones as 0.
void write_cm(const cm_message& m, std::byte* mad) noexcept;

cm_attribute attribute_of(const cm_message& m) noexcept;

/*!
 * \brief Nanoseconds of a five-bit time-out: 4.096 us * 2^code (upper bits are ignored).
 *
 * As local ACK timeout, 0 means no time-out: that is the caller's.
 */
constexpr std::int64_t cm_timeout_ns(std::uint8_t code) noexcept
{
    return std::int64_t{ 4096 } << (code & 0x1f);
}

//! The least code whose time-out is not below \p ns; 31, 8796 s, if there is none.
constexpr std::uint8_t cm_timeout_code(std::int64_t ns) noexcept
{
    std::uint8_t code = 0;
    while (code < 31 && cm_timeout_ns(code) < ns)
        ++code;
    return code;
}

//! Bytes of payload of a path MTU code: 1 is 256, 5 is 4096. 0 for any other code.
constexpr std::size_t mtu_bytes(std::uint8_t code) noexcept
{
    return code >= 1 && code <= 5 ? std::size_t{ 128 } << code : 0;
}

//! The largest code whose MTU is not above \p bytes; 0 below 256.
constexpr std::uint8_t mtu_code(std::size_t bytes) noexcept
{
    std::uint8_t code = 0;
    while (code < 5 && bytes >= mtu_bytes(static_cast<std::uint8_t>(code + 1)))
        ++code;
    return code;
}

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_CM_H */
