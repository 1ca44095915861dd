/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The pump's receiving half where payloads are scattered straight into the ring.
#include "core/clock.h"
#include "io/softroce/device.h"

#include <algorithm>
#include <cstring>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

// Whose packets are expected next: whoever had the last one, else anybody who is
// connected.
queue_pair* device::expected() noexcept
{
    if (d_last && d_last->open_for_data())
        return d_last;
    for (queue_pair* qp : d_qps)
        if (qp->open_for_data())
            return qp;
    return nullptr;
}

// The packet that stands at place \p i of the guess, if it is the right one.
bool device::take_in_place(std::size_t i, guess& g, wire::packet& p) noexcept
{
    queue_pair& qp = *g.qp;
    const std::byte* header = nullptr;
    const std::byte* payload = nullptr;
    std::size_t payload_bytes = 0;
    if (g.ended || !d_scatter->as_guessed(i, header, payload, payload_bytes) ||
        wire::parse(header, wire::bth_bytes + wire::icrc_bytes, p) !=
            wire::parse_status::ok)
        return false;
    const wire::opcode_traits& t = wire::traits(p.bth.opcode);
    const wire::ip_address source = d_scatter->source(i);
    if (!t.is_send || t.header_bytes != wire::bth_bytes || p.bth.pad != 0 ||
        !wire::in_default_partition(p.bth.pkey) || p.bth.dest_qpn != qp.qpn ||
        t.starts == g.inside || p.bth.psn != g.psn || source != qp.peer_address)
        return false;
    const wire::udp_flow flow{
        source, d_socket.address(), d_scatter->source_port(i), wire::roce_udp_port
    };
    if (!qp.icrc.right(flow, header, wire::bth_bytes, payload, payload_bytes, p.icrc))
        return false;
    p.payload = payload;
    p.payload_bytes = payload_bytes;
    g.inside = true;
    g.ended = t.ends;
    ++g.psn;
    return true;
}

bool device::receive_scattered() noexcept
{
    guess g;
    responder::landing place;
    g.qp = expected();
    if (g.qp)
        place = g.qp->rx->next_landing();
    const std::size_t n = d_scatter->read(place.at, place.room, place.mtu);
    const bool grouped = n == 0 && receive_groups(); // not while the guess holds
    if (n == 0) {
        if (grouped)
            after_reading();
        return grouped;
    }
    const std::int64_t now = core::realtime_ns();
    g.inside = place.inside;
    g.psn = place.psn;
    wire::packet right[scatter_reader::batch];
    std::size_t leading = 0;
    while (leading < n && place.at && take_in_place(leading, g, right[leading]))
        ++leading;
    // Before anything is delivered: what lies where it does not belong leaves the ring.
    const std::byte* others[scatter_reader::batch];
    for (std::size_t i = leading; i < n; ++i)
        others[i] = d_scatter->gather(i);
    for (std::size_t i = 0; i < leading; ++i) {
        g.qp->counts.icrc_checked.add();
        deliver(*g.qp, right[i], now);
    }
    for (std::size_t i = leading; i < n; ++i) {
        datagrams one;
        one.data = others[i];
        one.bytes = one.each = d_scatter->bytes(i);
        one.source = d_scatter->source(i);
        one.source_port = d_scatter->source_port(i);
        if (one.bytes > longest_datagram)
            count_at_all(&counters::dropped_length);
        else
            dispatch(one, nullptr, now);
    }
    after_reading();
    return true;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
