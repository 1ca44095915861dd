/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.source: the connection's life.
#include "source_impl.h"

#include "core/clock.h"
#include "core/sizes.h"
#include "source_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <gnuradio/block_detail.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/ring_buffer.h>
#include <thread>

namespace gr {
namespace rdma {

namespace {

constexpr std::int64_t longest_nap_ns = 20000000; // stop() waits for it
// A peer that comes and goes must not fill the log.
constexpr std::int64_t shortest_log_ns = 1000000000;

} // namespace

std::shared_ptr<io::endpoint> source_impl::session() const
{
    std::lock_guard<std::mutex> lock(d_mutex);
    return d_endpoint;
}

bool source_impl::check_topology(int, int)
{
    if (session())
        return true; // opened by an earlier check, not started yet
    std::shared_ptr<io::endpoint> fresh = io::make_endpoint(d_endpoint_config);
    fresh->open();
    if (d_ring)
        attach(*fresh);
    std::lock_guard<std::mutex> lock(d_mutex);
    d_endpoint = fresh;
    d_failure.clear();
    return true;
}

void source_impl::attach(io::endpoint& endpoint)
{
    const std::uint64_t slots = d_ring.bytes() / d_config.message_bytes;
    mem::region headers;
    if (d_config.header_bytes != 0) {
        d_headers.resize(slots * header_stride());
        headers.host = d_headers.data();
        headers.bytes = d_headers.size();
    }
    d_ring.attach(endpoint, headers);
}

bool source_impl::start()
{
    try {
        begin();
    } catch (const std::exception& e) {
        // GNU Radio would hang: work() ends the stream and says why.
        std::lock_guard<std::mutex> lock(d_mutex);
        d_failure = e.what();
    }
    return block::start();
}

void source_impl::begin()
{
    const auto endpoint = session();
    d_buffer = dynamic_cast<ring_buffer*>(detail()->output(0).get());
    if (!endpoint || !d_buffer)
        throw std::logic_error("start() without a checked flowgraph");
    d_buffer->serve_host_readers();
    const std::uint64_t slots = d_buffer->bufsize() / d_slot_items;
    const std::uint64_t kept =
        (d_buffer->max_preload() + d_slot_items - 1) / d_slot_items;
    if (kept >= slots)
        throw config_error("buffers=" + std::to_string(d_config.buffers) +
                           " are too few for a reader with a history of " +
                           std::to_string(d_buffer->max_preload() + 1) +
                           " items; use at least " + std::to_string(kept + 2));
    d_cursor = mem::ring_cursor(slots);
    {
        gr::thread::scoped_lock lock(d_setlock);
        d_tags.restart();
    }
    d_end_logged = false;
    d_gpu_code = 0;
    d_next_status_ns = 0;
    d_waiting = false;
    d_reconnect.note_success();
    connect(*endpoint);
    log(core::log_level::info,
        endpoint->description() + ", ring of " + std::to_string(slots) + " x " +
            core::human_bytes(d_config.message_bytes) + " " + d_ring.text());
}

// Nothing is posted: begin with the slot that the stream comes to next.
void source_impl::connect(io::endpoint& endpoint)
{
    {
        gr::thread::scoped_lock lock(*d_buffer->mutex());
        d_cursor.reset(d_buffer->write_offset_bytes() / d_config.message_bytes);
    }
    post_free_slots(endpoint);
    endpoint.start();
}

bool source_impl::stop()
{
    // Readers may have been told of it first, and have ended the stream.
    note_gpu(d_ring.gpu_error());
    if (d_buffer && gpu_failed())
        finish();
    end_session();
    d_buffer = nullptr;
    d_waiting = false;
    return block::stop();
}

void source_impl::end_session()
{
    // It stays to be looked at until its totals are kept: counters never go back.
    const std::shared_ptr<io::endpoint> ended = session();
    if (!ended)
        return;
    const io::endpoint_state last = ended->state();
    const std::string text = ended->status_text();
    ended->stop();
    keep_totals(*ended, last, with_trailing_gap(text, *ended));
    d_restarted = true;
}

// The connection is over and the policy says that the stream is not.
void source_impl::lose_session(bool failed, const std::string& why)
{
    const std::int64_t delay = d_reconnect.next_delay_ns();
    const std::int64_t now = core::monotonic_ns();
    d_next_attempt_ns = now + delay;
    d_waiting = true;
    std::string text =
        why + (d_config.connect.empty() ? "; listening again" : "; connecting again");
    if (delay != 0) {
        char when[32];
        std::snprintf(when, sizeof when, " in %.1f s", static_cast<double>(delay) * 1e-9);
        text += when;
    }
    if (d_reconnect.is_news() && now >= d_next_log_ns) {
        d_next_log_ns = now + shortest_log_ns;
        log(failed ? core::log_level::warn : core::log_level::info,
            d_reconnect.in_a_row() == 1
                ? text
                : text + " (attempt " + std::to_string(d_reconnect.in_a_row()) + ")");
    }
    std::lock_guard<std::mutex> lock(d_mutex);
    d_end_state = io::endpoint_state::connecting;
    d_end_text = text;
}

void source_impl::renew_session()
{
    const std::int64_t left = d_next_attempt_ns - core::monotonic_ns();
    if (left > 0) {
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(std::min(left, longest_nap_ns)));
        return;
    }
    ++d_reconnects;
    try {
        std::shared_ptr<io::endpoint> fresh = io::make_endpoint(d_endpoint_config);
        fresh->open();
        attach(*fresh);
        connect(*fresh);
        d_waiting = false;
        std::lock_guard<std::mutex> lock(d_mutex);
        d_endpoint = fresh;
    } catch (const std::exception& e) { // the address may come back, the port be free
        lose_session(true, e.what());
    }
}

void source_impl::keep_totals(const io::endpoint& ended,
                              io::endpoint_state last,
                              const std::string& text)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    const bool ended_itself =
        last == io::endpoint_state::closed || last == io::endpoint_state::failed;
    d_end_state = ended_itself ? last : io::endpoint_state::idle;
    d_end_text = ended_itself ? text : "";
    d_end_description = ended.description();
    ended.counters().for_each([this](const char* name, const char*, std::uint64_t value) {
        d_totals[name] += value;
    });
    d_endpoint.reset();
}

} // namespace rdma
} // namespace gr
