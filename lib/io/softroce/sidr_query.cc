/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/sidr_query.h"

#include "wire/cma.h"
#include "wire/packet.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

sidr_query::sidr_query(const sidr_settings& settings) : d_settings(settings) {}

void sidr_query::ask(std::int64_t now_ns)
{
    d_state = sidr_state::asking;
    d_give_up_ns = now_ns + d_settings.patience_ns;
    send(now_ns);
}

void sidr_query::send(std::int64_t now_ns)
{
    d_has_message = true;
    d_deadline_ns = std::min(d_give_up_ns, now_ns + d_settings.response_ns);
}

void sidr_query::end(sidr_state state) noexcept
{
    d_state = state;
    d_deadline_ns = INT64_MAX;
    d_has_message = false;
}

bool sidr_query::take(wire::cm_message& out)
{
    if (!d_has_message)
        return false;
    const sidr_settings& s = d_settings;
    wire::cm_sidr_req req;
    req.request_id = s.request_id;
    req.service_id = wire::cma_service_id(wire::cma_port_space::udp, s.port);
    wire::cma_header header;
    header.source_port = s.own_port;
    header.source = s.own;
    header.destination = s.peer;
    wire::write_cma(header, req.private_data.data());
    std::copy_n(s.private_data.begin(),
                std::min(s.private_data.size(), wire::cma_sidr_req_consumer_bytes),
                req.private_data.begin() + wire::cma_header_bytes);
    out.transaction_id = s.transaction_id;
    out.body = req;
    d_has_message = false;
    return true;
}

bool sidr_query::on_reply(const wire::cm_message& m, const wire::ip_address& from)
{
    const auto* rep = std::get_if<wire::cm_sidr_rep>(&m.body);
    if (!rep || d_state == sidr_state::idle || from != d_settings.peer ||
        rep->request_id != d_settings.request_id)
        return false;
    if (d_state != sidr_state::asking)
        return true; // a request went out twice, and so came its answer
    const bool granted = rep->status == wire::cm_sidr_status::valid_qpn;
    if (granted && (rep->qpn <= wire::cm_qpn || rep->qpn == wire::multicast_qpn))
        return false; // no datagrams can be sent there
    d_reply = *rep;
    end(granted ? sidr_state::resolved : sidr_state::refused);
    return true;
}

void sidr_query::on_time(std::int64_t now_ns)
{
    if (now_ns < d_deadline_ns)
        return;
    if (now_ns >= d_give_up_ns)
        end(sidr_state::failed);
    else
        send(now_ns);
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
