/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_ADDRESS_H
#define INCLUDED_RDMA_IO_VERBS_ADDRESS_H

#include <cstdint>
#include <infiniband/verbs.h>
#include <string>
#include <sys/socket.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! IPv4 or IPv6 address with a port, as rdma_cm takes it. A plain value.
class address
{
public:
    address() { d_storage.ss_family = AF_UNSPEC; }
    explicit address(const sockaddr* from); //!< IPv4 and IPv6 alone; else empty

    explicit operator bool() const noexcept { return d_storage.ss_family != AF_UNSPEC; }
    bool is_ipv4() const noexcept { return d_storage.ss_family == AF_INET; }
    bool is_multicast() const noexcept;
    bool is_loopback() const noexcept;  //!< 127.0.0.0/8, ::1
    bool is_wildcard() const noexcept;  //!< 0.0.0.0, ::
    bool is_broadcast() const noexcept; //!< 255.255.255.255
    std::uint16_t port() const noexcept;
    void set_port(std::uint16_t port) noexcept;
    std::uint32_t scope() const noexcept; //!< interface of a link-local address; 0: none
    std::string text() const;             //!< without the port, "fe80::1%eth0" with scope
    //! As it stands in a GID table: IPv4 behind ::ffff:0:0.
    ibv_gid gid() const noexcept;
    //! For the libraries, which take a mutable pointer and do not change it.
    sockaddr* get() const noexcept
    {
        return reinterpret_cast<sockaddr*>(const_cast<sockaddr_storage*>(&d_storage));
    }
    bool same_host(const address& other) const noexcept;

private:
    sockaddr_storage d_storage{};
};

/*!
 * \brief The address of \p text: HOST, HOST:PORT, [IPv6] or [IPv6]:PORT; with
 * \p default_port 0 no port may follow, and an IPv6 address needs no brackets. May ask
 * the resolver. \param family AF_UNSPEC, or the one that it must be of
 * \throws config_error naming \p parameter: no such host, a port that is none, or an
 * address that cannot be used, see softroce::parse_literal()
 */
address resolve(const std::string& text,
                std::uint16_t default_port,
                const char* parameter,
                int family = AF_UNSPEC);

//! The own address that packets to \p peer leave from, by the routing table.
//! \throws config_error there is no route
address route_source(const address& peer);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_ADDRESS_H */
