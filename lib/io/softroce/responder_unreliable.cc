/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The responder's UC and UD half, and what it knows of losses.
#include "io/softroce/responder.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

// So many late or stray packets in a row are a sender that started again elsewhere.
constexpr unsigned restart_run = 16;

} // namespace

void responder::on_request_uc(const wire::packet& p, std::int64_t now_ns) noexcept
{
    const wire::opcode_traits& t = wire::traits(p.bth.opcode);
    if (!lengths_fit(p, t)) {
        d_counts.dropped_length.add();
        return;
    }
    if (!follow_psn_uc(p, t.starts))
        return;
    if (t.starts) {
        if (d_in_message) { // the sender gave its message up
            d_counts.messages_dropped_incomplete.add();
            drop_message(gap_reason::packet_loss);
        }
        d_skipping = false;
        if (!open_message(now_ns)) {
            d_counts.messages_dropped_no_slot.add();
            drop_message(gap_reason::no_slot);
            d_skipping = !t.ends;
            return;
        }
        if (t.is_write && !write_is_allowed(p)) {
            d_counts.dropped_access.add();
            drop_message(gap_reason::access_error);
            d_skipping = !t.ends;
            return;
        }
        d_lost = sized(p.bth.psn);
    } else if (!d_in_message) {
        // The rest of a message that was dropped, or a packet that belongs to none.
        (d_lost ? d_counts.packets_discarded : d_counts.dropped_opcode).add();
        return;
    } else if (t.is_write != d_writing) { // it leaves a hole
        d_counts.dropped_opcode.add();
        d_counts.messages_dropped_incomplete.add();
        drop_message(gap_reason::packet_loss);
        d_skipping = !t.ends;
        return;
    }
    if (!accept_payload(p)) {
        d_counts.dropped_length.add();
        drop_message(gap_reason::length_error);
        d_skipping = !t.ends;
        d_odd_length = true;
        return;
    }
    d_counts.packets_received.add();
    if (!t.ends)
        return;
    d_boundary = d_expected;
    d_last_bytes = d_received;
    finish_message(p, t);
}

void responder::on_datagram(const wire::packet& p, std::int64_t now_ns) noexcept
{
    const wire::opcode_traits& t = wire::traits(p.bth.opcode);
    if (p.deth.qkey != d_config.qkey) {
        d_counts.dropped_qkey.add();
        return;
    }
    d_heard = true;
    const auto lose = [&](gap_reason reason) {
        drop_message(reason);
        d_lost.messages_known = d_lost.bytes_known = true;
        ++d_lost.messages;
        d_lost.bytes += p.payload_bytes;
    };
    const bool too_long = p.payload_bytes > d_config.mtu;
    if (!too_long && !open_message(now_ns)) {
        d_counts.messages_dropped_no_slot.add();
        lose(gap_reason::no_slot);
        return;
    }
    if (too_long || !accept_payload(p)) {
        d_counts.dropped_length.add();
        lose(gap_reason::length_error);
        return;
    }
    d_counts.packets_received.add();
    finish_message(p, t);
}

// Spec vol. 1, 9.8.2.2.1: an unexpected PSN ends the current message; the expected PSN
// follows the sender. Late packets are dropped instead, so that reordering costs one
// message, not two; so are strays, until they look like a sender that started again.
bool responder::follow_psn_uc(const wire::packet& p, bool starts) noexcept
{
    const std::int32_t ahead = wire::psn::distance(d_expected, p.bth.psn);
    if (ahead != 0 && !d_heard) {
        drop_message(gap_reason::late_start);
        d_skipping = !starts;
    } else if (ahead < 0 || is_far(ahead)) {
        d_late_run = p.bth.psn == d_late_next ? d_late_run + 1 : 1;
        d_late_next = p.bth.psn + 1;
        if (d_late_run < restart_run || !starts) {
            (is_far(ahead) ? d_counts.dropped_psn : d_counts.duplicates).add();
            return false;
        }
        if (d_in_message)
            d_counts.messages_dropped_incomplete.add();
        drop_message(gap_reason::reconnect);
        d_lost.reason = gap_reason::reconnect;
    } else if (ahead > 0) {
        d_counts.packets_lost.add(static_cast<std::uint64_t>(ahead));
        if (d_in_message || (!starts && !d_skipping))
            d_counts.messages_dropped_incomplete.add();
        drop_message(gap_reason::packet_loss);
        d_skipping = !starts;
    }
    d_late_run = 0;
    d_heard = true;
    d_expected = p.bth.psn + 1;
    return true;
}

void responder::drop_message(gap_reason reason) noexcept
{
    d_in_message = false;
    if (!d_lost)
        d_lost.reason = reason;
}

// The lost messages are taken to have the length of the last delivered one if their
// packets divide evenly; else nothing is claimed.
gap responder::sized(wire::psn end) const noexcept
{
    gap g;
    g.reason = d_lost.reason;
    if (!g || d_odd_length || g.reason == gap_reason::reconnect ||
        g.reason == gap_reason::late_start)
        return g;
    const std::int32_t packets = wire::psn::distance(d_boundary, end);
    const std::int64_t each =
        static_cast<std::int64_t>((d_last_bytes + d_config.mtu - 1) / d_config.mtu);
    if (packets <= 0 || each == 0 || packets % each != 0)
        return g;
    g.messages = static_cast<std::uint64_t>(packets / each);
    g.bytes = g.messages * d_last_bytes;
    g.messages_known = g.bytes_known = true;
    return g;
}

gap responder::pending_gap() const noexcept
{
    if (d_config.service == service_type::ud)
        return d_lost;
    if (!d_in_message)
        return sized(d_expected);
    gap g; // a message began and never ended
    g.reason = d_lost ? d_lost.reason : gap_reason::packet_loss;
    return g;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
