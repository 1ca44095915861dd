/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/addresses.h"

#include "io/softroce/socket_address.h"
#include "wire/packet.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <gnuradio/rdma/error.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

std::string named(const char* parameter, const std::string& text)
{
    return std::string(parameter) + "='" + text + "'";
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

bool has_ip(const ifaddrs& i)
{
    return i.ifa_addr &&
           (i.ifa_addr->sa_family == AF_INET || i.ifa_addr->sa_family == AF_INET6);
}

std::string without_brackets(const std::string& text)
{
    return text.size() >= 2 && text.front() == '[' && text.back() == ']'
               ? text.substr(1, text.size() - 2)
               : text;
}

// What stands for an address in messages: its own text, and a link-local one's interface.
std::string text_with(const wire::ip_address& ip, const char* interface)
{
    const bool needs_it = !ip.is_v4() && ip.is_link_local();
    return text_of(ip) + (needs_it ? "%" + std::string(interface) : "");
}

std::uint32_t
interface_of(const ip_literal& l, const std::string& text, const char* parameter)
{
    if (l.interface.empty())
        return 0;
    unsigned index = if_nametoindex(l.interface.c_str());
    const bool number = l.interface.size() < 10 &&
                        l.interface.find_first_not_of("0123456789") == std::string::npos;
    char name[IF_NAMESIZE];
    if (index == 0 && number && if_indextoname(std::stoul(l.interface), name))
        index = std::stoul(l.interface);
    if (index != 0)
        return index;
    std::string known;
    struct if_nameindex* const all = if_nameindex();
    for (const struct if_nameindex* i = all; i && i->if_index != 0; ++i)
        known += (known.empty() ? "" : ", ") + std::string(i->if_name);
    if (all)
        if_freenameindex(all);
    throw config_error(named(parameter, text) + ": this machine has no interface '" +
                       l.interface + "'; it has " + known);
}

} // namespace

std::string text_of(const wire::ip_address& address)
{
    char text[INET6_ADDRSTRLEN];
    if (!address.is_v4())
        return inet_ntop(AF_INET6, address.bytes().data(), text, sizeof text);
    return inet_ntop(AF_INET, address.bytes().data() + 12, text, sizeof text);
}

std::string text_of(const wire::ip_address& address, std::uint16_t port)
{
    const std::string text = text_of(address);
    return (address.is_v4() ? text : "[" + text + "]") + ":" + std::to_string(port);
}

const char* version_of(const wire::ip_address& address) noexcept
{
    return address.is_v4() ? "IPv4" : "IPv6";
}

std::optional<ip_literal> parse_literal(const std::string& text, const char* parameter)
{
    const std::string bare = without_brackets(text);
    in_addr four{};
    if (bare == text && inet_pton(AF_INET, text.c_str(), &four) == 1)
        return ip_literal{ wire::ip_address::ipv4(ntohl(four.s_addr)), "" };
    const bool may_be_six = std::count(bare.begin(), bare.end(), ':') > 1;
    if (bare == text && (!may_be_six || text.front() == '['))
        return {}; // a name, or with a port
    const std::size_t percent = bare.find('%');
    wire::ip_address::bytes_type bytes;
    if (inet_pton(AF_INET6, bare.substr(0, percent).c_str(), bytes.data()) != 1)
        throw config_error(named(parameter, text) +
                           " is no IPv6 address; an example is fd00::2");
    ip_literal l{ wire::ip_address(bytes), "" };
    if (percent != std::string::npos)
        l.interface = bare.substr(percent + 1);
    if (l.ip.is_v4())
        throw config_error(named(parameter, text) +
                           " is an IPv4 address in its IPv6-mapped form; give " +
                           text_of(l.ip));
    if (l.ip.is_link_local() && l.interface.empty())
        throw config_error(named(parameter, text) +
                           " is a link-local address, which each interface has its own "
                           "of; say which interface, as in " +
                           text_of(l.ip) + "%eth0");
    if (percent != std::string::npos && !l.ip.is_link_local() && !l.ip.is_multicast())
        throw config_error(named(parameter, text) +
                           " needs no interface: only link-local addresses and multicast "
                           "groups have one; give " +
                           text_of(l.ip));
    return l;
}

std::optional<wire::ip_address> multicast_group(const std::string& text,
                                                const char* parameter)
{
    const auto l = parse_literal(text, parameter);
    if (!l || !l->ip.is_multicast())
        return {};
    return l->ip;
}

std::string lone_host(const std::string& text, const char* parameter)
{
    if (!parse_literal(text, parameter) && text.find(':') != std::string::npos)
        throw config_error(named(parameter, text) +
                           " has a port, where none belongs; give the address alone");
    return without_brackets(text);
}

host_address
resolve_host(const std::string& host, const char* parameter, ip_version version)
{
    if (host.empty())
        throw config_error(std::string(parameter) +
                           " is missing; give an IP address or a host name");
    if (const auto l = parse_literal(host, parameter))
        return { l->ip, interface_of(*l, host, parameter) };
    lone_host(host, parameter);
    int rc = 0;
    for (const int family : { AF_INET, AF_INET6 }) {
        if (version == (family == AF_INET ? ip_version::v6 : ip_version::v4))
            continue;
        addrinfo hints{};
        hints.ai_family = family;
        hints.ai_socktype = SOCK_DGRAM;
        addrinfo* found = nullptr;
        rc = getaddrinfo(host.c_str(), nullptr, &hints, &found);
        if (rc != 0)
            continue;
        const socket_address first(found->ai_addr);
        freeaddrinfo(found);
        return { first.ip(), first.interface() };
    }
    const char* const kind = version == ip_version::v4   ? "IPv4"
                             : version == ip_version::v6 ? "IPv6"
                                                         : "IP";
    throw config_error(named(parameter, host) + " has no " + kind +
                       " address: " + gai_strerror(rc));
}

host_address
resolve_own(const std::string& host, const char* parameter, ip_version version)
{
    host_address own = resolve_host(host, parameter, version);
    // 0.0.0.0 would take the port from everybody, and stands in no packet.
    if (own.ip.is_v4() && own.ip.is_loopback()) // all of 127.0.0.0/8 is this machine
        return own;
    std::string known;
    const auto list = interfaces();
    for (const ifaddrs* i = list.get(); i; i = i->ifa_next) {
        if (!has_ip(*i))
            continue;
        const socket_address there(i->ifa_addr);
        const std::uint32_t index = if_nametoindex(i->ifa_name);
        if (there.ip() == own.ip && !own.ip.is_unspecified() &&
            (own.interface == 0 || own.interface == index)) {
            own.interface = own.ip.is_v4() ? 0 : index;
            return own;
        }
        known += (known.empty() ? "" : ", ") + text_with(there.ip(), i->ifa_name) + " (" +
                 i->ifa_name + ")";
    }
    throw config_error(named(parameter, host) +
                       " is no address of this machine; it has " +
                       (known.empty() ? "none" : known) + ", and all of 127.0.0.0/8");
}

host_address route_source(const host_address& peer)
{
    const socket_address to(peer, wire::roce_udp_port);
    socket_address own;
    socklen_t length = socket_address::room();
    const int fd = socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int leaves_by = static_cast<int>(peer.interface);
    if (fd >= 0 && !peer.ip.is_v4() && leaves_by != 0)
        setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &leaves_by, sizeof leaves_by);
    const bool ok = fd >= 0 && ::connect(fd, to.get(), to.bytes()) == 0 &&
                    getsockname(fd, own.get(), &length) == 0;
    if (fd >= 0)
        close(fd);
    if (!ok)
        throw config_error(
            "connect='" + text_of(peer.ip) +
            "' cannot be reached from this machine: there is no route to it");
    // By its text, for the interface that it is on.
    char name[IF_NAMESIZE] = "";
    if_indextoname(own.interface(), name);
    return resolve_own(text_with(own.ip(), name), "source");
}

std::uint32_t interface_path_mtu(const host_address& own)
{
    int mtu = 65536; // 127.0.0.0/8 is the loopback interface, whichever of it is meant
    const auto list = interfaces();
    for (const ifaddrs* i = list.get(); i; i = i->ifa_next) {
        if (!has_ip(*i) || socket_address(i->ifa_addr).ip() != own.ip ||
            (own.interface != 0 && own.interface != if_nametoindex(i->ifa_name)))
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
    const auto colons = std::count(text.begin(), text.end(), ':');
    const bool bracket = !text.empty() && text.front() == '[';
    const std::size_t end = bracket ? text.find(']') : std::string::npos;
    if (bracket ? end == std::string::npos : colons > 1)
        throw config_error(
            named(parameter, text) +
            " looks like an IPv6 address, which needs brackets here because a port may "
            "follow: [::1] or [::1]:" +
            std::to_string(default_port));
    const std::size_t host_end =
        bracket ? end + 1 : std::min(text.find(':'), text.size());
    const std::string host = text.substr(0, host_end);
    if (bracket)
        parse_literal(host, parameter);
    const std::string bare = without_brackets(host);
    if (host_end == text.size())
        return { bare, default_port };
    const std::string port = text.substr(host_end + 1);
    const bool digits = text[host_end] == ':' && !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    const unsigned long number = digits ? std::stoul(port) : 0;
    if (number == 0 || number > 65535)
        throw config_error(named(parameter, text) + ": '" + port +
                           "' is no port; use HOST:PORT with a port from 1 to 65535");
    return { bare, static_cast<std::uint16_t>(number) };
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
