/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/address.h"

#include "io/softroce/addresses.h"

#include <arpa/inet.h>
#include <cstring>
#include <gnuradio/rdma/error.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

const sockaddr_in& ipv4(const sockaddr_storage& s)
{
    return reinterpret_cast<const sockaddr_in&>(s);
}
const sockaddr_in6& ipv6(const sockaddr_storage& s)
{
    return reinterpret_cast<const sockaddr_in6&>(s);
}

} // namespace

address::address(const sockaddr* from)
{
    d_storage.ss_family = AF_UNSPEC;
    if (from && from->sa_family == AF_INET)
        std::memcpy(&d_storage, from, sizeof(sockaddr_in));
    else if (from && from->sa_family == AF_INET6)
        std::memcpy(&d_storage, from, sizeof(sockaddr_in6));
}

bool address::is_multicast() const noexcept
{
    if (is_ipv4())
        return (ntohl(ipv4(d_storage).sin_addr.s_addr) >> 28) == 0xe;
    return *this && ipv6(d_storage).sin6_addr.s6_addr[0] == 0xff;
}

bool address::is_loopback() const noexcept
{
    if (is_ipv4())
        return (ntohl(ipv4(d_storage).sin_addr.s_addr) >> 24) == 127;
    return *this && IN6_IS_ADDR_LOOPBACK(&ipv6(d_storage).sin6_addr);
}

bool address::is_wildcard() const noexcept
{
    if (is_ipv4())
        return ipv4(d_storage).sin_addr.s_addr == 0;
    return *this && IN6_IS_ADDR_UNSPECIFIED(&ipv6(d_storage).sin6_addr);
}

bool address::is_broadcast() const noexcept
{
    return is_ipv4() && ipv4(d_storage).sin_addr.s_addr == INADDR_BROADCAST;
}

std::uint16_t address::port() const noexcept
{
    return *this ? ntohs(is_ipv4() ? ipv4(d_storage).sin_port : ipv6(d_storage).sin6_port)
                 : 0;
}

void address::set_port(std::uint16_t port) noexcept
{
    if (is_ipv4())
        reinterpret_cast<sockaddr_in&>(d_storage).sin_port = htons(port);
    else
        reinterpret_cast<sockaddr_in6&>(d_storage).sin6_port = htons(port);
}

std::uint32_t address::scope() const noexcept
{
    return d_storage.ss_family == AF_INET6 ? ipv6(d_storage).sin6_scope_id : 0;
}

std::string address::text() const
{
    char text[INET6_ADDRSTRLEN] = "";
    if (is_ipv4())
        inet_ntop(AF_INET, &ipv4(d_storage).sin_addr, text, sizeof text);
    else if (*this)
        inet_ntop(AF_INET6, &ipv6(d_storage).sin6_addr, text, sizeof text);
    char name[IF_NAMESIZE];
    if (scope() != 0 && if_indextoname(scope(), name))
        return std::string(text) + "%" + name;
    return text;
}

ibv_gid address::gid() const noexcept
{
    ibv_gid out{};
    if (is_ipv4()) {
        out.raw[10] = out.raw[11] = 0xff;
        std::memcpy(out.raw + 12, &ipv4(d_storage).sin_addr, 4);
    } else if (*this) {
        std::memcpy(out.raw, &ipv6(d_storage).sin6_addr, 16);
    }
    return out;
}

bool address::same_host(const address& other) const noexcept
{
    return *this && d_storage.ss_family == other.d_storage.ss_family &&
           std::memcmp(gid().raw, other.gid().raw, 16) == 0;
}

address resolve(const std::string& text,
                std::uint16_t default_port,
                const char* parameter,
                int family)
{
    // As softroce reads them: an IPv6 address in brackets where a port may follow.
    softroce::host_port at{ text, 0 };
    if (default_port != 0)
        at = softroce::split_host_port(text, default_port, parameter);
    at.host = softroce::lone_host(at.host, parameter);
    if (at.host.empty())
        throw config_error(std::string(parameter) +
                           " is missing; give an IP address or a host name");
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int rc = getaddrinfo(at.host.c_str(), nullptr, &hints, &found);
    if (rc != 0)
        throw config_error(std::string(parameter) + "='" + text + "' has no " +
                           (family == AF_INET    ? "IPv4 "
                            : family == AF_INET6 ? "IPv6 "
                                                 : "") +
                           "address: " + gai_strerror(rc));
    // InfiniBand addresses may come first.
    const addrinfo* best = found;
    while (best && !address(best->ai_addr))
        best = best->ai_next;
    address out = best ? address(best->ai_addr) : address();
    freeaddrinfo(found);
    if (!out)
        throw config_error(std::string(parameter) + "='" + text + "' has no IP address");
    out.set_port(at.port);
    return out;
}

address route_source(const address& peer)
{
    const int fd = socket(peer.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address to = peer;
    to.set_port(4791);
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    const bool ok = fd >= 0 && ::connect(fd, to.get(), sizeof(sockaddr_storage)) == 0 &&
                    getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0;
    if (fd >= 0)
        close(fd);
    if (!ok)
        throw config_error(
            "connect='" + peer.text() +
            "' cannot be reached from this machine: there is no route to it");
    address out(reinterpret_cast<sockaddr*>(&own));
    out.set_port(0);
    return out;
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
