/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/endpoint_checks.h"

#include "io/softroce/addresses.h"
#include "wire/cm.h"
#include "wire/cma.h"
#include "wire/packet.h"

#include <cmath>
#include <gnuradio/rdma/error.h>
#include <sstream>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr std::uint32_t most_24_bits = 0xffffff;
constexpr std::uint32_t default_static_mtu = 1024;
constexpr std::uint32_t most_mtu = 4096;
constexpr std::uint64_t most_depth = 1 << 20;
constexpr std::uint64_t most_message_bytes = 1 << 30;
constexpr std::int64_t longest_ack_timeout_ns = INT64_C(8796093022208); // code 31 of CMs

void check_24_bits(const char* name, std::uint32_t value)
{
    if (value > most_24_bits)
        throw config_error(std::string(name) + "=" + std::to_string(value) +
                           " has more than 24 bits; 0 to 16777215 are possible");
}

// A datagram is one packet: longer messages could neither be sent nor received.
void check_datagrams(const endpoint_config& c, std::uint32_t default_mtu)
{
    const std::uint32_t mtu = c.mtu != 0 ? c.mtu : default_mtu;
    if (c.message_bytes > mtu)
        throw config_error("message_bytes=" + std::to_string(c.message_bytes) +
                           " (header included) is longer than a datagram; service='ud' "
                           "carries at most mtu=" +
                           std::to_string(mtu) +
                           " bytes in a message, and mtu is at most 4096");
}

void check_static(const endpoint_config& c)
{
    if (!c.listen.empty())
        throw config_error(
            "listen='" + c.listen + "' and qpn=" + std::to_string(c.qpn) +
            " do not go together: a static connection (qpn) does not listen; "
            "give source and connect instead, or leave qpn out");
    check_24_bits("qpn", c.qpn);
    check_24_bits("remote_qpn", c.remote_qpn);
    check_24_bits("psn", c.psn);
    check_24_bits("remote_psn", c.remote_psn);
    for (const auto& [name, value] :
         { std::pair("qpn", c.qpn), std::pair("remote_qpn", c.remote_qpn) })
        if (value == wire::cm_qpn)
            throw config_error(std::string(name) +
                               "=1 is the connection manager's; use 2 to 16777214");
    if (c.qpn == wire::multicast_qpn)
        throw config_error("qpn=" + std::to_string(c.qpn) +
                           " stands for the members of a multicast group; use 2 to "
                           "16777214");
    if (c.remote_qpn == 0 && c.service == service_type::rc)
        throw config_error(
            "remote_qpn is missing: an RC connection needs the peer's QPN");
    if (c.connect.empty() && c.source.empty())
        throw config_error("source is missing: give the own address to receive on");
    if (c.connect.empty() && c.service == service_type::rc)
        throw config_error(
            "connect is missing: an RC connection needs the peer's address");
    if (c.service == service_type::ud)
        check_datagrams(c, default_static_mtu);
    const bool literal = parse_literal(c.connect, "connect").has_value();
    if (!literal && c.connect.find(':') != std::string::npos)
        throw config_error("connect='" + c.connect +
                           "' has a port; a static connection has none, RoCEv2 is always "
                           "UDP 4791: give the address alone");
}

void check_range(const char* name,
                 std::uint64_t value,
                 std::uint64_t least,
                 std::uint64_t most)
{
    if (value < least || value > most)
        throw config_error(std::string(name) + "=" + std::to_string(value) +
                           " is out of range; " + std::to_string(least) + " to " +
                           std::to_string(most) + " are possible");
}

// Through the connection manager a datagram service has the Q_Key that rdma_cm gives.
void check_cm_datagrams(const endpoint_config& c)
{
    if (!c.group.empty() || multicast_group(c.connect, "connect"))
        throw config_error("qpn is missing: a multicast group has no connection manager; "
                           "give qpn, 2 to 16777214, and source");
    if (c.qkey != endpoint_config().qkey)
        throw config_error("qkey=" + std::to_string(c.qkey) +
                           " needs qpn: what listens or connects has the Q_Key of "
                           "rdma_cm, " +
                           std::to_string(wire::cma_udp_qkey) + "; leave it out");
    check_datagrams(c, most_mtu);
}

void check_cm(const endpoint_config& c)
{
    if (c.service == service_type::ud)
        check_cm_datagrams(c);
    if (c.remote_qpn != 0)
        throw config_error("qpn is missing: remote_qpn=" + std::to_string(c.remote_qpn) +
                           " makes a static connection, which needs both");
    if (c.listen.empty() == c.connect.empty())
        throw config_error(
            c.listen.empty()
                ? "listen or connect is missing: wait for a peer with "
                  "listen=HOST[:PORT], or call one with connect=HOST[:PORT]; "
                  "a static connection needs qpn"
                : "listen='" + c.listen + "' and connect='" + c.connect +
                      "' do not go together; give one of them");
    split_host_port(c.listen, default_port, "listen");
    if (!c.connect.empty() &&
        split_host_port(c.connect, default_port, "connect").host.empty())
        throw config_error("connect='" + c.connect +
                           "' names no host; give the peer's address, HOST[:PORT]");
    if (c.private_data.size() > wire::cma_req_consumer_bytes)
        throw config_error("private_data has " + std::to_string(c.private_data.size()) +
                           " bytes; at most " +
                           std::to_string(wire::cma_req_consumer_bytes) + " fit");
    if (!c.peers.empty() && c.listen.empty())
        throw config_error("peers='" + c.peers +
                           "' says who may connect, so it needs listen");
    if (c.connect_timeout_ns <= 0)
        throw config_error("connect_timeout must be above 0");
    for (const auto& [name, value] :
         { std::pair("psn", c.psn), std::pair("remote_psn", c.remote_psn) })
        if (value != 0)
            throw config_error(std::string(name) + "=" + std::to_string(value) +
                               " belongs to a static connection (qpn): with listen or "
                               "connect the peers agree on it; leave it out");
}

// Each literal is one that can be used, and all are of one version.
void check_addresses(const endpoint_config& c)
{
    std::vector<std::pair<const char*, std::string>> all;
    all.emplace_back("listen", split_host_port(c.listen, default_port, "listen").host);
    all.emplace_back("source", c.source);
    // A port may follow the address of a CM connection only.
    const bool has_port = c.qpn == 0 && !multicast_group(c.connect, "connect");
    all.emplace_back("connect",
                     has_port ? split_host_port(c.connect, default_port, "connect").host
                              : c.connect);
    all.emplace_back("group", c.group);
    std::stringstream peers(c.peers);
    for (std::string one; std::getline(peers, one, ',');)
        all.emplace_back("peers", one);
    std::optional<ip_literal> first;
    std::string first_text;
    for (const auto& [parameter, text] : all) {
        const auto l = parse_literal(text, parameter);
        if (l && first && l->ip.is_v4() != first->ip.is_v4())
            throw config_error(first_text + " is " + version_of(first->ip) + " and " +
                               parameter + "='" + text + "' " + version_of(l->ip) +
                               ": a connection speaks one of them");
        if (l && !first) {
            first = l;
            first_text = std::string(parameter) + "='" + text + "'";
        }
    }
}

void check_multicast(const endpoint_config& c)
{
    const bool to_group = multicast_group(c.connect, "connect").has_value();
    if (!c.group.empty() && !multicast_group(c.group, "group"))
        throw config_error("group='" + c.group +
                           "' is no multicast address; use 224.0.0.0 to "
                           "239.255.255.255, of which 239.0.0.0/8 is for private use, or "
                           "ff00::/8, of which ff15::/16 is free to use in a site");
    if (!c.group.empty() && c.service != service_type::ud)
        throw config_error("group='" + c.group +
                           "' needs service='ud': a connection has one peer");
    if (to_group && c.service != service_type::ud)
        throw config_error("connect='" + c.connect +
                           "' is a multicast group, which takes service='ud'");
    if (to_group && c.remote_qpn != 0 && c.remote_qpn != wire::multicast_qpn)
        throw config_error("remote_qpn=" + std::to_string(c.remote_qpn) +
                           " is no member of a multicast group; leave it out");
    if (!to_group && c.remote_qpn == wire::multicast_qpn)
        throw config_error("remote_qpn=16777215 stands for the members of a multicast "
                           "group, and connect='" +
                           c.connect + "' is none; use 2 to 16777214");
}

// What only RDMA devices have.
void check_foreign(const endpoint_config& c)
{
    const std::string which = verbs_only(c);
    if (!which.empty())
        throw config_error(
            which + " is for endpoint='verbs'; leave it out with endpoint='softroce'");
}

void check_common(const endpoint_config& c)
{
    if (c.mtu != 0 && !is_path_mtu(c.mtu))
        throw config_error("mtu=" + std::to_string(c.mtu) +
                           " is no path MTU; use 256, 512, 1024, 2048 or 4096");
    if (c.pump_cpu < -1)
        throw config_error("pump_cpu=" + std::to_string(c.pump_cpu) +
                           " is no CPU; use its number, or -1 for any");
    check_range("recv_depth", c.recv_depth, 1, most_depth);
    check_range("send_depth", c.send_depth, 1, most_depth);
    check_range("header_bytes", c.header_bytes, 0, most_message_bytes);
    check_range("message_bytes", c.message_bytes, 0, most_message_bytes);
    check_range("rnr_timer", c.rnr_timer, 0, 31);
    check_range("retry_count", c.retry_count, 0, 7);
    check_range("rnr_retry", c.rnr_retry, 0, 7);
    check_range("socket_buffer_bytes", c.socket_buffer_bytes, 4096, 1u << 30);
    if (c.ack_timeout_ns < 1 || c.ack_timeout_ns > longest_ack_timeout_ns)
        throw config_error("ack_timeout_ns=" + std::to_string(c.ack_timeout_ns) +
                           " is out of range; 1 to " +
                           std::to_string(longest_ack_timeout_ns) + " are possible");
    if (!(c.rate_bytes >= 0) || std::isinf(c.rate_bytes))
        throw config_error("rate=" + std::to_string(c.rate_bytes) +
                           " is no rate; give bytes per second, or 0 for no pacing");
}

} // namespace

std::string verbs_only(const endpoint_config& c)
{
    return !c.device.empty()  ? "device='" + c.device + "'"
           : c.gid_index >= 0 ? "gid_index=" + std::to_string(c.gid_index)
           : c.ib_port != 0   ? "ib_port=" + std::to_string(c.ib_port)
                              : "";
}

endpoint_config checked(endpoint_config c)
{
    check_foreign(c);
    check_common(c);
    check_addresses(c);
    check_multicast(c);
    if (c.qpn != 0)
        check_static(c);
    else
        check_cm(c);
    if (multicast_group(c.connect, "connect"))
        c.remote_qpn = wire::multicast_qpn;
    return c;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
