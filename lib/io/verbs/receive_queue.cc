/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/receive_queue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::size_t chain = 32; // work requests in one call
constexpr int most_pieces = 3;    // GRH, header, ring
constexpr int batch = 32;
constexpr std::uint64_t life_shift = 48;

} // namespace

receive_queue::receive_queue(session& s, transport& t)
    : d_session(s),
      d_transport(t),
      d_slots(s.config.recv_depth),
      d_done(s.config.recv_depth)
{
}

void receive_queue::attach(const mem::region& ring, const mem::region& headers) noexcept
{
    d_ring = ring;
    d_headers = headers;
}

void receive_queue::bind(bool repost) noexcept
{
    d_bound = true;
    if (repost) {
        ++d_life;
        d_posted = d_finished;
        work_completion stale[batch];
        while (d_transport.recv_cq.poll(stale, batch) > 0) {
        }
    }
    post_pending();
}

bool receive_queue::fits(const recv_slot& slot) const noexcept
{
    const std::uint32_t header = d_session.config.header_bytes;
    if (slot.offset > d_ring.bytes || slot.bytes > d_ring.bytes - slot.offset)
        return false;
    return header == 0 || (slot.header_offset <= d_headers.bytes &&
                           header <= d_headers.bytes - slot.header_offset);
}

std::size_t receive_queue::post(const recv_slot* slots, std::size_t n) noexcept
{
    std::size_t taken = 0;
    for (; taken < n && d_taken < d_slots.size(); ++taken) {
        ++d_taken;
        if (!fits(slots[taken])) {
            completion bad;
            bad.cookie = slots[taken].cookie;
            bad.status = wc_status::access_error;
            finish(bad);
            continue;
        }
        d_slots[d_accepted++ % d_slots.size()] = slots[taken];
    }
    if (d_bound)
        post_pending();
    return taken;
}

int receive_queue::pieces(const recv_slot& slot, ibv_sge* out) const noexcept
{
    int n = 0;
    if (d_session.config.service == service_type::ud)
        out[n++] = d_transport.grh_piece();
    if (d_session.config.header_bytes != 0) {
        const mem::region& r = d_headers;
        out[n].addr = (r.host ? reinterpret_cast<std::uintptr_t>(r.host) : r.address) +
                      slot.header_offset;
        out[n].length = d_session.config.header_bytes;
        out[n++].lkey = d_transport.headers().lkey();
    }
    if (slot.bytes != 0) { // 0 means 2^31 to some devices
        const mem::region& r = d_ring;
        out[n].addr =
            (r.host ? reinterpret_cast<std::uintptr_t>(r.host) : r.address) + slot.offset;
        out[n].length = slot.bytes;
        out[n++].lkey = d_transport.ring().lkey();
    }
    return n;
}

void receive_queue::post_pending() noexcept
{
    ibv_recv_wr requests[chain];
    ibv_sge scatter[chain * most_pieces];
    while (d_posted != d_accepted) {
        const std::size_t n = std::min<std::uint64_t>(chain, d_accepted - d_posted);
        for (std::size_t i = 0; i < n; ++i) {
            ibv_recv_wr& r = requests[i];
            r.wr_id = d_life << life_shift | (d_posted + i) % d_slots.size();
            r.sg_list = scatter + i * most_pieces;
            r.num_sge = pieces(d_slots[(d_posted + i) % d_slots.size()], r.sg_list);
            r.next = i + 1 < n ? &requests[i + 1] : nullptr;
        }
        ibv_recv_wr* refused = nullptr;
        const int rc = ibv_post_recv(d_transport.qp(), requests, &refused);
        if (rc == 0) {
            d_posted += n;
            continue;
        }
        d_posted += refused ? static_cast<std::uint64_t>(refused - requests) : 0;
        // A queue pair in error refuses, too, and that has been said already.
        if (!d_session.over() && !d_session.stopped.load())
            d_session.fail(text_of(d_session.names()) + ": ibv_post_recv failed: " +
                           std::strerror(rc > 0 ? rc : errno));
        return;
    }
}

bool receive_queue::harvest() noexcept
{
    while (d_bound && d_finished != d_posted) {
        work_completion done[batch];
        const int n = d_transport.recv_cq.poll(done, batch);
        if (n < 0) {
            d_session.fail(text_of(d_session.names()) +
                           ": the completion queue of the receives is broken");
            break;
        }
        for (int i = 0; i < n; ++i)
            complete(done[i]);
        if (n < batch)
            break;
    }
    return d_done_first != d_done_end;
}

// Receives of one queue pair finish in the order in which they were posted.
void receive_queue::complete(const work_completion& wc) noexcept
{
    if (d_finished == d_posted || wc.wr_id >> life_shift != d_life)
        return;
    if (wc.status == IBV_WC_WR_FLUSH_ERR && d_keep_flushed)
        return;
    completion c;
    c.cookie = d_slots[d_finished % d_slots.size()].cookie;
    c.time_ns = wc.time_ns;
    c.status = status_of(wc.status);
    ++d_finished;
    if (wc.status == IBV_WC_SUCCESS) {
        deliver(c, wc);
    } else if (wc.status == IBV_WC_WR_FLUSH_ERR) {
        d_session.counts.requests_flushed.add();
        if (!d_session.over() && !d_session.stopped.load() &&
            !d_session.broken.exchange(true))
            d_session.watcher.wake();
    } else {
        // rxe has no length error for a receive. Its others cannot be: the slot was
        // checked before it was posted.
        if (wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR ||
            wc.status == IBV_WC_REM_INV_REQ_ERR) {
            c.status = wc_status::length_error;
            d_session.counts.dropped_length.add();
        }
        if (!d_session.over())
            d_session.fail(completion_words(
                wc.status, wc.vendor_error, false, 0, d_session.names()));
    }
    finish(c);
}

void receive_queue::deliver(completion& c, const work_completion& wc) noexcept
{
    io::counters& counts = d_session.counts;
    const bool datagram = d_session.config.service == service_type::ud;
    c.bytes = datagram ? wc.bytes - std::min(wc.bytes, grh_bytes) : wc.bytes;
    c.has_immediate = wc.has_immediate;
    c.immediate = wc.immediate;
    if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
        c.opcode = wc_opcode::write_immediate;
    } else {
        c.opcode = wc.has_immediate ? wc_opcode::send_immediate : wc_opcode::send;
        c.header_bytes = std::min(c.bytes, d_session.config.header_bytes);
    }
    c.sequence = d_sequence++;
    if (d_gap) {
        c.lost.reason = gap_reason::reconnect;
        counts.gaps.add();
        d_gap = false;
    }
    counts.messages_received.add();
    counts.bytes_received.add(c.bytes);
    if (d_finished == d_accepted)
        counts.receive_queue_empty.add();
    d_session.heard();
}

void receive_queue::start_over() noexcept
{
    harvest(); // what the old peer had sent is part of the stream
    d_keep_flushed = false;
    d_gap = true;
    d_sequence = 0;
    bind(true);
}

void receive_queue::finish(const completion& c) noexcept
{
    d_done[d_done_end++ % d_done.size()] = c;
}

std::size_t receive_queue::take(completion* out, std::size_t max) noexcept
{
    std::size_t n = 0;
    for (; n < max && d_done_first != d_done_end; ++n)
        out[n] = d_done[d_done_first++ % d_done.size()];
    d_taken -= n;
    return n;
}

void receive_queue::flush() noexcept
{
    for (; d_finished != d_accepted; ++d_finished) {
        completion c;
        c.cookie = d_slots[d_finished % d_slots.size()].cookie;
        c.status = wc_status::flushed;
        d_session.counts.requests_flushed.add();
        finish(c);
    }
    d_posted = d_finished;
    d_bound = false;
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
