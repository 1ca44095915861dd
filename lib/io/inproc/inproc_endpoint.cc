/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/inproc/inproc_endpoint.h"

#include "io/inproc/link.h"

#include <algorithm>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace inproc {

namespace {

constexpr std::int64_t longest_wait_ns = INT64_C(1) << 60; // keeps sums in range

// Move up to max items out of a queue; keeps the count that waiters look at.
template <typename T>
std::size_t
take(std::deque<T>& queue, std::atomic<std::size_t>& count, T* out, std::size_t max)
{
    std::size_t n = 0;
    for (; n < max && !queue.empty(); ++n) {
        out[n] = queue.front();
        queue.pop_front();
    }
    count.store(queue.size(), std::memory_order_release);
    return n;
}

} // namespace

inproc_endpoint::inproc_endpoint(const endpoint_config& config) : d_config(config)
{
    if (config.source.empty() || config.connect.empty())
        throw config_error(
            std::string(config.source.empty() ? "source" : "connect") +
            " is missing: an inproc endpoint needs its own name and its peer's");
    if (config.source == config.connect)
        throw config_error("source and connect are both '" + config.source +
                           "'; an inproc endpoint and its peer need two names");
    if (config.service == service_type::ud)
        throw config_error(
            "service='ud' is not possible on endpoint='inproc'; use rc or uc");
    if (config.rate_bytes != 0)
        throw config_error(
            "rate is not possible on endpoint='inproc', which does not pace");
    if (config.recv_depth == 0 || config.send_depth == 0)
        throw config_error("recv_depth and send_depth must be at least 1");
    d_link = link::find(config.source, config.connect);
    d_side = std::make_shared<side>(d_config);
}

inproc_endpoint::~inproc_endpoint() { stop(); }

void inproc_endpoint::attach(const mem::region& ring, const mem::region& headers)
{
    if (ring.bytes != 0 && !ring.host)
        throw config_error(
            "memory: the inproc endpoint writes with the CPU, which cannot store "
            "into this memory; use a host ring");
    std::lock_guard<std::mutex> lock(d_link->mutex);
    d_side->ring = ring;
    d_side->headers = headers;
}

void inproc_endpoint::open() { d_link->reserve(d_side); }

void inproc_endpoint::start()
{
    open();
    d_link->join(d_side);
}

std::size_t inproc_endpoint::post_recv(const recv_slot* slots, std::size_t n) noexcept
{
    std::lock_guard<std::mutex> lock(d_link->mutex);
    if (d_side->stopped.load())
        return 0;
    std::size_t taken = 0;
    for (; taken < n && d_side->receives < d_config.recv_depth; ++taken) {
        d_side->slots.push_back(slots[taken]);
        ++d_side->receives;
    }
    d_link->transfer();
    return taken;
}

std::size_t inproc_endpoint::poll(completion* out, std::size_t max) noexcept
{
    if (d_side->ready.load(std::memory_order_acquire) == 0)
        return 0;
    std::lock_guard<std::mutex> lock(d_link->mutex);
    const std::size_t n = take(d_side->completions, d_side->ready, out, max);
    d_side->receives -= n;
    return n;
}

bool inproc_endpoint::wait(core::doorbell& bell,
                           const std::atomic<std::size_t>& count,
                           std::int64_t timeout_ns) noexcept
{
    const endpoint_state before = state();
    const auto ready = [&] { return count.load(std::memory_order_acquire) != 0; };
    bell.wait([&] { return ready() || state() != before || d_side->stopped.load(); },
              std::min(timeout_ns, longest_wait_ns));
    return ready();
}

bool inproc_endpoint::wait_readable(std::int64_t timeout_ns) noexcept
{
    return wait(d_side->readable, d_side->ready, timeout_ns);
}

std::size_t inproc_endpoint::post_send(const send_request* requests,
                                       std::size_t n) noexcept
{
    std::lock_guard<std::mutex> lock(d_link->mutex);
    const endpoint_state now = d_side->state.load();
    if (now == endpoint_state::closed || now == endpoint_state::failed ||
        d_side->stopped.load())
        return 0;
    std::size_t taken = 0;
    for (; taken < n && d_side->sends < d_config.send_depth; ++taken) {
        d_side->requests.push_back(requests[taken]);
        ++d_side->sends;
    }
    d_link->transfer();
    return taken;
}

std::size_t inproc_endpoint::poll_send(send_completion* out, std::size_t max) noexcept
{
    if (d_side->done_ready.load(std::memory_order_acquire) == 0)
        return 0;
    std::lock_guard<std::mutex> lock(d_link->mutex);
    const std::size_t n = take(d_side->done, d_side->done_ready, out, max);
    d_side->sends -= n;
    return n;
}

bool inproc_endpoint::wait_sendable(std::int64_t timeout_ns) noexcept
{
    return wait(d_side->sendable, d_side->done_ready, timeout_ns);
}

gap inproc_endpoint::trailing_gap() const noexcept
{
    std::lock_guard<std::mutex> lock(d_link->mutex);
    return d_side->lost;
}

endpoint_state inproc_endpoint::state() const noexcept { return d_side->state.load(); }

std::string inproc_endpoint::status_text() const
{
    std::lock_guard<std::mutex> lock(d_link->mutex);
    return d_side->why;
}

std::string inproc_endpoint::description() const
{
    return std::string("inproc ") + to_string(d_config.service) + " '" + d_config.source +
           "' <-> '" + d_config.connect + "'";
}

const io::counters& inproc_endpoint::counters() const noexcept { return d_side->counts; }

void inproc_endpoint::stop() noexcept { d_link->leave(d_side); }

} // namespace inproc
} // namespace io
} // namespace rdma
} // namespace gr
