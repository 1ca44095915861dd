/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/cm_agent.h"

#include "core/clock.h"
#include "io/softroce/addresses.h"
#include "io/softroce/cm_words.h"
#include "wire/cma.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

cm_agent::cm_agent()
    : cm_agent([] {
          std::random_device entropy;
          return std::uint64_t(entropy()) << 32 | entropy();
      }())
{
}

cm_agent::cm_agent(std::uint64_t seed) : d_random(seed), d_guid(d_random() | 1) {}

void cm_agent::push(const wire::ip_address& to, const wire::cm_message& m)
{
    if (d_count == outbox_size)
        return; // the peer asks again
    d_outbox[(d_first + d_count) % outbox_size] = { to, m };
    ++d_count;
}

bool cm_agent::take(cm_outgoing& out)
{
    if (d_count == 0)
        return false;
    out = d_outbox[d_first];
    d_first = (d_first + 1) % outbox_size;
    --d_count;
    return true;
}

void cm_agent::collect(queue_pair& qp)
{
    wire::cm_message m;
    while (qp.cm && qp.cm->take(m))
        push(qp.cm->peer().address, m);
}

void cm_agent::on_packet(const wire::packet& p,
                         const wire::ip_address& from,
                         const std::vector<queue_pair*>& all,
                         std::int64_t now_ns)
{
    const auto count = [&](counter counters::*field) {
        for (queue_pair* qp : all)
            if (qp->uses_cm)
                (qp->counts.*field).add();
    };
    if (p.deth.qkey != wire::cm_qkey) {
        count(&counters::dropped_qkey);
        return;
    }
    wire::cm_message m;
    if (wire::parse_cm(p.payload, p.payload_bytes, m) != wire::cm_parse_status::ok) {
        count(&counters::cm_malformed);
        return;
    }
    if (std::holds_alternative<wire::cm_sidr_req>(m.body))
        return on_resolution_request(m, from, all, now_ns);
    if (std::holds_alternative<wire::cm_sidr_rep>(m.body))
        return on_resolution_reply(m, from, all);
    for (queue_pair* qp : all) {
        if (!qp->cm)
            continue;
        const cm_state before = qp->cm->state();
        if (!qp->cm->on_message(m, from, now_ns))
            continue;
        collect(*qp);
        follow(*qp, before);
        answer_waiting(*qp);
        return;
    }
    if (std::holds_alternative<wire::cm_req>(m.body)) {
        on_request(m, from, all, now_ns);
    } else if (const auto* dreq = std::get_if<wire::cm_dreq>(&m.body)) {
        // A connection that is over here: let the peer end its half at once.
        wire::cm_drep drep;
        drep.local_comm_id = dreq->remote_comm_id;
        drep.remote_comm_id = dreq->local_comm_id;
        wire::cm_message answer;
        answer.transaction_id = m.transaction_id;
        answer.body = drep;
        push(from, answer);
        count(&counters::cm_ignored);
    } else {
        count(&counters::cm_ignored);
    }
}

void cm_agent::on_request(const wire::cm_message& m,
                          const wire::ip_address& from,
                          const std::vector<queue_pair*>& all,
                          std::int64_t now_ns)
{
    const std::uint64_t service_id = std::get<wire::cm_req>(m.body).service_id;
    std::uint16_t port = 0;
    const bool known = wire::cma_port_of(service_id, wire::cma_port_space::tcp, port);
    for (queue_pair* qp : all) {
        if (!known || !qp->listens || qp->service == service_type::ud || qp->port != port)
            continue;
        if (qp->leaving.load())
            return; // another may be about to listen in its place: the peer asks again
        qp->counts.cm_requests.add();
        if (!qp->allows(from)) {
            refuse(m, from, wire::cm_rej_reason::consumer_reject, qp);
            return;
        }
        if (qp->cm && !gives_way(*qp, m, from, now_ns))
            return;
        start(*qp, from);
        if (qp->cm->accept(m, from, now_ns)) {
            qp->peer_address = from;
            qp->icrc = icrc_check();
            adopt_peer(*qp);
            collect(*qp);
        } else {
            qp->counts.cm_refused.add();
            collect(*qp);
            qp->cm.reset();
        }
        return;
    }
    if (!may_come_yet(all, now_ns))
        refuse(m, from, wire::cm_rej_reason::invalid_service_id, nullptr);
}

// Its listener may be about to start, or to start again: the peer asks again.
bool cm_agent::may_come_yet(const std::vector<queue_pair*>& all,
                            std::int64_t now_ns) const noexcept
{
    return all.empty() || opening.load(std::memory_order_acquire) != 0 ||
           now_ns < d_patient_until_ns;
}

// May \p from have the place of the present peer? If that is to be found out, the REQ
// waits.
bool cm_agent::gives_way(queue_pair& qp,
                         const wire::cm_message& m,
                         const wire::ip_address& from,
                         std::int64_t now_ns)
{
    const cm_peer& peer = qp.cm->peer();
    if (peer.comm_id == std::get<wire::cm_req>(m.body).local_comm_id &&
        peer.address == from) {
        refuse(m, from, wire::cm_rej_reason::stale_connection, &qp);
        return false;
    }
    const cm_state now = qp.cm->state();
    if (now != cm_state::established && now != cm_state::rep_sent)
        return false; // its owner may be about to listen again: the peer asks again
    // What was posted to be sent was meant for the present peer: a sender stays with it.
    const bool only_receives = qp.tx->idle() && qp.counts.messages_sent.value() == 0;
    const bool may_leave = qp.cm->state() == cm_state::rep_sent || only_receives;
    const cm_liveness peer_is = may_leave ? qp.cm->liveness(now_ns) : cm_liveness::alive;
    if (peer_is == cm_liveness::alive) {
        refuse(m, from, wire::cm_rej_reason::no_resources, &qp);
    } else if (peer_is == cm_liveness::unknown) {
        collect(qp);
        if (!qp.waiting)
            qp.waiting = { from, m };
    } else {
        leave_peer(qp);
        return true;
    }
    return false;
}

// Without a word from it: its place is free.
void cm_agent::leave_peer(queue_pair& qp)
{
    const bool connected = qp.cm->state() == cm_state::established;
    (connected ? qp.counts.cm_replaced : qp.counts.cm_timeouts).add();
    qp.cm.reset();
    qp.waiting.reset();
    qp.may_send = false;
    if (!connected)
        return;
    if (qp.config.log)
        qp.config.log(core::log_level::warn,
                      "the peer " + text_of(qp.peer_address) +
                          " no longer answers; another takes its place");
    qp.set_state(endpoint_state::connecting, "");
}

// The peer has shown that it is there: who waits for its place waits in vain.
void cm_agent::answer_waiting(queue_pair& qp)
{
    if (!qp.waiting || (qp.cm && qp.cm->asks()))
        return;
    if (qp.cm && qp.cm->state() == cm_state::established)
        refuse(qp.waiting->message,
               qp.waiting->from,
               wire::cm_rej_reason::no_resources,
               &qp);
    qp.waiting.reset(); // else it asks again
}

void cm_agent::refuse(const wire::cm_message& m,
                      const wire::ip_address& from,
                      wire::cm_rej_reason reason,
                      queue_pair* listener)
{
    wire::cm_rej rej;
    rej.remote_comm_id = std::get<wire::cm_req>(m.body).local_comm_id;
    rej.answered = wire::cm_answered::req;
    rej.reason = reason;
    wire::cm_message answer;
    answer.transaction_id = m.transaction_id;
    answer.body = rej;
    push(from, answer);
    if (listener)
        note_refusal(*listener, from, wire::to_string(reason));
}

void cm_agent::note_refusal(queue_pair& listener,
                            const wire::ip_address& from,
                            const char* why)
{
    listener.counts.cm_refused.add();
    if (listener.config.log && listener.refusals.pass(core::monotonic_ns()))
        listener.config.log(core::log_level::warn,
                            "refused a connection from " + text_of(from) + ": " + why);
}

std::uint16_t cm_agent::draw_port()
{
    return static_cast<std::uint16_t>(0xc000 | (d_random() & 0x3fff));
}

// Identifiers are drawn for each connection: an old peer's packets fit none.
void cm_agent::start(queue_pair& qp, const wire::ip_address& peer)
{
    cm_settings s;
    s.service = qp.service;
    s.own = qp.own_address;
    s.peer = peer;
    s.own_port = draw_port();
    s.port = qp.port;
    s.comm_id = static_cast<std::uint32_t>(d_random()) | 1;
    s.transaction_id = d_random();
    s.guid = d_guid;
    s.qpn = qp.qpn;
    s.first_psn = wire::psn(static_cast<std::uint32_t>(d_random() & wire::psn::mask));
    s.mtu = qp.mtu_limit;
    s.private_data = qp.config.private_data;
    s.retry_count = qp.config.retry_count;
    s.rnr_retry = qp.config.rnr_retry;
    s.ack_timeout_ns = qp.config.ack_timeout_ns;
    s.patience_ns = qp.config.connect_timeout_ns;
    qp.cm.emplace(s);
}

bool cm_agent::serve(queue_pair& qp, std::int64_t now_ns)
{
    if (qp.service == service_type::ud)
        return serve_datagrams(qp, now_ns);
    if (qp.leaving.load(std::memory_order_acquire)) {
        if (!qp.cm)
            return true;
        qp.may_send = false;
        qp.cm->disconnect(now_ns);
    } else if (!qp.listens && !qp.cm) {
        start(qp, qp.peer_address);
        qp.cm->connect(now_ns);
    }
    if (!qp.cm)
        return false;
    const cm_state before = qp.cm->state();
    qp.cm->on_time(now_ns);
    collect(qp);
    follow(qp, before);
    if (!qp.leaving.load(std::memory_order_acquire))
        return false;
    return !qp.cm || qp.cm->state() == cm_state::closed ||
           qp.cm->state() == cm_state::refused || qp.cm->state() == cm_state::failed;
}

void cm_agent::on_data(queue_pair& qp, std::int64_t now_ns)
{
    const cm_state before = qp.cm->state();
    qp.cm->on_data(now_ns);
    follow(qp, before);
    answer_waiting(qp);
}

// What a change of the connection's state means to the queue pair.
void cm_agent::follow(queue_pair& qp, cm_state before)
{
    const cm_state now = qp.cm->state();
    if (now == before)
        return;
    switch (now) {
    case cm_state::established:
        connected(qp);
        break;
    case cm_state::closed:
        qp.may_send = false;
        qp.tx->abort(wc_status::flushed);
        if (!qp.leaving.load())
            qp.set_state(
                endpoint_state::closed,
                "the peer " + text_of(qp.peer_address) + " closed the connection" +
                    (qp.told == responder::refusal::none ? "" : "; " + refusal_text(qp)));
        break;
    case cm_state::refused:
    case cm_state::failed:
        qp.may_send = false;
        if (qp.listens && before == cm_state::rep_sent) {
            // The next one may do better.
            qp.counts.cm_timeouts.add();
            qp.cm.reset();
            qp.waiting.reset();
            return;
        }
        qp.tx->abort(wc_status::flushed);
        qp.set_state(endpoint_state::failed, failure_text(qp));
        break;
    default:
        break;
    }
}

// The PSN in a REQ or REP is the one that its receiver begins to send with.
void cm_agent::adopt_peer(queue_pair& qp)
{
    const cm_peer& peer = qp.cm->peer();
    qp.configure(peer.qpn,
                 peer.first_psn.value(),
                 qp.cm->settings().first_psn.value(),
                 peer.mtu,
                 false);
}

void cm_agent::connected(queue_pair& qp)
{
    if (!qp.listens)
        adopt_peer(qp); // a listener did when the REQ came
    qp.may_send = true;
    qp.set_state(endpoint_state::connected, "");
}

std::int64_t cm_agent::ready_in(const queue_pair& qp, std::int64_t now_ns) noexcept
{
    if (!qp.uses_cm)
        return INT64_MAX;
    if (qp.service == service_type::ud) {
        if (qp.leaving.load(std::memory_order_acquire) || (!qp.listens && !qp.query))
            return 0;
        const std::int64_t at = qp.query ? qp.query->deadline() : INT64_MAX;
        return at == INT64_MAX ? at : std::max<std::int64_t>(0, at - now_ns);
    }
    if (!qp.cm)
        return qp.listens && !qp.leaving.load() ? INT64_MAX : 0;
    if (qp.leaving.load(std::memory_order_acquire) &&
        qp.cm->state() != cm_state::dreq_sent)
        return 0;
    const std::int64_t deadline = qp.cm->deadline();
    return deadline == INT64_MAX ? deadline
                                 : std::max<std::int64_t>(0, deadline - now_ns);
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
