/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/softroce_endpoint.h"

#include "core/clock.h"
#include "core/sizes.h"
#include "io/softroce/addresses.h"
#include "io/softroce/endpoint_checks.h"
#include "wire/cma.h"

#include <cinttypes>
#include <cstdio>
#include <gnuradio/rdma/error.h>
#include <sstream>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr std::int64_t spin_ns = 10000; // hybrid: look this long before sleeping
constexpr std::int64_t longest_wait_ns = INT64_C(1) << 60; // keeps sums in range

// What is link-local, or a group, is on the interface of the own address.
void check_path(const host_address& own, const host_address& peer, const char* parameter)
{
    const std::string theirs = std::string(parameter) + "=" + text_of(peer.ip);
    if (own.ip.is_v4() != peer.ip.is_v4())
        throw config_error(theirs + " is " + version_of(peer.ip) +
                           ", and the own address " + text_of(own.ip) + " is " +
                           version_of(own.ip) + ": a connection speaks one of them");
    if (own.ip.is_v4() || peer.interface == 0 || peer.interface == own.interface)
        return;
    throw config_error(theirs + " is on another interface than the own address " +
                       text_of(own.ip) + "; give an own address of that one");
}

} // namespace

softroce_endpoint::softroce_endpoint(const endpoint_config& config)
    : d_config(checked(config)), d_qp(std::make_unique<queue_pair>(d_config))
{
    d_qp->uses_cm = config.qpn == 0;
    d_qp->may_send = !d_qp->uses_cm;
}

softroce_endpoint::~softroce_endpoint() { stop(); }

void softroce_endpoint::attach(const mem::region& ring, const mem::region& headers)
{
    if (ring.bytes != 0 && !ring.host)
        throw config_error(
            "memory: the softroce endpoint writes with the CPU, which cannot "
            "store into this memory; use a host ring");
    d_qp->attach(ring, headers);
}

void softroce_endpoint::open()
{
    std::lock_guard<std::mutex> lock(d_mutex);
    open_unlocked();
}

host_address softroce_endpoint::resolve()
{
    const endpoint_config& c = d_config;
    queue_pair& qp = *d_qp;
    qp.listens = qp.uses_cm && !c.listen.empty();
    host_address own;
    if (qp.listens) {
        const host_port at = split_host_port(c.listen, default_port, "listen");
        qp.port = at.port;
        own = resolve_own(at.host.empty() ? c.source : at.host, "listen");
        if (!c.source.empty() && resolve_own(c.source, "source").ip != own.ip)
            throw config_error("listen='" + c.listen + "' and source='" + c.source +
                               "' are two own addresses; give listen alone");
        resolve_peers(own);
    } else {
        own = resolve_peer();
    }
    qp.own_address = own.ip;
    if (qp.peer_address.is_multicast() && c.remote_qpn != wire::multicast_qpn)
        throw config_error("connect='" + c.connect + "' is the multicast group " +
                           text_of(qp.peer_address) + "; give that address itself");
    if (!c.group.empty())
        check_path(own, resolve_host(c.group, "group"), "group");
    qp.icrc = icrc_check(!qp.hears_anybody());
    if (!qp.uses_cm && qp.own_address == qp.peer_address && c.qpn == c.remote_qpn)
        throw config_error(
            "source and connect are both " + text_of(qp.own_address) +
            " with qpn=remote_qpn=" + std::to_string(c.qpn) +
            ": a queue pair cannot talk to itself; two programs on one machine "
            "use 127.0.0.1 and 127.0.0.2");
    const std::uint32_t fits = interface_path_mtu(own);
    if (fits == 0 || c.mtu > fits)
        throw config_error(
            "mtu=" + std::to_string(c.mtu) + " does not fit the interface of " +
            text_of(qp.own_address) + ", whose packets hold " + std::to_string(fits) +
            "; use that, or raise the interface's MTU (4200 for mtu=4096)");
    qp.mtu_limit = c.mtu != 0 ? c.mtu : fits;
    if (qp.uses_cm && c.service == service_type::ud && c.message_bytes > qp.mtu_limit)
        throw config_error("message_bytes=" + std::to_string(c.message_bytes) +
                           " (header included) is longer than a datagram; the interface "
                           "of " +
                           text_of(qp.own_address) + " holds " +
                           std::to_string(qp.mtu_limit) +
                           " bytes: use that, or raise the interface's MTU (4200 for "
                           "4096)");
    return own;
}

// The peer's address, if one is given, and the own one that it is reached from.
host_address softroce_endpoint::resolve_peer()
{
    const endpoint_config& c = d_config;
    queue_pair& qp = *d_qp;
    const auto source = parse_literal(c.source, "source");
    const ip_version version = !source              ? ip_version::any
                               : source->ip.is_v4() ? ip_version::v4
                                                    : ip_version::v6;
    host_port to{ c.connect, 0 };
    if (qp.uses_cm)
        to = split_host_port(c.connect, default_port, "connect");
    qp.port = to.port;
    host_address peer;
    if (!to.host.empty()) {
        peer = resolve_host(to.host, "connect", version);
        if (peer.ip.is_unspecified() || peer.ip == wire::ip_address::ipv4(0xffffffff))
            throw config_error("connect='" + c.connect + "' is the address of no host");
    }
    qp.peer_address = peer.ip;
    if (c.source.empty())
        return route_source(peer);
    const host_address own = resolve_own(c.source,
                                         "source",
                                         to.host.empty()   ? ip_version::any
                                         : peer.ip.is_v4() ? ip_version::v4
                                                           : ip_version::v6);
    if (!to.host.empty())
        check_path(own, peer, "connect");
    return own;
}

void softroce_endpoint::resolve_peers(const host_address& own)
{
    const ip_version version = own.ip.is_v4() ? ip_version::v4 : ip_version::v6;
    std::stringstream list(d_config.peers);
    for (std::string name; std::getline(list, name, ',');) {
        const host_address peer = resolve_host(name, "peers", version);
        if (peer.ip.is_unspecified() || peer.ip.is_multicast())
            throw config_error("peers='" + name +
                               "' is the address of no host; leave peers out to let "
                               "anyone connect");
        check_path(own, peer, "peers");
        d_qp->allowed.push_back(peer.ip);
    }
}

void softroce_endpoint::open_unlocked()
{
    if (d_device)
        return;
    if (d_stopped.load())
        throw config_error("the endpoint was stopped; make a new one");
    const host_address own = resolve();
    device_config config;
    config.buffer_bytes = d_config.socket_buffer_bytes;
    config.wait = d_config.wait;
    config.receive = d_config.receive;
    config.cpu = d_config.pump_cpu;
    const auto opened = device::open(own, config);
    std::unique_ptr<udp_socket> group;
    if (const auto address = multicast_group(d_config.group, "group"))
        group = std::make_unique<udp_socket>(
            own, d_config.socket_buffer_bytes, true, *address);
    opened->reserve(*d_qp);
    if (d_qp->uses_cm && d_qp->service == service_type::ud) {
        d_qp->own_qkey = wire::cma_udp_qkey;
        d_qp->configure(0, 0, 0, d_qp->mtu_limit, false);
    }
    d_qp->group_socket = std::move(group);
    if (d_qp->peer_address.is_multicast())
        opened->raise_multicast_ttl(d_config.multicast_ttl);
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
    const bool to_nobody = d_qp->uses_cm
                               ? d_qp->service == service_type::ud && d_qp->listens
                               : d_config.connect.empty() || d_config.remote_qpn == 0;
    if (to_nobody)
        return 0; // receives from anybody
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
    return d_finished.load(std::memory_order_acquire) ? d_qp->rx->pending_gap() : gap();
}

endpoint_state softroce_endpoint::state() const noexcept
{
    if (!d_started.load(std::memory_order_acquire))
        return endpoint_state::idle;
    const endpoint_state now = d_qp->state.load(std::memory_order_acquire);
    // Who has seen a completion must not be told that there is no peer yet: the counters
    // are ahead of the completions, which are a moment ahead of the state.
    const bool done = d_qp->counts.messages_received.value() != 0 ||
                      d_qp->counts.messages_sent.value() != 0;
    return now == endpoint_state::connecting && !d_qp->uses_cm && done
               ? endpoint_state::connected
               : now;
}

std::string softroce_endpoint::status_text() const
{
    if (state() != endpoint_state::connecting)
        return d_qp->status_text();
    if (d_qp->listens)
        return "listening on " + d_config.listen;
    if (d_qp->uses_cm)
        return "connecting to " + d_config.connect;
    if (const std::string why = d_qp->status_text(); !why.empty())
        return why;
    return "waiting for " + (d_config.connect.empty() ? "a sender" : d_config.connect) +
           " to speak over UDP 4791";
}

std::string softroce_endpoint::description() const
{
    const char* strategy = "not open";
    {
        std::lock_guard<std::mutex> lock(d_send_mutex);
        if (d_device)
            strategy = d_device->strategy();
    }
    const endpoint_config& c = d_config;
    std::string text = std::string("softroce ") + to_string(c.service);
    if (!d_qp->uses_cm) {
        char qpns[64];
        std::snprintf(
            qpns, sizeof qpns, ", qpn 0x%" PRIx32 " <-> 0x%" PRIx32, c.qpn, c.remote_qpn);
        text += " static, " + (c.source.empty() ? "any" : c.source) + " <-> " +
                (c.connect.empty() ? "any" : c.connect) + qpns +
                (c.group.empty() ? "" : ", group " + c.group);
    } else {
        text += c.listen.empty() ? ", connecting to " + c.connect
                                 : ", listening on " + c.listen;
    }
    const std::uint32_t mtu = d_qp->uses_cm ? d_qp->mtu_limit : c.mtu ? c.mtu : 1024;
    return text + ", mtu " + std::to_string(mtu) + ", " + strategy;
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
        if (d_qp->uses_cm && d_started.load())
            last->disconnect(*d_qp);
        last->remove(*d_qp);
        last.reset();
    }
    // The pump is out: this thread now has its ends of the queues.
    d_qp->group_socket.reset();
    d_qp->tx->abort(wc_status::flushed);
    recv_slot slot;
    while (d_qp->slots.pop(slot)) {
        completion flushed;
        flushed.cookie = slot.cookie;
        flushed.status = wc_status::flushed;
        d_qp->completions.push(flushed);
    }
    d_finished.store(true, std::memory_order_release);
    const endpoint_state before = d_qp->state.load();
    if (d_started.load() && before != endpoint_state::failed &&
        before != endpoint_state::closed)
        d_qp->set_state(endpoint_state::idle, "");
    d_qp->readable.ring();
    d_qp->sendable.ring();
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
