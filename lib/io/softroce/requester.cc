/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/requester.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr double smallest_window = 4;
constexpr double first_window = 16;
// Time-outs double up to this, so that a peer that is not there yet is asked gently.
constexpr std::int64_t longest_timeout_ns = 500000000;

// Opcode by place in the message: [starts][ends], then with immediate.
wire::operation operation_at(bool write, bool starts, bool ends, bool immediate) noexcept
{
    using op = wire::operation;
    if (starts && ends)
        return write ? (immediate ? op::write_only_immediate : op::write_only)
                     : (immediate ? op::send_only_immediate : op::send_only);
    if (ends)
        return write ? (immediate ? op::write_last_immediate : op::write_last)
                     : (immediate ? op::send_last_immediate : op::send_last);
    if (starts)
        return write ? op::write_first : op::send_first;
    return write ? op::write_middle : op::send_middle;
}

wire::service wire_service(service_type s) noexcept
{
    return s == service_type::rc   ? wire::service::rc
           : s == service_type::uc ? wire::service::uc
                                   : wire::service::ud;
}

} // namespace

requester::requester(const requester_config& config,
                     std::size_t depth,
                     request_queue& requests,
                     done_queue& done,
                     counters& counts)
    : d_config(config),
      d_requests(requests),
      d_done(done),
      d_counts(counts),
      d_flight(depth),
      d_most(std::max<double>(smallest_window, config.window_bytes / config.mtu)),
      d_window(std::min(first_window, d_most))
{
}

bool requester::load_message() noexcept
{
    if (d_count == d_flight.size())
        return false;
    send_request request;
    if (!d_requests.pop(request))
        return false;
    message& m = at(d_oldest + d_count);
    m.request = request;
    m.first = d_loaded;
    m.packets =
        std::max<std::uint64_t>(1, (request.bytes + d_config.mtu - 1) / d_config.mtu);
    m.outcome = wc_status::success;
    // A datagram is one packet, and cannot WRITE.
    if (d_config.service == service_type::ud && (m.packets > 1 || request.write)) {
        m.packets = 0;
        m.outcome = wc_status::length_error;
    }
    d_loaded += m.packets;
    ++d_count;
    return true;
}

// Where the responder says that it has no receive for a message, only its first packet
// goes, as the question for more (spec vol. 1, 9.7.7.2.5).
bool requester::lacks_credit() const noexcept
{
    return d_config.service == service_type::rc && d_cursor >= d_credit_limit;
}

bool requester::window_open() const noexcept
{
    return d_config.service != service_type::rc ||
           static_cast<double>(d_next - d_una) < d_window;
}

void requester::move_cursor() noexcept
{
    while (d_cursor < d_oldest + d_count &&
           d_next >= at(d_cursor).first + at(d_cursor).packets)
        ++d_cursor;
}

bool requester::next(outgoing& out, std::int64_t now_ns) noexcept
{
    if (d_failure != wc_status::success || now_ns < d_rnr_ns || !window_open())
        return false;
    while (d_next == d_loaded) {
        if (!load_message())
            return false;
    }
    move_cursor();
    if (lacks_credit() && d_next != d_una)
        return false;
    const bool again = d_next < d_highest;
    if (d_config.rate_bytes > 0 && !again) {
        if (d_tokens_ns == INT64_MIN)
            d_tokens_ns = now_ns;
        // A burst of one millisecond, at least 64 KiB: what a scheduler tick costs.
        const double depth = std::max(65536.0, d_config.rate_bytes * 1e-3);
        d_tokens = std::min(
            depth, d_tokens + d_config.rate_bytes * 1e-9 * double(now_ns - d_tokens_ns));
        d_tokens_ns = now_ns;
        if (d_tokens < 0)
            return false;
    }
    const message& m = at(d_cursor);
    fill(out, m, d_next);
    out.again = again;
    if (!again)
        d_tokens -= static_cast<double>(out.packet.payload_bytes);
    else
        d_counts.retransmissions.add();
    d_counts.packets_sent.add();
    ++d_next;
    move_cursor();
    d_highest = std::max(d_highest, d_next);
    if (d_timer_ns == INT64_MAX && out.packet.bth.ack_request)
        d_timer_ns = now_ns + timeout_ns();
    return true;
}

// At the end of a message, four times a window, where the window closes, and where
// retransmission ends: new packets behind that may be long in coming.
bool requester::wants_acknowledge(std::uint64_t packet) const noexcept
{
    return static_cast<double>(packet + 1 - d_una) >= d_window - 0.5 ||
           packet + 1 - d_ack_asked >= static_cast<std::uint64_t>(d_window / 4) + 1 ||
           packet + 1 == d_highest;
}

void requester::fill(outgoing& out, const message& m, std::uint64_t packet) noexcept
{
    const std::uint64_t k = packet - m.first;
    const bool starts = k == 0;
    const bool ends = k + 1 == m.packets;
    const std::uint64_t offset = k * d_config.mtu;
    wire::packet& p = out.packet;
    p.payload = m.request.data + offset;
    p.payload_bytes = std::min<std::uint64_t>(d_config.mtu, m.request.bytes - offset);
    p.immediate = m.request.immediate;
    p.bth.opcode = wire::make_opcode(
        wire_service(d_config.service),
        operation_at(m.request.write, starts, ends, m.request.has_immediate));
    p.deth = { d_config.qkey, d_config.own_qpn };
    p.reth = { m.request.remote_address,
               m.request.rkey,
               static_cast<std::uint32_t>(m.request.bytes) };
    p.bth.pad = static_cast<std::uint8_t>((4 - p.payload_bytes % 4) % 4);
    p.bth.dest_qpn = d_config.dest_qpn;
    p.bth.psn = d_config.first_psn + static_cast<std::uint32_t>(packet & wire::psn::mask);
    p.bth.ack_request = false;
    if (d_config.service == service_type::rc) {
        p.bth.ack_request = ends || lacks_credit() || wants_acknowledge(packet);
        if (p.bth.ack_request)
            d_ack_asked = packet + 1;
    }
}

bool requester::handed_over() noexcept
{
    if (d_config.service == service_type::rc)
        return false;
    d_una = d_next;
    bool any = false;
    while (d_count != 0 && at(d_oldest).first + at(d_oldest).packets <= d_una) {
        finish_oldest(at(d_oldest).outcome);
        any = true;
    }
    return any;
}

bool requester::on_acknowledge(const wire::packet& p, std::int64_t now_ns) noexcept
{
    d_counts.acks_received.add();
    if (d_config.service != service_type::rc || d_failure != wc_status::success)
        return false;
    // An ACK covers its PSN; a NAK covers what stands before it.
    const bool is_ack = p.aeth.kind == wire::aeth_kind::ack;
    const wire::psn una =
        d_config.first_psn + static_cast<std::uint32_t>(d_una & wire::psn::mask);
    const wire::psn next = is_ack ? p.bth.psn + 1 : p.bth.psn;
    const std::int32_t ahead = wire::psn::distance(una, next);
    // An old one, or one for what was never sent.
    if (ahead < 0 || static_cast<std::uint64_t>(ahead) + !is_ack > d_highest - d_una) {
        if (!d_heard && d_highest != 0)
            d_elsewhere = next;
        return false;
    }
    d_heard = true;
    const std::uint64_t upto = d_una + static_cast<std::uint64_t>(ahead);
    bool any = acknowledge_below(upto, now_ns);
    switch (p.aeth.kind) {
    case wire::aeth_kind::ack: {
        // The MSN counts completed messages, and so do we: d_oldest, give or take those
        // whose acknowledgement this one is.
        const std::uint64_t credits = wire::credits_of(p.aeth.value);
        const std::int32_t done = wire::psn::distance(
            wire::psn(static_cast<std::uint32_t>(d_oldest & 0xffffff)),
            wire::psn(p.aeth.msn));
        d_credit_limit =
            credits == UINT64_MAX
                ? credits
                : d_oldest + static_cast<std::uint64_t>(std::max(0, done)) + credits;
        // What is on its way may ask for no answer, and nothing that does may follow.
        if (lacks_credit() && d_next != d_una && d_timer_ns == INT64_MAX)
            d_timer_ns = now_ns + timeout_ns();
        break;
    }
    case wire::aeth_kind::rnr_nak:
        d_counts.rnr_naks_received.add();
        if (d_config.rnr_retry != 7 && ++d_rnr_retries > d_config.rnr_retry) {
            fail(wc_status::rnr_exceeded);
            return true;
        }
        go_back(upto);
        d_rnr_ns = now_ns + wire::rnr_timer_ns(p.aeth.value);
        d_timer_ns = INT64_MAX;
        break;
    default:
        if (p.aeth.kind == wire::aeth_kind::nak &&
            p.aeth.value ==
                static_cast<std::uint8_t>(wire::nak_code::psn_sequence_error)) {
            d_counts.sequence_naks_received.add();
            note_loss();
            go_back(upto);
        } else {
            fail(wc_status::remote_error);
            any = true;
        }
    }
    return any;
}

bool requester::acknowledge_below(std::uint64_t packet, std::int64_t now_ns) noexcept
{
    if (packet == d_una)
        return false;
    const double acked = static_cast<double>(packet - d_una);
    d_window += d_window < d_threshold ? acked : acked / d_window;
    d_window = std::min(d_window, d_most);
    d_una = packet;
    if (d_next < d_una) { // acknowledged what was about to be sent again
        d_next = d_una;
        d_cursor = std::max(d_cursor, d_oldest);
    }
    d_retries = 0;
    d_rnr_retries = 0;
    d_timer_ns = d_ack_asked <= d_una ? INT64_MAX : now_ns + timeout_ns();
    bool any = false;
    while (d_count != 0 && at(d_oldest).first + at(d_oldest).packets <= d_una) {
        finish_oldest(wc_status::success);
        any = true;
    }
    return any;
}

void requester::go_back(std::uint64_t packet) noexcept
{
    d_next = packet;
    d_cursor = d_oldest;
    d_ack_asked = packet;
}

void requester::note_loss() noexcept
{
    if (d_una < d_recover)
        return;
    d_recover = d_highest;
    d_threshold = std::max(smallest_window, d_window / 2);
    d_window = d_threshold;
}

std::int64_t requester::timeout_ns() const noexcept
{
    const unsigned doublings = std::min(d_retries, 3u);
    return std::min(d_config.ack_timeout_ns << doublings,
                    std::max(longest_timeout_ns, d_config.ack_timeout_ns));
}

bool requester::on_time(std::int64_t now_ns) noexcept
{
    if (d_failure != wc_status::success) {
        const bool late = !d_requests.empty(); // posted before the failure was known
        abort(wc_status::flushed);
        return late;
    }
    if (now_ns < d_timer_ns)
        return false;
    d_counts.timeouts.add();
    ++d_retries;
    if (d_retries > d_config.retry_count && (d_heard || !d_config.wait_for_peer)) {
        fail(wc_status::retry_exceeded);
        return true;
    }
    note_loss();
    go_back(d_una);
    d_timer_ns = now_ns + timeout_ns();
    return false;
}

std::int64_t requester::ready_in(std::int64_t now_ns) const noexcept
{
    if (d_failure != wc_status::success)
        return d_requests.empty() ? INT64_MAX : 0;
    std::int64_t when = d_timer_ns;
    const bool more =
        d_next < d_loaded || (d_count < d_flight.size() && !d_requests.empty());
    const bool no_credit = lacks_credit() && d_next != d_una;
    if (more && window_open() && !no_credit) {
        std::int64_t send = std::max(now_ns, d_rnr_ns);
        const bool paced = d_config.rate_bytes > 0 && d_next >= d_highest;
        if (paced && d_tokens < 0)
            send = std::max(
                send,
                d_tokens_ns + 1 +
                    static_cast<std::int64_t>(-d_tokens / d_config.rate_bytes * 1e9));
        when = std::min(when, send);
    }
    return when == INT64_MAX ? when : std::max<std::int64_t>(0, when - now_ns);
}

void requester::finish_oldest(wc_status status) noexcept
{
    const message& m = at(d_oldest);
    if (status == wc_status::success) {
        d_counts.messages_sent.add();
        d_counts.bytes_sent.add(m.request.bytes);
    }
    d_done.push(send_completion{ m.request.cookie, status });
    ++d_oldest;
    --d_count;
    d_cursor = std::max(d_cursor, d_oldest);
}

void requester::fail(wc_status status) noexcept
{
    d_failure = status;
    d_timer_ns = INT64_MAX;
    if (d_count != 0)
        finish_oldest(status); // the first says why
    abort(wc_status::flushed);
}

void requester::abort(wc_status status) noexcept
{
    if (d_failure == wc_status::success)
        d_failure = status;
    while (d_count != 0)
        finish_oldest(status);
    send_request request;
    while (d_requests.pop(request))
        d_done.push(send_completion{ request.cookie, status });
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
