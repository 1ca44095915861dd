/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/static_connection.h"

#include "core/clock.h"
#include "io/verbs/device_finder.h"

#include <cstring>
#include <exception>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::int64_t retry_ns = 200000000;
constexpr std::uint32_t multicast_qpn = 0xffffff;

} // namespace

void static_connection::start(const address& own, const address& peer)
{
    d_own = own;
    d_peer = peer;
    const endpoint_config& c = d_session.config;
    d_remote_qpn = peer.is_multicast() ? multicast_qpn
                   : c.ask_remote_qpn  ? c.ask_remote_qpn()
                                       : c.remote_qpn;
    if (d_remote_qpn == 0 && c.service == service_type::rc)
        throw config_error(
            "remote_qpn is missing: an RC connection needs the peer's QPN");
    attempt();
}

int static_connection::connect(std::uint8_t gid_index, std::uint32_t mtu)
{
    const endpoint_config& c = d_session.config;
    const ibv_gid peer = d_peer ? d_peer.gid() : d_own.gid();
    if (!d_ready) {
        const int code = d_transport.connect_static(peer, gid_index, d_remote_qpn, mtu);
        if (code != 0)
            return code;
        d_ready = true;
    }
    if (c.service != service_type::ud || !d_peer || d_remote_qpn == 0)
        return 0;
    const std::uint8_t hops = d_peer.is_multicast() ? c.multicast_ttl : 64;
    try {
        ah_handle ah =
            d_transport.make_ah(d_transport.ah_attributes(peer, gid_index, hops));
        std::lock_guard<std::mutex> lock(d_sends.mutex);
        d_sends.set_peer(std::move(ah), d_remote_qpn, c.qkey);
    } catch (const os_error& e) {
        return e.code().value();
    }
    return 0;
}

void static_connection::attempt()
{
    const endpoint_config& c = d_session.config;
    const gid_row row = find_device(d_api, d_own, c);
    const int code = connect(static_cast<std::uint8_t>(row.entry.gid_index),
                             plan_mtu(c.mtu, d_transport.facts()));
    char qpn[16];
    std::snprintf(qpn, sizeof qpn, "0x%x", d_transport.qpn());
    const std::string peer = c.connect.empty() ? "a sender" : c.connect;
    if (code != 0) {
        d_deadline_ns = core::monotonic_ns() + retry_ns;
        d_session.set_text("waiting for the address of " + peer + " (" +
                           std::strerror(code) + "): is it up, and is there a route?");
        return;
    }
    d_deadline_ns = INT64_MAX;
    d_session.set_text("waiting for " + peer + " to speak to queue pair " + qpn);
    std::lock_guard<std::mutex> lock(d_sends.mutex);
    d_sends.bind();
}

void static_connection::on_deadline() noexcept
{
    d_deadline_ns = INT64_MAX;
    try {
        attempt();
    } catch (const std::exception& e) {
        d_session.fail(text_of(d_session.names()) + ": " + e.what());
    }
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
