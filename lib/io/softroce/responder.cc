/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/responder.h"

#include <algorithm>
#include <cstring>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

// A sender that repeats its first packet has not gone further, and does not wait so long.
constexpr std::int64_t restart_silence_ns = 1000000000;

wire::service wire_service(service_type s) noexcept
{
    switch (s) {
    case service_type::rc:
        return wire::service::rc;
    case service_type::uc:
        return wire::service::uc;
    default:
        return wire::service::ud;
    }
}

} // namespace

responder::responder(const responder_config& config,
                     slot_queue& slots,
                     completion_queue& completions,
                     counters& counts) noexcept
    : d_config(config),
      d_slots(slots),
      d_completions(completions),
      d_counts(counts),
      d_expected(config.first_psn),
      d_boundary(config.first_psn),
      d_last_bytes(config.message_bytes)
{
    if (config.follows_another)
        d_lost.reason = gap_reason::reconnect;
}

void responder::attach(const mem::region& ring, const mem::region& headers) noexcept
{
    d_ring = ring;
    d_headers = headers;
}

bool responder::on_packet(const wire::packet& p, std::int64_t now_ns) noexcept
{
    const wire::opcode_traits& t = wire::traits(p.bth.opcode);
    const auto service = static_cast<std::uint8_t>(wire_service(d_config.service));
    if ((p.bth.opcode & 0xe0) != service || !(t.is_send || t.is_write)) {
        d_counts.dropped_opcode.add();
        return false;
    }
    d_pushed = false;
    switch (d_config.service) {
    case service_type::rc:
        on_request_rc(p, now_ns);
        break;
    case service_type::uc:
        on_request_uc(p, now_ns);
        break;
    case service_type::ud:
        on_datagram(p, now_ns);
        break;
    }
    return d_pushed;
}

// Payload against MTU (spec vol. 1, 9.7.4.1.6): FIRST and MIDDLE carry exactly one MTU,
// LAST at least one byte.
bool responder::lengths_fit(const wire::packet& p,
                            const wire::opcode_traits& t) const noexcept
{
    if (!t.ends)
        return p.payload_bytes == d_config.mtu && p.bth.pad == 0;
    if (!t.starts && p.payload_bytes == 0)
        return false;
    return p.payload_bytes <= d_config.mtu;
}

void responder::on_request_rc(const wire::packet& p, std::int64_t now_ns) noexcept
{
    const wire::opcode_traits& t = wire::traits(p.bth.opcode);
    const std::int32_t ahead = wire::psn::distance(d_expected, p.bth.psn);
    if (is_far(ahead))
        d_counts.dropped_psn.add();
    if (ahead < 0) {
        if (!is_far(ahead)) {
            d_counts.duplicates.add();
            d_ack_due = true; // the acknowledgement may have been lost
            if (t.starts && p.bth.psn == d_config.first_psn &&
                now_ns - d_taken_ns >= restart_silence_ns)
                d_refusal = refusal::begins_again;
        }
        return;
    }
    if (ahead > 0) {
        if (!is_far(ahead))
            d_counts.packets_discarded.add();
        if (!d_nak_sent) {
            d_counts.sequence_naks_sent.add();
            refuse_rc(wire::nak_code::psn_sequence_error, d_refusal);
        }
        return;
    }
    d_heard = true;
    // FIRST inside a message, MIDDLE outside, or SEND inside a WRITE.
    if (t.starts == d_in_message || (!t.starts && t.is_write != d_writing)) {
        d_counts.dropped_opcode.add();
        refuse_rc(wire::nak_code::invalid_request, refusal::sequence);
        return;
    }
    if (!lengths_fit(p, t)) {
        d_counts.dropped_length.add();
        refuse_rc(wire::nak_code::invalid_request, refusal::packet_length);
        return;
    }
    if (t.starts && !open_message(now_ns)) {
        d_counts.rnr_naks_sent.add();
        schedule_nak(wire::aeth_kind::rnr_nak, d_config.rnr_timer);
        return;
    }
    if (t.starts && t.is_write && !write_is_allowed(p)) {
        d_in_message = false;
        d_counts.dropped_access.add();
        refuse_rc(wire::nak_code::remote_access_error, refusal::access);
        return;
    }
    if (!accept_payload(p)) {
        d_in_message = false;
        d_counts.dropped_length.add();
        refuse_rc(wire::nak_code::invalid_request,
                  d_writing ? refusal::sequence : refusal::message_length);
        return;
    }
    d_counts.packets_received.add();
    ++d_expected;
    d_taken_ns = now_ns;
    d_refusal = refusal::none;
    d_nak_sent = false;
    d_nak_due = false;
    d_ack_due = d_ack_due || p.bth.ack_request || t.ends;
    if (t.ends)
        finish_message(p, t);
}

// Looks before a byte is written. A WRITE of nothing needs no key (spec vol.
// 1, 9.7.4.1.4).
bool responder::write_is_allowed(const wire::packet& p) noexcept
{
    d_writing = true;
    d_write_bytes = p.reth.bytes;
    d_write_at = 0;
    if (p.reth.bytes == 0)
        return true;
    if (d_config.rkey == 0 || p.reth.rkey != d_config.rkey ||
        p.reth.address < d_slot.offset || p.reth.address - d_slot.offset > d_slot.bytes ||
        p.reth.bytes > d_slot.bytes - (p.reth.address - d_slot.offset))
        return false;
    d_write_at = p.reth.address - d_slot.offset;
    return true;
}

bool responder::slot_is_inside(const recv_slot& slot) const noexcept
{
    if (slot.offset > d_ring.bytes || slot.bytes > d_ring.bytes - slot.offset)
        return false;
    return d_config.header_bytes == 0 ||
           (slot.header_offset <= d_headers.bytes &&
            d_config.header_bytes <= d_headers.bytes - slot.header_offset);
}

bool responder::open_message(std::int64_t now_ns) noexcept
{
    // A slot outside the memory is the consumer's mistake; it never becomes a write.
    recv_slot* slot = d_slots.front();
    while (slot && !slot_is_inside(*slot)) {
        completion bad;
        bad.cookie = slot->cookie;
        bad.status = wc_status::access_error;
        d_slots.pop();
        d_completions.push(bad);
        d_pushed = true;
        slot = d_slots.front();
    }
    if (!slot)
        return false;
    d_slot =
        *slot; // popped when the message is finished: a dropped message leaves it posted
    d_in_message = true;
    d_writing = false;
    d_received = 0;
    d_started_ns = now_ns;
    return true;
}

bool responder::accept_payload(const wire::packet& p) noexcept
{
    const std::uint64_t most =
        d_writing ? d_write_bytes : std::uint64_t(d_slot.bytes) + d_config.header_bytes;
    if (p.payload_bytes > most - d_received)
        return false;
    if (d_writing && wire::traits(p.bth.opcode).ends &&
        d_received + p.payload_bytes != d_write_bytes)
        return false; // shorter than its RETH said
    if (d_writing && p.payload_bytes != 0)
        std::memcpy(d_ring.host + d_slot.offset + d_write_at + d_received,
                    p.payload,
                    p.payload_bytes);
    else if (!d_writing)
        place(p.payload, p.payload_bytes);
    d_received += p.payload_bytes;
    return true;
}

void responder::place(const std::byte* data, std::size_t bytes) noexcept
{
    std::uint64_t at = d_received;
    if (bytes != 0 && at < d_config.header_bytes) {
        const std::size_t n = std::min<std::uint64_t>(bytes, d_config.header_bytes - at);
        std::memcpy(d_headers.host + d_slot.header_offset + at, data, n);
        data += n;
        bytes -= n;
        at += n;
    }
    if (bytes == 0)
        return;
    std::byte* const to = d_ring.host + d_slot.offset + (at - d_config.header_bytes);
    if (data != to) // else it was read straight into its place
        std::memcpy(to, data, bytes);
}

responder::landing responder::next_landing() noexcept
{
    landing l;
    l.mtu = d_config.mtu;
    l.inside = d_in_message;
    l.psn = d_expected;
    const recv_slot* slot = d_in_message ? &d_slot : d_slots.front();
    // Nor where a WRITE has left what nobody may write over.
    if (!slot || d_written != 0 || (d_in_message && d_writing) ||
        d_config.header_bytes != 0 || d_config.service == service_type::ud ||
        !slot_is_inside(*slot))
        return l;
    const std::uint64_t filled = d_in_message ? d_received : 0;
    l.at = d_ring.host + slot->offset + filled;
    l.room = slot->bytes - filled;
    return l;
}

void responder::finish_message(const wire::packet& p,
                               const wire::opcode_traits& t) noexcept
{
    d_in_message = false;
    d_msn = (d_msn + 1) & 0xffffff;
    if (d_writing) {
        if (d_received != 0)
            d_written = std::max(d_written, d_write_at + d_received);
        if (!t.has_immdt)
            return; // nothing is completed
    }
    completion done;
    done.cookie = d_slot.cookie;
    std::uint64_t bytes = d_writing ? d_written : d_received;
    if (!d_writing && d_written != 0) // a SEND that completes what WRITEs brought
        bytes = std::max(d_written + d_config.header_bytes, d_received);
    done.bytes = static_cast<std::uint32_t>(bytes);
    done.header_bytes = d_writing ? 0
                                  : static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                        d_config.header_bytes, d_received));
    done.has_immediate = t.has_immdt;
    done.opcode = d_writing     ? wc_opcode::write_immediate
                  : t.has_immdt ? wc_opcode::send_immediate
                                : wc_opcode::send;
    done.immediate = p.immediate;
    done.sequence = d_sequence++;
    done.time_ns = d_started_ns;
    done.lost = d_lost;
    if (d_lost)
        d_counts.gaps.add();
    d_lost = gap();
    d_odd_length = false;
    d_written = 0;
    d_counts.messages_received.add();
    d_counts.bytes_received.add(done.bytes);
    d_slots.pop();
    if (d_slots.empty())
        d_counts.receive_queue_empty.add();
    d_completions.push(done); // never full: it holds as many as slots can be posted
    d_pushed = true;
}

void responder::refuse_rc(wire::nak_code code, refusal why) noexcept
{
    if (d_refusal == refusal::none)
        d_refusal = why; // of what follows, the rest is out of place
    schedule_nak(wire::aeth_kind::nak, static_cast<std::uint8_t>(code));
}

void responder::schedule_nak(wire::aeth_kind kind, std::uint8_t value) noexcept
{
    d_nak = wire::aeth{ kind, value, 0 };
    d_nak_due = true;
    d_nak_sent = true;
}

void responder::take_ack(wire::packet& out) noexcept
{
    out.bth.opcode = wire::make_opcode(wire::service::rc, wire::operation::acknowledge);
    if (d_nak_due) {
        out.aeth = d_nak;
        out.bth.psn = d_expected;
    } else {
        out.aeth =
            wire::aeth{ wire::aeth_kind::ack, wire::credit_code(d_slots.size()), 0 };
        out.bth.psn = d_expected - 1;
    }
    out.aeth.msn = d_msn;
    d_nak_due = false;
    d_ack_due = false;
    d_counts.acks_sent.add();
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
