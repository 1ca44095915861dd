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

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_IPV4_H */
