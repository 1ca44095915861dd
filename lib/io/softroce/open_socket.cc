/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/open_socket.h"

#include "io/softroce/socket_address.h"
#include "io/softroce/socket_options.h"
#include "wire/packet.h"

#include <cerrno>
#include <gnuradio/rdma/error.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

void set(int fd, int level, int option, int value) noexcept
{
    setsockopt(fd, level, option, &value, sizeof value);
}

// Bound to the group, a socket gets nothing else; without MULTICAST_ALL it does not get
// what others of this machine joined on other interfaces.
void join(int fd, const host_address& own, const wire::ip_address& group)
{
    int rc = 0;
    if (group.is_v4()) {
        set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
        ip_mreqn member{};
        member.imr_multiaddr.s_addr = htonl(group.v4());
        member.imr_address.s_addr = htonl(own.ip.v4());
        rc = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member);
    } else {
        set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
        // Else what comes in by others that somebody joined it on is heard, too (needs
        // Linux 5.7, or privilege).
        set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, static_cast<int>(own.interface));
        ipv6_mreq member{};
        std::memcpy(&member.ipv6mr_multiaddr, group.bytes().data(), 16);
        member.ipv6mr_interface = own.interface;
        rc = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &member, sizeof member);
    }
    if (rc != 0)
        throw os_error(errno,
                       "joining the multicast group " + text_of(group) +
                           " on the interface of " + text_of(own.ip));
}

void bind_port(int fd, const host_address& at)
{
    const socket_address own(at, wire::roce_udp_port);
    if (bind(fd, own.get(), own.bytes()) == 0)
        return;
    const int code = errno;
    std::string advice;
    if (code == EADDRINUSE)
        advice = ": another program or the kernel's rdma_rxe has this port there; stop "
                 "it, or give another own address of this machine (127.0.0.3, say), or "
                 "run in a network namespace";
    else if (code == EADDRNOTAVAIL)
        advice = ": IPv6 addresses can be used some seconds after they were given to an "
                 "interface (ip addr add ... nodad: at once)";
    throw os_error(code, "bind to UDP " + text_of(at.ip, wire::roce_udp_port) + advice);
}

// No packet is fragmented: the ICRC would cover what is changed on the way.
void set_ip_options(int fd, const host_address& own) noexcept
{
    if (own.ip.is_v4()) {
        const in_addr leaves_by{ htonl(own.ip.v4()) };
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &leaves_by, sizeof leaves_by);
        set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    } else {
        set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(own.interface));
        set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
        set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
        set(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);
    }
}

} // namespace

int open_roce_socket(const host_address& own, const wire::ip_address& group)
{
    const bool grouped = !group.is_unspecified();
    const host_address at = grouped ? host_address{ group, own.interface } : own;
    const int fd = socket(own.ip.is_v4() ? AF_INET : AF_INET6,
                          SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          0);
    if (fd < 0)
        throw os_error(errno, "socket for UDP " + text_of(at.ip, wire::roce_udp_port));
    try {
        if (!own.ip.is_v4())
            set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        if (grouped)
            set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        bind_port(fd, at);
        if (grouped)
            join(fd, own, group);
    } catch (...) {
        close(fd);
        throw;
    }
    set_ip_options(fd, own);
    set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    return fd;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
