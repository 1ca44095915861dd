/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_impl.h"

#include "core/clock.h"
#include "core/sizes.h"
#include "readers.h"
#include "source_checks.h"

#include <algorithm>
#include <cmath>
#include <gnuradio/block_detail.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/ring_buffer.h>

namespace gr {
namespace rdma {

namespace {

constexpr std::size_t header_alignment = 64;
constexpr std::size_t poll_batch = 64;
constexpr std::int64_t longest_wait_ns = 50000000;
// While most slots are waiting to be read, look again soon: each one freed should be
// posted.
constexpr std::int64_t shortest_wait_ns = 500000;
// GNU Radio asks for this much for any reader; more means that a reader needs it.
constexpr std::size_t usual_buffer_bytes = 65536;

} // namespace

source::sptr source::make(const source_config& config)
{
    return gnuradio::make_block_sptr<source_impl>(config);
}

source_impl::source_impl(const source_config& config)
    : gr::block(
          "rdma_source",
          gr::io_signature::make(0, 0, 0),
          gr::io_signature::make(1,
                                 1,
                                 item_bytes(config, core::parse_sample(config.sample)),
                                 ring_buffer::type)),
      d_config(config),
      d_sample(core::parse_sample(config.sample)),
      d_item_bytes(item_bytes(config, d_sample)),
      d_slot_items(slot_items(config, d_item_bytes)),
      d_endpoint_config(endpoint_settings(config)),
      d_ring(config),
      d_tags(tag_settings(config, d_sample, d_item_bytes), alias_pmt()),
      d_reconnect(parse_reconnect(config.reconnect), !config.connect.empty())
{
    io::make_endpoint(d_endpoint_config); // a wrong connection is refused here already
    d_endpoint_config.log = [this](core::log_level level, const std::string& text) {
        log(level, text);
    };
    message_port_register_out(pmt::mp("status"));
}

source_impl::~source_impl() { stop(); }

std::shared_ptr<mem::ring_memory>
source_impl::output_ring(int, std::size_t item, std::size_t min_items)
{
    std::uint64_t slots = d_config.buffers;
    if (min_items * item > usual_buffer_bytes)
        slots = std::max<std::uint64_t>(slots, min_items / d_slot_items + 2);
    const auto endpoint = session();
    try {
        if (d_ring.make(slots, endpoint ? endpoint->registrar() : nullptr)) {
            d_tags.set_device(d_ring.device());
            if (endpoint)
                attach(*endpoint);
        }
    } catch (...) { // the next start makes another one, which gets the memory
        std::lock_guard<std::mutex> lock(d_mutex);
        d_endpoint = nullptr;
        throw;
    }
    return d_ring.memory();
}

std::uint64_t source_impl::header_stride() const
{
    return core::round_up(d_config.header_bytes, header_alignment);
}

void source_impl::post_free_slots(io::endpoint& endpoint)
{
    int space = 0;
    {
        gr::thread::scoped_lock lock(*d_buffer->mutex());
        space = d_buffer->space_available();
    }
    const std::uint64_t free_slots = static_cast<std::uint64_t>(space) / d_slot_items;
    std::uint64_t n = d_cursor.claimable(free_slots);
    while (n-- != 0) {
        io::recv_slot slot;
        slot.cookie = d_cursor.head_slot();
        slot.offset = slot.cookie * d_config.message_bytes;
        slot.bytes = static_cast<std::uint32_t>(d_config.message_bytes);
        slot.header_offset = slot.cookie * header_stride();
        if (endpoint.post_recv(&slot, 1) != 1)
            break; // as many as the endpoint takes at a time
        d_cursor.claim();
    }
}

int source_impl::general_work(int,
                              gr_vector_int&,
                              gr_vector_const_void_star&,
                              gr_vector_void_star&)
{
    if (!d_buffer || !d_failure.empty())
        return finish();
    if (gpu_failed())
        return finish();
    if (readers_are_done(*d_buffer)) // part of a slot may fit for ever
        return WORK_DONE;
    publish_status(core::monotonic_ns());
    if (d_waiting) {
        renew_session();
        return come_again();
    }
    const auto endpoint = session();
    if (!endpoint)
        return finish();
    post_free_slots(*endpoint);

    io::completion done[poll_batch];
    std::size_t n = endpoint->poll(done, poll_batch);
    if (n == 0) {
        // Ask for the state first: what arrived before it changed is still to be polled.
        const io::endpoint_state state = endpoint->state();
        const bool ended = state == io::endpoint_state::closed ||
                           state == io::endpoint_state::failed ||
                           state == io::endpoint_state::idle;
        if (!ended)
            endpoint->wait_readable(2 * d_cursor.outstanding() >= d_cursor.slots()
                                        ? longest_wait_ns
                                        : shortest_wait_ns);
        n = endpoint->poll(done, poll_batch);
        if (n == 0) {
            const bool failed = state == io::endpoint_state::failed;
            if (!ended)
                return come_again();
            if (state == io::endpoint_state::idle || !d_reconnect.goes_on(failed))
                return finish();
            end_session();
            lose_session(failed, status_text());
            return come_again();
        }
    }
    note_gpu(d_ring.make_visible());
    std::uint64_t items = 0;
    const std::uint64_t start = nitems_written(0);
    for (std::size_t i = 0; i < n; ++i)
        if (deliver(done[i], start + items))
            items += d_slot_items;
    if (gpu_failed())
        return finish();
    for (const tag_t& tag : d_new_tags)
        add_item_tag(0, tag);
    d_new_tags.clear();
    produce(0, static_cast<int>(items));
    return WORK_CALLED_PRODUCE;
}

// With nothing made. GNU Radio takes a source that made nothing for one that waits for
// input, and would let it sleep for 250 ms.
int source_impl::come_again()
{
    gr::thread::scoped_lock lock(detail()->d_tpb.mutex);
    detail()->d_tpb.input_changed = true;
    return 0;
}

// False if the completion brought no message. Completions come in the order of posting.
bool source_impl::deliver(const io::completion& done, std::uint64_t offset)
{
    if (done.status != io::wc_status::success)
        return false; // flushed at the end: the slot is posted no more
    source_tags::message m;
    m.done = done;
    m.slot = d_cursor.retire();
    m.bytes = done.bytes - done.header_bytes;
    m.address =
        d_ring.memory()->first_mapping().address + m.slot * d_config.message_bytes;
    m.header = d_headers.data() + m.slot * header_stride();
    m.header_bytes = done.header_bytes;
    if (d_restarted && !m.done.lost)
        m.done.lost.reason = io::gap_reason::reconnect;
    d_restarted = false;
    d_reconnect.note_success();

    const std::uint64_t whole = m.bytes / d_item_bytes * d_item_bytes;
    if (whole != m.bytes && d_odd_messages++ == 0)
        log(core::log_level::warn,
            "a message of " + std::to_string(m.bytes) + " bytes is no whole number of " +
                std::to_string(d_item_bytes) +
                "-byte items; the part behind the last whole item is left out of the "
                "stream "
                "(counter messages_odd)");
    if (whole != d_config.message_bytes)
        note_gpu(d_ring.zero(m.slot * d_config.message_bytes + whole,
                             d_config.message_bytes - whole));
    {
        gr::thread::scoped_lock lock(d_setlock);
        d_tags.make(m, offset, d_new_tags);
    }
    d_status.note_latency(static_cast<double>(core::realtime_ns() - done.time_ns) * 1e-3);
    return true;
}

// An error of the GPU ends the stream: what readers get would be anything.
bool source_impl::gpu_failed()
{
    const int code =
        d_gpu_code != 0 || !d_ring.gpu() ? d_gpu_code : device_error_of(*d_buffer);
    if (code == 0)
        return false;
    const std::string why = d_ring.describe_failure(code);
    std::lock_guard<std::mutex> lock(d_mutex);
    d_failure = why;
    return true;
}

// The stream is over: say why, once.
int source_impl::finish()
{
    if (!d_end_logged) {
        d_end_logged = true;
        end_session();
        const bool failed = state() == io::to_string(io::endpoint_state::failed);
        log(failed ? core::log_level::error : core::log_level::info,
            (failed ? "stream failed: " : "stream ended: ") + status_text());
        publish_status(INT64_MAX);
    }
    return WORK_DONE;
}

void source_impl::set_rate(double rate)
{
    check_rate(rate);
    gr::thread::scoped_lock lock(d_setlock);
    d_tags.set_rate(rate);
}

void source_impl::set_freq(double freq)
{
    check_freq(freq);
    gr::thread::scoped_lock lock(d_setlock);
    d_tags.set_freq(freq);
}

} // namespace rdma
} // namespace gr
