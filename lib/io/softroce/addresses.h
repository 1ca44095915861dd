/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_ADDRESSES_H
#define INCLUDED_RDMA_IO_SOFTROCE_ADDRESSES_H

#include "wire/ip_address.h"

#include <cstdint>
#include <optional>
#include <string>

/*
 * Addresses as people write them, and what this machine knows about them. An IPv6 literal
 * may stand in brackets, and must where a port may follow it. A link-local one
 * (fe80::/10) needs its interface behind a '%', and nothing else but a multicast group
 * may have that.
 */
namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! An address, and the index of its interface where one has to be known; 0: none.
struct host_address {
    wire::ip_address ip;
    std::uint32_t interface = 0; //!< own IPv6 addresses, and link-local ones
};

//! "127.0.0.2" or "fd00::2".
std::string text_of(const wire::ip_address& address);
//! "127.0.0.2:4791" or "[fd00::2]:4791".
std::string text_of(const wire::ip_address& address, std::uint16_t port);
//! "IPv4" or "IPv6".
const char* version_of(const wire::ip_address& address) noexcept;

//! A literal taken apart.
struct ip_literal {
    wire::ip_address ip;
    std::string interface; //!< behind the '%'; may be empty
};
/*!
 * \brief The address that \p text spells, with or without brackets; nothing if it is a
 * name, or empty. Asks neither the resolver nor this machine.
 * \throws config_error naming \p parameter: no IPv6 address for all its colons,
 * link-local without interface, an interface where none belongs, IPv4 in its IPv6-mapped
 * form
 */
std::optional<ip_literal> parse_literal(const std::string& text, const char* parameter);

//! The multicast group that \p text spells, if it does. \throws as parse_literal()
std::optional<wire::ip_address> multicast_group(const std::string& text,
                                                const char* parameter);

//! \p text, a name or literal, without its brackets. \throws as parse_literal(), and if a
//! port follows
std::string lone_host(const std::string& text, const char* parameter);

enum class ip_version : std::uint8_t { any, v4, v6 };

/*!
 * \brief Address of \p host, a name or literal. May ask the resolver. A name that has
 * both is taken by its IPv4 address, unless \p version says otherwise. \throws
 * config_error no such address, or interface; names \p parameter
 */
host_address resolve_host(const std::string& host,
                          const char* parameter,
                          ip_version version = ip_version::any);

/*!
 * \brief The same, and it must be an address of this machine; with its interface if it is
 * an IPv6 one.
 * \throws config_error names \p parameter and lists the addresses that there are
 */
host_address resolve_own(const std::string& host,
                         const char* parameter,
                         ip_version version = ip_version::any);

//! The own address that packets to \p peer leave from, by the routing table.
//! \throws config_error there is no route
host_address route_source(const host_address& peer);

//! The RoCE path MTU that fits the interface which has the own address \p own: 256 to
//! 4096; 0 if not even that does. Linux leaves room for a GRH and all extension headers.
std::uint32_t interface_path_mtu(const host_address& own);

//! HOST, HOST:PORT, :PORT, [IPV6] or [IPV6]:PORT apart; the host has no brackets then.
//! \throws config_error a port that is none, an IPv6 address without its brackets
struct host_port {
    std::string host;
    std::uint16_t port;
};
host_port split_host_port(const std::string& text,
                          std::uint16_t default_port,
                          const char* parameter);

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_ADDRESSES_H */
