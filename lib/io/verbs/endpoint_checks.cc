/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/endpoint_checks.h"

#include "io/verbs/device_finder.h"
#include "io/verbs/endpoint_addresses.h"

#include <cmath>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::size_t most_private_bytes = 56; // RDMA_PS_TCP
constexpr std::uint64_t most_24_bits = 0xffffff;
constexpr std::uint64_t most_message_bytes = 1 << 30;

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

void check_static(const endpoint_config& c)
{
    if (!c.listen.empty())
        throw config_error("listen='" + c.listen + "' and qpn=" + std::to_string(c.qpn) +
                           " do not go together: a static connection (qpn) does not "
                           "listen; give source and connect instead, or leave qpn out");
    check_range("qpn", c.qpn, 0, most_24_bits);
    check_range("remote_qpn", c.remote_qpn, 0, most_24_bits);
    check_range("psn", c.psn, 0, most_24_bits);
    check_range("remote_psn", c.remote_psn, 0, most_24_bits);
    if (c.connect.empty() && c.source.empty())
        throw config_error("source is missing: give the own address to receive on");
    if (c.connect.empty() && c.service != service_type::ud)
        throw config_error(
            "connect is missing: a device takes packets of one peer alone, "
            "so endpoint='verbs' needs its address");
    if (c.service == service_type::rc && c.remote_qpn == 0 && !c.ask_remote_qpn)
        throw config_error(
            "remote_qpn is missing: an RC connection needs the peer's QPN");
}

void check_cm(const endpoint_config& c)
{
    if (c.service == service_type::uc)
        throw config_error("service='uc' over endpoint='verbs' is static only: rdma_cm "
                           "connects RC and UD; give qpn, or use service='rc'");
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
    if (c.gid_index >= 0)
        throw config_error(
            "gid_index=" + std::to_string(c.gid_index) +
            " needs a static connection (qpn): rdma_cm takes the GID of the "
            "own address");
    if (c.private_data.size() > most_private_bytes)
        throw config_error("private_data has " + std::to_string(c.private_data.size()) +
                           " bytes; at most " + std::to_string(most_private_bytes) +
                           " fit");
    if (!c.peers.empty() && c.listen.empty())
        throw config_error("peers='" + c.peers +
                           "' says who may connect, so it needs listen");
    if (!c.group.empty())
        throw config_error("group='" + c.group +
                           "' needs qpn: a group has no connection "
                           "that could be made");
    if (c.connect_timeout_ns <= 0)
        throw config_error("connect_timeout must be above 0");
    for (const auto& [name, value] :
         { std::pair("psn", c.psn), std::pair("remote_psn", c.remote_psn) })
        if (value != 0)
            throw config_error(std::string(name) + "=" + std::to_string(value) +
                               " belongs to a static connection (qpn): with listen or "
                               "connect the peers agree on it; leave it out");
}

// What only softroce has.
void check_foreign(const endpoint_config& c)
{
    const char* const which = c.faults.harms()                           ? "faults"
                              : c.pump_cpu >= 0                          ? "pump_cpu"
                              : c.receive != receive_strategy::automatic ? "receive"
                                                                         : nullptr;
    if (which)
        throw config_error(
            std::string(which) +
            " is for endpoint='softroce'; leave it out with endpoint='verbs'");
}

void check_common(const endpoint_config& c)
{
    if (c.mtu != 0 && !is_path_mtu(c.mtu))
        throw config_error("mtu=" + std::to_string(c.mtu) +
                           " is no path MTU; use 256, 512, 1024, 2048 or 4096");
    if (c.gid_index < -1)
        throw config_error("gid_index=" + std::to_string(c.gid_index) +
                           " is no index; use -1 for the GID of the own address");
    check_range("ib_port", c.ib_port, 0, 255);
    check_range("recv_depth", c.recv_depth, 1, 1 << 20);
    check_range("send_depth", c.send_depth, 1, 1 << 20);
    check_range("header_bytes", c.header_bytes, 0, most_message_bytes);
    check_range("message_bytes", c.message_bytes, 0, most_message_bytes);
    check_range("rnr_timer", c.rnr_timer, 0, 31);
    check_range("retry_count", c.retry_count, 0, 7);
    check_range("rnr_retry", c.rnr_retry, 0, 7);
    if (c.ack_timeout_ns < 1)
        throw config_error("ack_timeout_ns=" + std::to_string(c.ack_timeout_ns) +
                           " is out of range; use 1 or more");
    if (!(c.rate_bytes >= 0) || std::isinf(c.rate_bytes))
        throw config_error("rate=" + std::to_string(c.rate_bytes) +
                           " is no rate; give bytes per second, or 0 for no pacing");
    if (!c.group.empty() && c.service != service_type::ud)
        throw config_error("group='" + c.group +
                           "' needs service='ud': a connection has one peer");
}

} // namespace

const endpoint_config& checked(const endpoint_config& c)
{
    check_foreign(c);
    check_common(c);
    if (c.qpn != 0)
        check_static(c);
    else
        check_cm(c);
    return c;
}

choice choose(const verbs_api& api, const endpoint_config& config)
{
    if (count_devices(api) == 0)
        return { false, "this machine has no RDMA device" };
    try {
        checked(config);
        const address own = resolve_addresses(config).own;
        return { true,
                 own.text() + " lies on the RDMA device " +
                     find_device(api, own, config).device };
    } catch (const std::exception& e) {
        const std::string why = e.what();
        return { false, why.substr(0, why.find('\n')) };
    }
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
