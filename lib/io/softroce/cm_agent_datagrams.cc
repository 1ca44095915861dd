/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The connection manager's part for UD: service ID resolution (InfiniBand spec vol.
// 1, 12.11). A listener answers each request and remembers nobody.
#include "io/softroce/cm_agent.h"
#include "io/softroce/cm_words.h"
#include "wire/cma.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

void cm_agent::on_resolution_request(const wire::cm_message& m,
                                     const wire::ip_address& from,
                                     const std::vector<queue_pair*>& all,
                                     std::int64_t now_ns)
{
    const auto& req = std::get<wire::cm_sidr_req>(m.body);
    std::uint16_t port = 0;
    const bool known = wire::cma_port_of(req.service_id, wire::cma_port_space::udp, port);
    wire::cm_sidr_rep rep;
    rep.request_id = req.request_id;
    rep.service_id = req.service_id;
    rep.status = wire::cm_sidr_status::service_id_not_supported;
    for (queue_pair* qp : all) {
        if (!known || !qp->listens || qp->service != service_type::ud || qp->port != port)
            continue;
        if (qp->leaving.load())
            return; // another may be about to listen in its place: the peer asks again
        qp->counts.cm_requests.add();
        if (!qp->allows(from)) {
            rep.status = wire::cm_sidr_status::rejected_by_service_provider;
            note_refusal(*qp, from, wire::to_string(rep.status));
        } else {
            rep.status = wire::cm_sidr_status::valid_qpn;
            rep.qpn = qp->qpn;
            rep.qkey = qp->own_qkey;
            const auto& data = qp->config.private_data;
            std::copy_n(data.begin(),
                        std::min(data.size(), rep.private_data.size()),
                        rep.private_data.begin());
            if (qp->state.load(std::memory_order_relaxed) == endpoint_state::connecting)
                qp->set_state(endpoint_state::connected, "");
        }
        push(from, { m.transaction_id, rep });
        return;
    }
    if (!may_come_yet(all, now_ns))
        push(from, { m.transaction_id, rep });
}

void cm_agent::on_resolution_reply(const wire::cm_message& m,
                                   const wire::ip_address& from,
                                   const std::vector<queue_pair*>& all)
{
    for (queue_pair* qp : all) {
        if (!qp->query || !qp->query->on_reply(m, from))
            continue;
        follow_query(*qp);
        return;
    }
    for (queue_pair* qp : all)
        if (qp->uses_cm)
            qp->counts.cm_ignored.add();
}

// What the end of a query means to the queue pair.
void cm_agent::follow_query(queue_pair& qp)
{
    const sidr_query& query = *qp.query;
    if (qp.over() || qp.may_send)
        return;
    switch (query.state()) {
    case sidr_state::resolved:
        qp.dest_qkey = query.qkey();
        qp.configure(query.qpn(),
                     static_cast<std::uint32_t>(d_random() & wire::psn::mask),
                     0,
                     qp.mtu_limit,
                     false);
        qp.may_send = true;
        qp.set_state(endpoint_state::connected, "");
        break;
    case sidr_state::refused:
    case sidr_state::failed:
        qp.tx->abort(wc_status::flushed);
        qp.set_state(endpoint_state::failed, failure_text(qp));
        break;
    default:
        break;
    }
}

bool cm_agent::serve_datagrams(queue_pair& qp, std::int64_t now_ns)
{
    if (qp.leaving.load(std::memory_order_acquire)) {
        qp.may_send = false;
        qp.query.reset();
        return true; // nobody is told: there is no connection that could end
    }
    if (qp.listens)
        return false;
    if (!qp.query) {
        sidr_settings s;
        s.own = qp.own_address;
        s.peer = qp.peer_address;
        s.own_port = draw_port();
        s.port = qp.port;
        s.request_id = static_cast<std::uint32_t>(d_random()) | 1;
        s.transaction_id = d_random();
        s.private_data = qp.config.private_data;
        s.patience_ns = qp.config.connect_timeout_ns;
        qp.query.emplace(s);
        qp.query->ask(now_ns);
    }
    qp.query->on_time(now_ns);
    wire::cm_message m;
    if (qp.query->take(m))
        push(qp.peer_address, m);
    follow_query(qp);
    return false;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
