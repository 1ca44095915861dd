/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The pump's turn: packets in to the machines, packets out of them.
#include "core/clock.h"
#include "io/softroce/cm_words.h"
#include "io/softroce/device.h"

#include <algorithm>
#include <cerrno>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr unsigned sends_per_turn = 256; // packets of one queue pair before reading again

std::string words(wc_status status, const queue_pair& qp)
{
    const std::string peer = text_of(qp.peer_address);
    switch (status) {
    case wc_status::retry_exceeded:
        return "the peer " + peer +
               " stopped answering; is it still running, and is UDP port 4791 open "
               "between it and " +
               text_of(qp.own_address) + "?";
    case wc_status::rnr_exceeded:
        return "the peer " + peer +
               " had no receive posted for too long; raise rnr_retry";
    case wc_status::remote_error:
        return "the peer " + peer +
               " refused a message; message_bytes and mtu must suit both sides";
    default:
        return to_string(status);
    }
}

} // namespace

bool device::receive() noexcept
{
    if (d_scatter)
        return receive_scattered();
    datagrams reads[udp_socket::read_batch];
    const std::size_t n = d_socket.receive(reads);
    const std::int64_t now = core::realtime_ns();
    for (std::size_t i = 0; i < n; ++i)
        dispatch(reads[i], nullptr, now);
    const bool grouped = receive_groups();
    if (n == 0 && !grouped)
        return false;
    after_reading();
    return true;
}

void device::after_reading() noexcept
{
    note_kernel_drops();
    for (queue_pair* qp : d_qps) {
        if (!qp->completions.empty())
            qp->readable.ring();
        if (qp->rx->ack_due())
            send_ack(*qp);
    }
    flush();
}

bool device::receive_groups() noexcept
{
    bool any = false;
    for (queue_pair* qp : d_members)
        any = receive_group(*qp) || any;
    return any;
}

bool device::receive_group(queue_pair& member) noexcept
{
    datagrams reads[udp_socket::read_batch];
    const std::size_t n = member.group_socket->receive(reads);
    const std::int64_t now = core::realtime_ns();
    for (std::size_t i = 0; i < n; ++i)
        dispatch(reads[i], &member, now);
    const std::uint32_t drops = member.group_socket->kernel_drops();
    member.counts.socket_drops.add(drops - member.group_drops);
    member.group_drops = drops;
    return n != 0;
}

void device::note_kernel_drops() noexcept
{
    const std::uint32_t drops =
        d_scatter ? d_scatter->kernel_drops() : d_socket.kernel_drops();
    if (drops == d_seen_drops)
        return;
    for (queue_pair* qp : d_qps)
        qp->counts.socket_drops.add(drops - d_seen_drops);
    d_seen_drops = drops;
}

queue_pair* device::find(std::uint32_t qpn) noexcept
{
    if (d_last && d_last->qpn == qpn)
        return d_last;
    for (queue_pair* qp : d_qps)
        if (qp->qpn == qpn)
            return d_last = qp;
    return nullptr;
}

void device::dispatch(const datagrams& read,
                      queue_pair* member,
                      std::int64_t now_ns) noexcept
{
    const wire::udp_flow flow{ read.source,
                               member ? member->group_socket->address()
                                      : d_socket.address(),
                               read.source_port,
                               wire::roce_udp_port };
    if (read.bytes == 0)
        dispatch_one(flow, member, read.data, 0, now_ns);
    for (std::size_t at = 0; at < read.bytes; at += read.each)
        dispatch_one(
            flow, member, read.data + at, std::min(read.each, read.bytes - at), now_ns);
}

void device::dispatch_one(const wire::udp_flow& flow,
                          queue_pair* member,
                          const std::byte* data,
                          std::size_t bytes,
                          std::int64_t now_ns) noexcept
{
    const auto junk = [&](auto field) {
        member ? (member->counts.*field).add() : count_at_all(field);
    };
    wire::packet p;
    switch (wire::parse(data, bytes, p)) {
    case wire::parse_status::ok:
        break;
    case wire::parse_status::too_short:
        return junk(&counters::dropped_short);
    case wire::parse_status::version:
        return junk(&counters::dropped_version);
    case wire::parse_status::opcode:
        return junk(&counters::dropped_opcode);
    case wire::parse_status::pad:
        return junk(&counters::dropped_pad);
    }
    if (!wire::in_default_partition(p.bth.pkey))
        return junk(&counters::dropped_pkey);
    const std::size_t covered = bytes - wire::icrc_bytes;
    if (!member && p.bth.dest_qpn == wire::cm_qpn &&
        wire::traits(p.bth.opcode).has_deth) {
        if (!d_cm_icrc.right(flow, data, covered, nullptr, 0, p.icrc))
            return count_at_all(&counters::dropped_icrc);
        d_agent.on_packet(p, flow.source, d_qps, core::monotonic_ns());
        return send_cm();
    }
    queue_pair* qp = !member                                 ? find(p.bth.dest_qpn)
                     : p.bth.dest_qpn == wire::multicast_qpn ? member
                                                             : nullptr;
    if (!qp || !qp->open_for_data())
        return junk(&counters::dropped_qpn);
    if (!qp->hears(flow.source))
        return qp->counts.dropped_source.add();
    if (!qp->icrc.right(flow, data, covered, nullptr, 0, p.icrc))
        return qp->counts.dropped_icrc.add();
    qp->counts.icrc_checked.add();
    deliver(*qp, p, now_ns);
}

void device::deliver(queue_pair& qp, const wire::packet& p, std::int64_t now_ns) noexcept
{
    static constexpr std::uint8_t rc_acknowledge =
        wire::make_opcode(wire::service::rc, wire::operation::acknowledge);
    bool heard = false;
    if (p.bth.opcode == rc_acknowledge && qp.service == service_type::rc) {
        if (qp.tx->on_acknowledge(p, core::monotonic_ns()))
            qp.sendable.ring();
        check_failure(qp);
        heard = qp.tx->heard();
        if (qp.tx->elsewhere() && !qp.uses_cm)
            tell_elsewhere(qp);
    } else {
        qp.rx->on_packet(p, now_ns);
        heard = qp.rx->heard();
        if (qp.rx->refused() != qp.told)
            tell_refusal(qp);
    }
    if (qp.cm && qp.cm->asks()) {
        d_agent.on_data(qp, core::monotonic_ns());
        send_cm();
    }
    if (!qp.uses_cm && heard &&
        qp.state.load(std::memory_order_relaxed) == endpoint_state::connecting)
        qp.set_state(endpoint_state::connected, "");
}

void device::check_failure(queue_pair& qp)
{
    const wc_status status = qp.tx->failure();
    if (status != wc_status::success && status != wc_status::flushed &&
        qp.state.load(std::memory_order_relaxed) != endpoint_state::failed)
        qp.set_state(endpoint_state::failed, words(status, qp));
}

void device::tell(queue_pair& qp, const std::string& what)
{
    if (!what.empty() && qp.config.log && qp.refusals.pass(core::monotonic_ns()))
        qp.config.log(core::log_level::warn, what);
    if (!qp.over())
        qp.set_state(qp.state.load(std::memory_order_relaxed), what);
}

// Neither side will ever end by itself.
void device::tell_elsewhere(queue_pair& qp)
{
    const std::string what = elsewhere_text(qp);
    if (!qp.over() && what != qp.status_text())
        tell(qp, what);
}

// The peer will end, not knowing why: this side does.
void device::tell_refusal(queue_pair& qp)
{
    qp.told = qp.rx->refused();
    tell(qp, refusal_text(qp));
}

bool device::serve(std::int64_t now_ns) noexcept
{
    bool any = false;
    for (queue_pair* qp : d_qps) {
        if (qp->uses_cm)
            serve_cm(*qp, now_ns);
        if (qp->over() && !qp->requests.empty()) { // posted too late
            qp->tx->abort(wc_status::flushed);
            qp->sendable.ring();
        }
        if (!qp->may_send)
            continue;
        if (qp->tx->on_time(now_ns))
            qp->sendable.ring();
        check_failure(*qp);
        any = send_requests(*qp, now_ns) || any;
    }
    return any;
}

bool device::send_requests(queue_pair& qp, std::int64_t now_ns) noexcept
{
    unsigned sent = 0;
    outgoing out;
    while (sent < sends_per_turn && qp.tx->next(out, now_ns)) {
        send_packet(qp, out.packet, now_ns);
        ++sent;
    }
    if (qp.faults)
        release_held(qp, now_ns);
    if (sent != 0)
        flush();
    if (qp.tx->handed_over())
        qp.sendable.ring();
    if (sent == 0)
        return false;
    if (qp.service != service_type::rc && // nobody answers
        qp.state.load(std::memory_order_relaxed) == endpoint_state::connecting)
        qp.set_state(endpoint_state::connected, "");
    return true;
}

void device::send_packet(queue_pair& qp, const wire::packet& p, std::int64_t now_ns)
{
    if (qp.faults) {
        qp.faults->send(d_socket.sealed(qp.peer_address, p), now_ns);
    } else {
        queue(qp.peer_address, p);
    }
}

void device::queue(const wire::ip_address& destination, const wire::packet& p) noexcept
{
    if (d_socket.queue(destination, p))
        return;
    flush(); // the batch is full
    d_socket.queue(destination, p);
}

// What the injected faults let through by now.
void device::release_held(queue_pair& qp, std::int64_t now_ns) noexcept
{
    lossy_link::datagram d;
    while (qp.faults->receive(d, now_ns))
        if (!d_socket.send_as_is(qp.peer_address, d))
            qp.counts.send_errors.add();
    const auto bring = [](counter& c, std::uint64_t now) { c.add(now - c.value()); };
    bring(qp.counts.faults_dropped, qp.faults->dropped);
    bring(qp.counts.faults_duplicated, qp.faults->duplicated);
    bring(qp.counts.faults_reordered, qp.faults->reordered);
    bring(qp.counts.faults_corrupted, qp.faults->corrupted);
}

void device::send_ack(queue_pair& qp) noexcept
{
    outgoing ack;
    qp.rx->take_ack(ack.packet);
    ack.packet.bth.dest_qpn = qp.dest_qpn;
    queue(qp.peer_address, ack.packet);
}

void device::serve_cm(queue_pair& qp, std::int64_t now_ns) noexcept
{
    if (qp.faults && qp.leaving.load(std::memory_order_acquire))
        release_held(qp, INT64_MAX);
    const bool done = d_agent.serve(qp, now_ns);
    send_cm();
    if (!done)
        return;
    std::lock_guard<std::mutex> lock(d_mutex);
    qp.left = true;
    d_taken_changed.notify_all();
}

void device::send_cm() noexcept
{
    cm_outgoing out;
    while (d_agent.take(out)) {
        std::byte mad[wire::mad_bytes];
        wire::write_cm(out.message, mad);
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::ud, wire::operation::send_only);
        p.bth.dest_qpn = wire::cm_qpn;
        p.bth.psn = d_cm_psn;
        p.deth.qkey = wire::cm_qkey;
        p.deth.source_qpn = wire::cm_qpn;
        p.payload = mad;
        p.payload_bytes = sizeof mad;
        ++d_cm_psn;
        queue(out.destination, p);
        flush(); // the MAD is on this stack
    }
}

void device::flush() noexcept
{
    if (d_socket.nothing_queued())
        return;
    const auto status = d_socket.flush();
    if (status == udp_socket::send_status::sent)
        return;
    const std::uint64_t unsent = d_socket.unsent() - d_seen_unsent;
    d_seen_unsent = d_socket.unsent();
    const udp_socket::target to = d_socket.last_failed();
    for (queue_pair* qp : d_qps) {
        if (qp->peer_address != to.address || qp->dest_qpn != to.qpn)
            continue;
        qp->counts.send_errors.add(unsent);
        if (status == udp_socket::send_status::too_big &&
            qp->state.load(std::memory_order_relaxed) != endpoint_state::failed) {
            qp->tx->abort(wc_status::length_error);
            qp->set_state(endpoint_state::failed,
                          "packets do not fit the network path to " +
                              text_of(qp->peer_address) +
                              ": lower mtu (1024 fits Ethernet's 1500), or raise the "
                              "interface's MTU to 4200 or more for mtu=4096");
        }
    }
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
