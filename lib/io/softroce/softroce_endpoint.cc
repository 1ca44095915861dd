/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/softroce_endpoint.h"

#include "core/clock.h"
#include "core/sizes.h"
#include "io/softroce/ipv4.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr std::int64_t spin_ns = 10000; // hybrid: look this long before sleeping
constexpr std::int64_t longest_wait_ns = INT64_C(1) << 60; // keeps sums in range
constexpr std::uint32_t most_24_bits = 0xffffff;
constexpr std::uint64_t most_depth = 1 << 20;
constexpr std::uint64_t most_message_bytes = 1 << 30;
constexpr std::int64_t longest_ack_timeout_ns = INT64_C(8796093022208); // code 31 of CMs

void check_24_bits(const char* name, std::uint32_t value)
{
    if (value > most_24_bits)
        throw config_error(std::string(name) + "=" + std::to_string(value) +
                           " has more than 24 bits; 0 to 16777215 are possible");
}

void check_static(const endpoint_config& c)
{
    if (!c.listen.empty() || c.qpn == 0)
        throw config_error("qpn is missing: the softroce endpoint makes static "
                           "connections; give qpn and "
                           "remote_qpn (both sides crosswise), source and connect");
    check_24_bits("qpn", c.qpn);
    check_24_bits("remote_qpn", c.remote_qpn);
    check_24_bits("psn", c.psn);
    check_24_bits("remote_psn", c.remote_psn);
    if (c.qpn == 1)
        throw config_error("qpn=1 is the connection manager's; use 2 to 16777215");
    if (c.remote_qpn == 0 && c.service == service_type::rc)
        throw config_error(
            "remote_qpn is missing: an RC connection needs the peer's QPN");
    if (c.service == service_type::ud)
        throw config_error("service=ud is not possible on a static softroce connection; "
                           "use rc or uc");
    if (c.connect.empty() && c.source.empty())
        throw config_error("source is missing: give the own address to receive on");
    if (c.connect.empty() && c.service == service_type::rc)
        throw config_error(
            "connect is missing: an RC connection needs the peer's address");
    if (c.connect.find(':') != std::string::npos)
        throw config_error("connect='" + c.connect +
                           "' has a port; a static connection has none, RoCEv2 is always "
                           "UDP 4791: give the address alone");
}

void check_range(const char* name,
                 std::uint64_t value,
                 std::uint64_t least,
                 std::uint64_t most)
{
    if (value < least || value > most)
        throw config_error(std::string(name) + "=" + std::to_string(value) +
                           " is out of range; " + std::to_string(least) + " to " +
                           std::to_string(most) + " are possible");
}

void check_common(const endpoint_config& c)
{
    if (!is_path_mtu(c.mtu))
        throw config_error("mtu=" + std::to_string(c.mtu) +
                           " is no path MTU; use 256, 512, 1024, 2048 or 4096");
    check_range("recv_depth", c.recv_depth, 1, most_depth);
    check_range("send_depth", c.send_depth, 1, most_depth);
    check_range("header_bytes", c.header_bytes, 0, most_message_bytes);
    check_range("message_bytes", c.message_bytes, 0, most_message_bytes);
    check_range("rnr_timer", c.rnr_timer, 0, 31);
    check_range("retry_count", c.retry_count, 0, 7);
    check_range("rnr_retry", c.rnr_retry, 0, 7);
    check_range("socket_buffer_bytes", c.socket_buffer_bytes, 4096, 1u << 30);
    if (c.ack_timeout_ns < 1 || c.ack_timeout_ns > longest_ack_timeout_ns)
        throw config_error("ack_timeout_ns=" + std::to_string(c.ack_timeout_ns) +
                           " is out of range; 1 to " +
                           std::to_string(longest_ack_timeout_ns) + " are possible");
    if (!(c.rate_bytes >= 0) || std::isinf(c.rate_bytes))
        throw config_error("rate=" + std::to_string(c.rate_bytes) +
                           " is no rate; give bytes per second, or 0 for no pacing");
}

const endpoint_config& checked(const endpoint_config& c)
{
    check_common(c);
    check_static(c);
    return c;
}

} // namespace

softroce_endpoint::softroce_endpoint(const endpoint_config& config)
    : d_config(checked(config)), d_qp(std::make_unique<queue_pair>(config))
{
}

softroce_endpoint::~softroce_endpoint() { stop(); }

void softroce_endpoint::attach(const mem::region& ring, const mem::region& headers)
{
    if (ring.bytes != 0 && !ring.host)
        throw config_error(
            "memory: the softroce endpoint writes with the CPU, which cannot "
            "store into this memory; use a host ring");
    d_qp->rx.attach(ring, headers);
}

void softroce_endpoint::open()
{
    std::lock_guard<std::mutex> lock(d_mutex);
    open_unlocked();
}

void softroce_endpoint::resolve()
{
    const endpoint_config& c = d_config;
    std::uint32_t& own = d_qp->own_address;
    std::uint32_t& peer = d_qp->peer_address;
    if (!c.connect.empty())
        peer = resolve_ipv4(c.connect, "connect");
    own =
        c.source.empty() ? route_source_ipv4(peer) : resolve_own_ipv4(c.source, "source");
    if (own == peer && c.qpn == c.remote_qpn)
        throw config_error(
            "source and connect are both " + ipv4_text(own) +
            " with qpn=remote_qpn=" + std::to_string(c.qpn) +
            ": a queue pair cannot talk to itself; two programs on one machine "
            "use 127.0.0.1 and 127.0.0.2");
}

void softroce_endpoint::open_unlocked()
{
    if (d_device)
        return;
    if (d_stopped.load())
        throw config_error("the endpoint was stopped; make a new one");
    resolve();
    const auto opened =
        device::open(d_qp->own_address, d_config.socket_buffer_bytes, d_config.wait);
    opened->reserve(*d_qp);
    {
        std::lock_guard<std::mutex> lock(d_send_mutex);
        d_device = opened;
    }
    if (d_config.log && d_device->receive_buffer() / 2 < d_config.socket_buffer_bytes)
        d_config.log(core::log_level::info,
                     "the kernel granted a socket buffer of " +
                         core::human_bytes(d_device->receive_buffer() / 2) + " of the " +
                         core::human_bytes(d_config.socket_buffer_bytes) +
                         " asked for; sysctl -w net.core.rmem_max=" +
                         std::to_string(d_config.socket_buffer_bytes) + " allows it");
}

void softroce_endpoint::start()
{
    std::lock_guard<std::mutex> lock(d_mutex);
    open_unlocked();
    if (d_started.exchange(true))
        throw config_error("the endpoint was started before; make a new one");
    d_device->add(*d_qp);
}

std::size_t softroce_endpoint::post_recv(const recv_slot* slots, std::size_t n) noexcept
{
    std::lock_guard<std::mutex> lock(d_recv_mutex);
    std::size_t taken = 0;
    while (taken < n && d_receives < d_config.recv_depth &&
           !d_stopped.load(std::memory_order_acquire) && d_qp->slots.push(slots[taken])) {
        ++taken;
        ++d_receives;
    }
    return taken;
}

std::size_t softroce_endpoint::poll(completion* out, std::size_t max) noexcept
{
    std::size_t n = 0;
    while (n < max && d_qp->completions.pop(out[n]))
        ++n;
    d_receives -= n;
    return n;
}

std::size_t softroce_endpoint::post_send(const send_request* requests,
                                         std::size_t n) noexcept
{
    std::lock_guard<std::mutex> lock(d_send_mutex);
    std::size_t taken = 0;
    while (taken < n && d_sends < d_config.send_depth &&
           !d_stopped.load(std::memory_order_acquire) &&
           d_qp->requests.push(requests[taken])) {
        ++taken;
        ++d_sends;
    }
    if (taken != 0 && d_device)
        d_device->kick();
    return taken;
}

std::size_t softroce_endpoint::poll_send(send_completion* out, std::size_t max) noexcept
{
    std::size_t n = 0;
    while (n < max && d_qp->done.pop(out[n]))
        ++n;
    d_sends -= n;
    return n;
}

template <typename Ready>
bool softroce_endpoint::wait(core::doorbell& bell,
                             Ready ready,
                             std::int64_t timeout_ns) noexcept
{
    timeout_ns = std::min(timeout_ns, longest_wait_ns);
    const endpoint_state before = state();
    const auto wake = [&] {
        return ready() || state() != before || d_stopped.load(std::memory_order_acquire);
    };
    if (d_config.wait != wait_mode::event) {
        const std::int64_t start = core::monotonic_ns();
        const std::int64_t until =
            start + (d_config.wait == wait_mode::busy ? timeout_ns
                                                      : std::min(spin_ns, timeout_ns));
        while (!wake() && core::monotonic_ns() < until) {
        }
        timeout_ns -= core::monotonic_ns() - start;
    }
    bell.wait(wake, timeout_ns);
    return ready();
}

bool softroce_endpoint::wait_readable(std::int64_t timeout_ns) noexcept
{
    return wait(
        d_qp->readable, [this] { return !d_qp->completions.empty(); }, timeout_ns);
}

bool softroce_endpoint::wait_sendable(std::int64_t timeout_ns) noexcept
{
    return wait(
        d_qp->sendable, [this] { return !d_qp->done.empty(); }, timeout_ns);
}

gap softroce_endpoint::trailing_gap() const noexcept
{
    return d_finished.load(std::memory_order_acquire) ? d_qp->rx.pending_gap() : gap();
}

endpoint_state softroce_endpoint::state() const noexcept
{
    if (!d_started.load(std::memory_order_acquire))
        return endpoint_state::idle;
    return d_qp->state.load(std::memory_order_acquire);
}

std::string softroce_endpoint::status_text() const
{
    if (state() == endpoint_state::connecting)
        return "waiting for " +
               (d_config.connect.empty() ? "a sender" : d_config.connect) +
               " to speak over UDP 4791";
    return d_qp->status_text();
}

std::string softroce_endpoint::description() const
{
    const std::string own = d_config.source.empty() ? "any" : d_config.source;
    const std::string peer = d_config.connect.empty() ? "any" : d_config.connect;
    const char* strategy = "not open";
    {
        std::lock_guard<std::mutex> lock(d_send_mutex);
        if (d_device)
            strategy = d_device->has_gro() ? "recvmmsg with UDP GRO" : "recvmmsg";
    }
    char text[256];
    std::snprintf(text,
                  sizeof text,
                  "softroce %s %s qpn 0x%" PRIx32 " <-> %s qpn 0x%" PRIx32
                  ", mtu %" PRIu32 ", static, %s",
                  to_string(d_config.service),
                  own.c_str(),
                  d_config.qpn,
                  peer.c_str(),
                  d_config.remote_qpn,
                  d_config.mtu,
                  strategy);
    return text;
}

void softroce_endpoint::stop() noexcept
{
    std::lock_guard<std::mutex> lock(d_mutex);
    if (d_stopped.exchange(true, std::memory_order_acq_rel))
        return;
    std::shared_ptr<device> last;
    {
        // Whoever posts now has finished; whoever comes later finds it stopped.
        std::lock_guard<std::mutex> recv_lock(d_recv_mutex);
        std::lock_guard<std::mutex> send_lock(d_send_mutex);
        last.swap(d_device);
    }
    if (last) {
        last->remove(*d_qp);
        last.reset();
    }
    // The pump is out: this thread now has its ends of the queues.
    d_qp->tx.abort(wc_status::flushed);
    recv_slot slot;
    while (d_qp->slots.pop(slot)) {
        completion flushed;
        flushed.cookie = slot.cookie;
        flushed.status = wc_status::flushed;
        d_qp->completions.push(flushed);
    }
    d_finished.store(true, std::memory_order_release);
    if (d_started.load() && d_qp->state.load() != endpoint_state::failed)
        d_qp->set_state(endpoint_state::idle, "");
    d_qp->readable.ring();
    d_qp->sendable.ring();
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
