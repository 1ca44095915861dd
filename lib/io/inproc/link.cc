/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/inproc/link.h"

#include "core/clock.h"

#include <algorithm>
#include <cstring>
#include <gnuradio/rdma/error.h>
#include <map>
#include <utility>

namespace gr {
namespace rdma {
namespace io {
namespace inproc {

bool side::fits(const recv_slot& slot) const noexcept
{
    if (slot.offset > ring.bytes || slot.bytes > ring.bytes - slot.offset)
        return false;
    return config.header_bytes == 0 ||
           (slot.header_offset <= headers.bytes &&
            config.header_bytes <= headers.bytes - slot.header_offset);
}

void side::set_state(endpoint_state next, const std::string& text)
{
    why = text;
    state.store(next, std::memory_order_release);
    readable.ring();
    sendable.ring();
}

void side::complete(const completion& c)
{
    completions.push_back(c);
    ready.store(completions.size(), std::memory_order_release);
    readable.ring();
}

void side::finish_send(wc_status status)
{
    const send_request r = requests.front();
    requests.pop_front();
    if (status == wc_status::success) {
        counts.messages_sent.add();
        counts.bytes_sent.add(r.bytes);
    }
    done.push_back({ r.cookie, status });
    done_ready.store(done.size(), std::memory_order_release);
    sendable.ring();
}

void side::flush_sends()
{
    while (!requests.empty())
        finish_send(wc_status::flushed);
}

std::shared_ptr<link> link::find(const std::string& a, const std::string& b)
{
    using key = std::pair<std::string, std::string>;
    static std::mutex registry_mutex;
    static auto* links =
        new std::map<key, std::weak_ptr<link>>; // outlives static destructors
    std::lock_guard<std::mutex> lock(registry_mutex);
    for (auto i = links->begin(); i != links->end();)
        i = i->second.expired() ? links->erase(i) : std::next(i);
    std::weak_ptr<link>& known = (*links)[a < b ? key(a, b) : key(b, a)];
    auto found = known.lock();
    if (!found)
        known = found = std::make_shared<link>();
    return found;
}

void link::reserve(const std::shared_ptr<side>& s)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (s->stopped.load())
        throw config_error("the endpoint was stopped; make a new one");
    std::shared_ptr<side>& place = d_sides[s->config.source < s->config.connect ? 0 : 1];
    if (place && place != s)
        throw config_error("source='" + s->config.source +
                           "' is in use by another inproc endpoint with connect='" +
                           s->config.connect + "'; names must differ");
    place = s;
}

void link::join(const std::shared_ptr<side>& s)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (s->state.load() != endpoint_state::idle)
        throw config_error("the endpoint was started before; make a new one");
    s->set_state(endpoint_state::connecting,
                 "waiting for inproc peer '" + s->config.connect + "'");
    if (!both(endpoint_state::connecting)) // nor with one whose peer has left
        return;
    for (const auto& end : d_sides)
        end->set_state(endpoint_state::connected, "");
    transfer();
}

bool link::both(endpoint_state state) const noexcept
{
    for (const auto& end : d_sides)
        if (!end || end->state.load() != state)
            return false;
    return true;
}

void link::leave(const std::shared_ptr<side>& s)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (s->stopped.load())
        return;
    const bool was_connected = both(endpoint_state::connected);
    const int own = s->config.source < s->config.connect ? 0 : 1;
    side* peer = nullptr;
    if (d_sides[own] == s) {
        d_sides[own].reset();
        peer = was_connected ? d_sides[1 - own].get() : nullptr;
    }
    for (; !s->slots.empty(); s->slots.pop_front()) {
        completion c;
        c.cookie = s->slots.front().cookie;
        c.status = wc_status::flushed;
        s->complete(c);
    }
    s->flush_sends();
    s->stopped.store(true);
    const endpoint_state before = s->state.load();
    if (before != endpoint_state::failed && before != endpoint_state::closed)
        s->set_state(endpoint_state::idle, "");
    s->readable.ring();
    s->sendable.ring();
    if (peer) {
        peer->flush_sends();
        peer->set_state(endpoint_state::closed,
                        "inproc peer '" + s->config.source + "' stopped");
    }
}

void link::transfer()
{
    if (!both(endpoint_state::connected))
        return;
    for (const int from : { 0, 1 })
        while (transfer_one(*d_sides[from], *d_sides[1 - from])) {
        }
}

bool link::transfer_one(side& from, side& to)
{
    if (from.requests.empty() || from.state.load() != endpoint_state::connected)
        return false;
    const std::uint64_t bytes = from.requests.front().bytes;
    const bool reliable = from.config.service == service_type::rc;
    while (!to.slots.empty() && !to.fits(to.slots.front())) {
        completion bad;
        bad.cookie = to.slots.front().cookie;
        bad.status = wc_status::access_error;
        to.slots.pop_front();
        to.complete(bad);
    }
    if (to.slots.empty()) {
        if (!reliable) {
            to.counts.messages_dropped_no_slot.add();
            lose(to, gap_reason::no_slot, bytes);
            from.finish_send(wc_status::success);
            return true;
        }
        if (!to.starved) {
            to.counts.rnr_naks_sent.add();
            from.counts.rnr_naks_received.add();
        }
        to.starved = true;
        return false;
    }
    to.starved = false;
    if (bytes <= std::uint64_t(to.slots.front().bytes) + to.config.header_bytes) {
        deliver(from.requests.front(), to);
        from.finish_send(wc_status::success);
        return true;
    }
    to.counts.dropped_length.add();
    if (!reliable) {
        lose(to, gap_reason::length_error, bytes);
        from.finish_send(wc_status::success);
        return true;
    }
    from.finish_send(wc_status::remote_error);
    from.flush_sends();
    from.set_state(endpoint_state::failed,
                   "the peer refused a message longer than its message_bytes");
    return false;
}

void link::lose(side& to, gap_reason reason, std::uint64_t bytes)
{
    if (!to.lost)
        to.lost.reason = reason;
    to.lost.messages_known = to.lost.bytes_known = true;
    ++to.lost.messages;
    to.lost.bytes += bytes;
}

void link::deliver(const send_request& r, side& to)
{
    const recv_slot slot = to.slots.front();
    to.slots.pop_front();
    const std::size_t head = std::min<std::uint64_t>(r.bytes, to.config.header_bytes);
    if (head != 0)
        std::memcpy(to.headers.host + slot.header_offset, r.data, head);
    if (r.bytes > head)
        std::memcpy(to.ring.host + slot.offset, r.data + head, r.bytes - head);
    completion c;
    c.cookie = slot.cookie;
    c.bytes = static_cast<std::uint32_t>(r.bytes);
    c.header_bytes = static_cast<std::uint32_t>(head);
    c.opcode = r.has_immediate ? wc_opcode::send_immediate : wc_opcode::send;
    c.has_immediate = r.has_immediate;
    c.immediate = r.immediate;
    c.sequence = to.sequence++;
    c.time_ns = core::realtime_ns();
    c.lost = to.lost;
    if (to.lost)
        to.counts.gaps.add();
    to.lost = gap();
    if (to.slots.empty())
        to.counts.receive_queue_empty.add();
    to.counts.messages_received.add();
    to.counts.bytes_received.add(r.bytes);
    to.complete(c);
}

} // namespace inproc
} // namespace io
} // namespace rdma
} // namespace gr
