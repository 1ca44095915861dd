/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_SOCKET_ADDRESS_H
#define INCLUDED_RDMA_IO_SOFTROCE_SOCKET_ADDRESS_H

#include "io/softroce/addresses.h"

#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! An address and a port as the kernel takes and gives them: sockaddr_in or sockaddr_in6.
class socket_address
{
public:
    //! Room for either; the kernel writes it.
    socket_address() noexcept : d_v6{} {}

    socket_address(const host_address& host, std::uint16_t port) noexcept : d_v6{}
    {
        if (host.ip.is_v4()) {
            d_v4.sin_family = AF_INET;
            d_v4.sin_port = htons(port);
            d_v4.sin_addr.s_addr = htonl(host.ip.v4());
        } else {
            d_v6.sin6_family = AF_INET6;
            d_v6.sin6_port = htons(port);
            d_v6.sin6_scope_id = host.interface; // ignored if the address needs none
            std::memcpy(&d_v6.sin6_addr, host.ip.bytes().data(), 16);
        }
    }
    explicit socket_address(const sockaddr* from) noexcept : d_v6{}
    {
        if (from->sa_family == AF_INET)
            std::memcpy(&d_v4, from, sizeof d_v4);
        else if (from->sa_family == AF_INET6)
            std::memcpy(&d_v6, from, sizeof d_v6);
    }

    sockaddr* get() noexcept { return &d_any; }
    const sockaddr* get() const noexcept { return &d_any; }
    int family() const noexcept { return d_any.sa_family; }
    //! Bytes of what it holds.
    socklen_t bytes() const noexcept
    {
        return family() == AF_INET ? sizeof d_v4 : sizeof d_v6;
    }
    static constexpr socklen_t room() noexcept { return sizeof(sockaddr_in6); }

    wire::ip_address ip() const noexcept
    {
        if (family() == AF_INET)
            return wire::ip_address::ipv4(ntohl(d_v4.sin_addr.s_addr));
        wire::ip_address::bytes_type bytes;
        std::memcpy(bytes.data(), &d_v6.sin6_addr, bytes.size());
        return wire::ip_address(bytes);
    }
    //! The interface of a link-local address; 0: it is none.
    std::uint32_t interface() const noexcept
    {
        return family() == AF_INET6 ? d_v6.sin6_scope_id : 0;
    }
    std::uint16_t port() const noexcept
    {
        return ntohs(family() == AF_INET ? d_v4.sin_port : d_v6.sin6_port);
    }

private:
    union {
        sockaddr d_any;
        sockaddr_in d_v4;
        sockaddr_in6 d_v6;
    };
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_SOCKET_ADDRESS_H */
