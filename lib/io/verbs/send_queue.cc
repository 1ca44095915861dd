/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/send_queue.h"

#include "core/clock.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <exception>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::size_t chain = 16; // work requests in one call
constexpr int batch = 32;
constexpr std::uint64_t probe_id = UINT64_MAX;
// A sender that was late catches up by no more than this.
constexpr std::int64_t most_late_ns = 2000000;

} // namespace

send_queue::send_queue(session& s, transport& t)
    : d_session(s), d_transport(t), d_records(s.config.send_depth)
{
}

void send_queue::bind() noexcept
{
    d_bound = true;
    post_pending();
}

void send_queue::set_peer(ah_handle ah, std::uint32_t qpn, std::uint32_t qkey) noexcept
{
    d_ah = std::move(ah);
    d_remote_qpn = qpn;
    d_remote_qkey = qkey;
}

void send_queue::probe() noexcept
{
    if (!d_bound || d_sign == sign::pending)
        return;
    ibv_send_wr wr{};
    wr.wr_id = probe_id;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* refused = nullptr;
    d_sign =
        ibv_post_send(d_transport.qp(), &wr, &refused) == 0 ? sign::pending : sign::none;
}

void send_queue::unbind() noexcept
{
    work_completion stale[batch];
    while (d_transport.send_cq.poll(stale, batch) > 0) {
    }
    d_bound = false;
    d_sign = sign::none;
}

std::size_t send_queue::post(const send_request* requests, std::size_t n) noexcept
{
    std::size_t taken = 0;
    for (; taken < n && d_accepted - d_taken < d_records.size(); ++taken) {
        record& r = at(d_accepted++);
        r.request = requests[taken];
        r.done = false;
    }
    if (d_bound)
        post_pending();
    return taken;
}

std::uint32_t send_queue::pool_lkey()
{
    if (d_pool.empty()) {
        std::vector<std::byte> pool(d_records.size() * copied_bytes);
        mem::region r;
        r.host = pool.data();
        r.bytes = pool.size();
        d_pool_memory = register_memory(d_transport.api(),
                                        d_transport.pd(),
                                        r,
                                        IBV_ACCESS_LOCAL_WRITE,
                                        "the pool for short messages",
                                        0);
        d_pool.swap(pool);
    }
    return d_pool_memory.lkey();
}

// False if there is nothing to send from: an empty message.
bool send_queue::find_memory(std::uint64_t n, ibv_sge& piece)
{
    record& r = at(n);
    const send_request& q = r.request;
    piece.length = static_cast<std::uint32_t>(q.bytes);
    piece.addr = reinterpret_cast<std::uintptr_t>(q.data);
    if (q.bytes == 0)
        return false;
    const auto base = d_ring.host ? reinterpret_cast<std::uintptr_t>(d_ring.host)
                                  : static_cast<std::uintptr_t>(d_ring.address);
    if (d_ring.bytes != 0 && piece.addr >= base && q.bytes <= d_ring.bytes &&
        piece.addr - base <= d_ring.bytes - q.bytes) {
        piece.lkey = d_transport.ring().lkey();
    } else if (q.bytes <= copied_bytes) {
        piece.lkey = pool_lkey();
        std::byte* const place = d_pool.data() + n % d_records.size() * copied_bytes;
        std::memcpy(place, q.data, q.bytes);
        piece.addr = reinterpret_cast<std::uintptr_t>(place);
    } else {
        mem::region m;
        m.host = const_cast<std::byte*>(q.data);
        m.bytes = q.bytes;
        r.memory = register_memory(
            d_transport.api(), d_transport.pd(), m, 0, "a message to send", 0);
        piece.lkey = r.memory.lkey();
    }
    return true;
}

// False: not to be posted, it has failed here.
bool send_queue::prepare(std::uint64_t n, ibv_send_wr& wr, ibv_sge& piece) noexcept
{
    record& r = at(n);
    const send_request& q = r.request;
    const bool datagram = d_session.config.service == service_type::ud;
    wr = ibv_send_wr();
    if (datagram && q.bytes > d_transport.mtu()) {
        finish(r, wc_status::length_error);
        return false;
    }
    try {
        wr.num_sge = find_memory(n, piece) ? 1 : 0;
    } catch (const std::exception& e) {
        d_session.fail(text_of(d_session.names()) + ": " + e.what());
        finish(r, wc_status::access_error);
        return false;
    }
    wr.wr_id = n;
    wr.sg_list = &piece;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.opcode = q.write
                    ? (q.has_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE)
                    : (q.has_immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND);
    if (q.has_immediate)
        wr.imm_data = htonl(q.immediate);
    if (q.write) {
        wr.wr.rdma.remote_addr = q.remote_address;
        wr.wr.rdma.rkey = q.rkey;
    } else if (datagram) {
        wr.wr.ud.ah = d_ah.get();
        wr.wr.ud.remote_qpn = d_remote_qpn;
        wr.wr.ud.remote_qkey = d_remote_qkey;
    }
    return true;
}

void send_queue::pace(std::uint64_t bytes, std::int64_t now_ns) noexcept
{
    if (d_session.config.rate_bytes <= 0)
        return;
    d_due_ns = std::max(d_due_ns, now_ns - most_late_ns) +
               static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 /
                                         d_session.config.rate_bytes);
}

void send_queue::post_pending() noexcept
{
    ibv_send_wr requests[chain];
    ibv_sge pieces[chain];
    while (d_posted != d_accepted && !d_session.over()) {
        const std::int64_t now_ns =
            d_session.config.rate_bytes > 0 ? core::monotonic_ns() : 0;
        std::size_t n = 0;
        std::uint64_t next = d_posted;
        for (; next != d_accepted && n < chain; ++next) {
            if (d_session.config.rate_bytes > 0 && d_due_ns > now_ns)
                break;
            if (!prepare(next, requests[n], pieces[n]))
                continue;
            pace(at(next).request.bytes, now_ns);
            if (n != 0)
                requests[n - 1].next = &requests[n];
            ++n;
        }
        if (next == d_posted)
            break;
        ibv_send_wr* refused = nullptr;
        const int rc = n == 0 ? 0 : ibv_post_send(d_transport.qp(), requests, &refused);
        if (rc == 0) {
            d_posted = next;
            continue;
        }
        d_posted = refused ? refused->wr_id : d_posted;
        if (!d_session.over() && !d_session.stopped.load())
            d_session.fail(text_of(d_session.names()) + ": ibv_post_send failed: " +
                           std::strerror(rc > 0 ? rc : errno));
        break;
    }
    retire();
    if (d_session.config.rate_bytes > 0) {
        const std::int64_t next = d_posted != d_accepted ? d_due_ns : INT64_MAX;
        if (next < d_next_due_ns.exchange(next, std::memory_order_relaxed))
            d_session.watcher.wake();
    }
}

bool send_queue::harvest() noexcept
{
    while (d_bound && outstanding() != 0) {
        work_completion done[batch];
        const int n = d_transport.send_cq.poll(done, batch);
        if (n < 0) {
            d_session.fail(text_of(d_session.names()) +
                           ": the completion queue of the sends is broken");
            break;
        }
        for (int i = 0; i < n; ++i)
            complete(done[i]);
        if (n < batch)
            break;
    }
    if (d_session.over())
        flush_unposted();
    else if (d_bound)
        post_pending();
    return d_taken != d_completed;
}

void send_queue::complete(const work_completion& wc) noexcept
{
    if (wc.wr_id == probe_id) {
        d_sign = wc.status == IBV_WC_SUCCESS ? sign::alive : sign::dead;
        return;
    }
    if (wc.wr_id < d_completed || wc.wr_id >= d_posted)
        return;
    record& r = at(wc.wr_id);
    if (wc.status == IBV_WC_SUCCESS) {
        d_session.counts.messages_sent.add();
        d_session.counts.bytes_sent.add(r.request.bytes);
        d_session.heard();
    } else if (wc.status == IBV_WC_WR_FLUSH_ERR) {
        d_session.counts.requests_flushed.add();
    } else if (!d_session.over()) {
        d_session.fail(completion_words(
            wc.status, wc.vendor_error, true, r.request.bytes, d_session.names()));
    }
    finish(r, status_of(wc.status));
    retire();
}

void send_queue::finish(record& r, wc_status status) noexcept
{
    r.memory = registration();
    r.status = status;
    r.done = true;
}

void send_queue::retire() noexcept
{
    while (d_completed != d_posted && at(d_completed).done)
        ++d_completed;
}

std::size_t send_queue::take(send_completion* out, std::size_t max) noexcept
{
    std::size_t n = 0;
    for (; n < max && d_taken != d_completed; ++n, ++d_taken) {
        const record& r = at(d_taken);
        out[n].cookie = r.request.cookie;
        out[n].status = r.status;
    }
    return n;
}

void send_queue::flush_unposted() noexcept
{
    for (; d_posted != d_accepted; ++d_posted) {
        d_session.counts.requests_flushed.add();
        finish(at(d_posted), wc_status::flushed);
    }
    retire();
}

void send_queue::flush() noexcept
{
    for (std::uint64_t n = d_completed; n != d_posted; ++n)
        if (!at(n).done) {
            d_session.counts.requests_flushed.add();
            finish(at(n), wc_status::flushed);
        }
    flush_unposted();
    d_next_due_ns.store(INT64_MAX, std::memory_order_relaxed);
    d_bound = false;
    d_sign = sign::none;
    d_ah.reset();
    d_pool_memory = registration();
    d_pool.clear();
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
