/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_IPV4_H
#define INCLUDED_RDMA_IO_SOFTROCE_IPV4_H

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! "127.0.0.2" for 0x7f000002 (host byte order).
std::string ipv4_text(std::uint32_t address);

constexpr bool is_multicast_ipv4(std::uint32_t address) noexcept
{
    return address >> 28 == 0xe;
}

//! The multicast group that \p text spells as a dotted quad; 0: none.
std::uint32_t multicast_group_ipv4(const std::string& text) noexcept;

/*!
 * \brief Address of \p host (a name or dotted quad), host byte order. May ask the
 * resolver. \throws config_error no IPv4 address for it; names \p parameter
 */
std::uint32_t resolve_ipv4(const std::string& host, const char* parameter);

/*!
 * \brief The same, and it must be an address of this machine.
 * \throws config_error names \p parameter and lists the addresses that there are
 */
std::uint32_t resolve_own_ipv4(const std::string& host, const char* parameter);

//! The own address that packets to \p peer leave from, by the routing table.
//! \throws config_error there is no route
std::uint32_t route_source_ipv4(std::uint32_t peer);

//! The RoCE path MTU that fits the interface which has the own address \p address: 256 to
//! 4096; 0 if not even that does. Linux leaves room for a GRH and all extension headers.
std::uint32_t interface_path_mtu_ipv4(std::uint32_t address);

//! HOST, HOST:PORT or :PORT apart. \throws config_error a port that is none
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

#endif /* INCLUDED_RDMA_IO_SOFTROCE_IPV4_H */
