/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_CMA_H
#define INCLUDED_RDMA_WIRE_CMA_H

#include "wire/ip_address.h"

#include <cstddef>
#include <cstdint>

/*
 * The RDMA IP CM service (InfiniBand spec vol. 1, annex A11): how rdma_cm puts IP
 * addresses and ports into the messages of wire/cm.h. The service ID says protocol and
 * port of the listener; the private data of a REQ and of a SIDR_REQ begin with a header
 * of 36 bytes, and the consumer's follow it. Answers have no header.
 */
namespace gr {
namespace rdma {
namespace wire {

constexpr std::size_t cma_header_bytes = 36;
//! The most private data a consumer has, in a REQ and in a SIDR_REQ.
constexpr std::size_t cma_req_consumer_bytes = 92 - cma_header_bytes;
constexpr std::size_t cma_sidr_req_consumer_bytes = 216 - cma_header_bytes;
//! Q_Key that rdma_cm gives to UD queue pairs.
constexpr std::uint32_t cma_udp_qkey = 0x01234567;

//! The protocol is the low byte, that of IP; rdma_cm uses TCP's for RC and UC, UDP's for
//! UD.
enum class cma_port_space : std::uint16_t { tcp = 0x0106, udp = 0x0111 };

constexpr std::uint64_t cma_service_id(cma_port_space space, std::uint16_t port) noexcept
{
    return static_cast<std::uint64_t>(space) << 16 | port;
}

//! \return true if \p service_id is one of \p space; then \p port is set.
constexpr bool
cma_port_of(std::uint64_t service_id, cma_port_space space, std::uint16_t& port) noexcept
{
    if (service_id >> 16 != static_cast<std::uint64_t>(space))
        return false;
    port = static_cast<std::uint16_t>(service_id & 0xffff);
    return true;
}

//! Addresses are both IPv4 or both IPv6. The destination's port is in the service ID.
struct cma_header {
    std::uint16_t source_port = 0; //!< host byte order
    ip_address source;
    ip_address destination;
};

enum class cma_parse_status : std::uint8_t {
    ok,
    too_short,  //!< less than cma_header_bytes
    version,    //!< not major 0, minor 0
    ip_version, //!< neither 4 nor 6
};

//! Take apart the begin of a REQ's or SIDR_REQ's private data. \p out is set only when
//! ok.
cma_parse_status
parse_cma(const std::byte* private_data, std::size_t bytes, cma_header& out) noexcept;

/*!
 * \brief Write cma_header_bytes bytes. IPv4 if both addresses are, otherwise IPv6, where
 * an IPv4 address stands in its mapped form.
 */
void write_cma(const cma_header& h, std::byte* private_data) noexcept;

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_CMA_H */
