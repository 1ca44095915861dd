/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/ipv4.h"

#include <arpa/inet.h>
#include <cstring>
#include <gnuradio/rdma/error.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

std::uint32_t address_of(const sockaddr* sa) noexcept
{
    return ntohl(reinterpret_cast<const sockaddr_in*>(sa)->sin_addr.s_addr);
}

std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> interfaces()
{
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0)
        list = nullptr;
    return { list, [](ifaddrs* l) {
                if (l)
                    freeifaddrs(l);
            } };
}

} // namespace

std::string ipv4_text(std::uint32_t address)
{
    in_addr a{ htonl(address) };
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &a, text, sizeof text);
}

std::uint32_t multicast_group_ipv4(const std::string& text) noexcept
{
    in_addr a{};
    if (inet_pton(AF_INET, text.c_str(), &a) != 1)
        return 0;
    const std::uint32_t address = ntohl(a.s_addr);
    return is_multicast_ipv4(address) ? address : 0;
}

std::uint32_t resolve_ipv4(const std::string& host, const char* parameter)
{
    if (host.empty())
        throw config_error(std::string(parameter) +
                           " is missing; give an IPv4 address or a host name");
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int rc = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (rc != 0)
        throw config_error(std::string(parameter) + "='" + host +
                           "' has no IPv4 address: " + gai_strerror(rc));
    const std::uint32_t address = address_of(found->ai_addr);
    freeaddrinfo(found);
    return address;
}

std::uint32_t resolve_own_ipv4(const std::string& host, const char* parameter)
{
    const std::uint32_t address = resolve_ipv4(host, parameter);
    // 0.0.0.0 would take the port from everybody, and stands in no packet.
    if (address >> 24 == 127) // all of 127.0.0.0/8 is this machine
        return address;
    std::string known;
    const auto list = interfaces();
    for (const ifaddrs* i = list.get(); i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
            continue;
        if (address != 0 && address_of(i->ifa_addr) == address)
            return address;
        known += (known.empty() ? "" : ", ") + ipv4_text(address_of(i->ifa_addr)) + " (" +
                 i->ifa_name + ")";
    }
    throw config_error(std::string(parameter) + "='" + host +
                       "' is no address of this machine; it has " +
                       (known.empty() ? "none" : known) + ", and all of 127.0.0.0/8");
}

std::uint32_t route_source_ipv4(std::uint32_t peer)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(4791);
    to.sin_addr.s_addr = htonl(peer);
    sockaddr_in own{};
    socklen_t length = sizeof own;
    const bool ok = fd >= 0 &&
                    ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
                    getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0;
    if (fd >= 0)
        close(fd);
    if (!ok)
        throw config_error(
            "connect='" + ipv4_text(peer) +
            "' cannot be reached from this machine: there is no route to it");
    return ntohl(own.sin_addr.s_addr);
}

std::uint32_t interface_path_mtu_ipv4(std::uint32_t address)
{
    int mtu = 65536; // 127.0.0.0/8 is the loopback interface, whichever of it is meant
    const auto list = interfaces();
    for (const ifaddrs* i = list.get(); i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
            address_of(i->ifa_addr) != address)
            continue;
        const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ifreq request{};
        std::strncpy(request.ifr_name, i->ifa_name, IFNAMSIZ - 1);
        if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0)
            mtu = request.ifr_mtu;
        if (fd >= 0)
            close(fd);
        break;
    }
    constexpr int headers =
        40 + 8 + 12 + 4 + 28 + 4; // GRH, UDP, BTH, XRC, AtomicETH, ICRC
    std::uint32_t fits = 0;
    for (std::uint32_t bytes = 256; bytes <= 4096; bytes *= 2)
        if (static_cast<int>(bytes) + headers <= mtu)
            fits = bytes;
    return fits;
}

host_port split_host_port(const std::string& text,
                          std::uint16_t default_port,
                          const char* parameter)
{
    const std::size_t colon = text.rfind(':');
    if (colon != text.find(':') || text.find('[') != std::string::npos)
        throw config_error(
            std::string(parameter) + "='" + text +
            "' looks like an IPv6 address; softroce has IPv4 only as yet: use "
            "HOST or HOST:PORT");
    if (colon == std::string::npos)
        return { text, default_port };
    const std::string port = text.substr(colon + 1);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    const unsigned long number = digits ? std::stoul(port) : 0;
    if (number == 0 || number > 65535)
        throw config_error(std::string(parameter) + "='" + text + "': '" + port +
                           "' is no port; use HOST:PORT with a port from 1 to 65535");
    return { text.substr(0, colon), static_cast<std::uint16_t>(number) };
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
