/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_checks.h"

#include "core/sizes.h"
#include "mem/ring_cursor.h"
#include "reconnect_policy.h"

#include <climits>
#include <cmath>
#include <gnuradio/rdma/error.h>
#include <string>

namespace gr {
namespace rdma {

namespace {
constexpr std::uint64_t longest_message = 1ULL << 30;
constexpr std::size_t longest_header = 65536;
} // namespace

std::size_t item_bytes(const source_config& c, core::sample_type sample)
{
    if (c.vlen == 0)
        throw config_error("vlen=0 is no vector length; use 1 or more");
    const std::size_t most = INT_MAX / core::sample_bytes(sample); // GNU Radio's
    if (c.vlen > most)
        throw config_error("vlen=" + std::to_string(c.vlen) +
                           " makes an item of more than 2 GiB; use 1 to " +
                           std::to_string(most));
    return core::sample_bytes(sample) * c.vlen;
}

std::uint64_t slot_items(const source_config& c, std::size_t item)
{
    if (c.message_bytes == 0 || c.message_bytes % item != 0) {
        const std::size_t below = c.message_bytes / item * item;
        throw config_error("message_bytes=" + std::to_string(c.message_bytes) +
                           " is no multiple of the item, " + std::to_string(item) +
                           " bytes (sample=" + c.sample +
                           ", vlen=" + std::to_string(c.vlen) + "); use " +
                           (below ? std::to_string(below) + " or " : "") +
                           std::to_string(below + item));
    }
    if (c.message_bytes > longest_message)
        throw config_error("message_bytes=" + std::to_string(c.message_bytes) +
                           " is above the longest message, " +
                           std::to_string(longest_message));
    if (c.buffers < 2)
        throw config_error("buffers=" + std::to_string(c.buffers) +
                           ": the ring needs at least 2, one to fill and one to read");
    const std::uint64_t items = c.message_bytes / item;
    if (items * c.buffers > mem::ring_index::max_size)
        throw config_error(
            "buffers=" + std::to_string(c.buffers) +
            " of message_bytes=" + std::to_string(c.message_bytes) + " make " +
            std::to_string(items * c.buffers) + " items; GNU Radio counts at most " +
            std::to_string(mem::ring_index::max_size) + ": use " +
            (items <= mem::ring_index::max_size / 2
                 ? "at most buffers=" +
                       std::to_string(mem::ring_index::max_size / items) + ", or "
                 : "a shorter message, or ") +
            "a longer item (vlen)");
    return items;
}

mem::host_ring_config ring_config(const source_config& c, std::uint64_t slots)
{
    mem::host_ring_config r;
    r.unit_bytes = c.message_bytes;
    r.min_bytes = c.message_bytes * slots;
    return r;
}

std::optional<mem::route> route_setting(const source_config& c)
{
    const std::optional<mem::route> forced = mem::parse_route(c.route);
    if (!forced)
        return forced;
    if (c.memory == "host")
        throw config_error("route='" + c.route +
                           "': memory='host' is written as it is, and has no route into "
                           "a GPU; use memory='cuda:0', or route='auto'");
    if (*forced != mem::route::staged &&
        (c.endpoint == "softroce" || c.endpoint == "inproc"))
        throw config_error("route='" + c.route + "': endpoint='" + c.endpoint +
                           "' has no NIC that could write into a GPU; use "
                           "endpoint='verbs', or route='staged' or auto");
    return forced;
}

void check_rate(double rate)
{
    if (!(rate >= 0) || std::isinf(rate))
        throw config_error("rate=" + core::number_text(rate, 15) +
                           " is no sample rate; use samples per second, or 0 if unknown");
}

void check_freq(double freq)
{
    if (!std::isfinite(freq))
        throw config_error("freq=" + core::number_text(freq, 15) +
                           " is no centre frequency; use Hz, or 0 if unknown");
}

io::endpoint_config endpoint_settings(const source_config& c)
{
    if (c.header_bytes > longest_header)
        throw config_error("header_bytes=" + std::to_string(c.header_bytes) +
                           " is above the longest header, " +
                           std::to_string(longest_header));
    check_rate(c.rate);
    check_freq(c.freq);
    parse_reconnect(c.reconnect);
    io::endpoint_config e;
    e.endpoint = c.endpoint;
    e.service = io::parse_service(c.service);
    if (e.service == io::service_type::ud && c.qpn == 0 && !c.connect.empty() &&
        c.endpoint != "inproc")
        throw config_error("connect='" + c.connect +
                           "' with service='ud': datagrams are sent to who listens, so a "
                           "receiver cannot "
                           "call; give listen, or qpn and source");
    e.device = c.device;
    e.gid_index = c.gid_index;
    e.ib_port = c.ib_port;
    e.source = c.source;
    e.connect = c.connect;
    e.listen = c.listen;
    e.qpn = c.qpn;
    e.remote_qpn = c.remote_qpn;
    e.psn = c.psn;
    e.remote_psn = c.remote_psn;
    e.qkey = c.qkey;
    e.group = c.group;
    e.mtu = c.mtu;
    e.peers = c.peers;
    e.rkey = c.rkey;
    e.wait = io::parse_wait(c.wait);
    e.receive = io::parse_receive(c.receive);
    e.pump_cpu = c.pump_cpu;
    e.header_bytes = static_cast<std::uint32_t>(c.header_bytes);
    e.message_bytes = c.message_bytes + c.header_bytes;
    const auto api = mem::system_mapping_api();
    e.recv_depth = static_cast<std::uint32_t>(
        mem::host_ring_bytes(ring_config(c, c.buffers), api.page_bytes) /
        c.message_bytes);
    return e;
}

source_tags::config
tag_settings(const source_config& c, core::sample_type sample, std::size_t item)
{
    source_tags::config t;
    t.every = c.tag_every;
    t.rate = c.rate;
    t.freq = c.freq;
    t.sample_bytes = core::sample_bytes(sample);
    t.item_bytes = item;
    t.slot_items = c.message_bytes / item;
    return t;
}

} // namespace rdma
} // namespace gr
