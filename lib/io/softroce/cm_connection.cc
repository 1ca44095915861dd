/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/cm_connection.h"

#include "wire/cma.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr unsigned most_dreqs = 3;
constexpr std::int64_t dreq_response_ns = 60000000;
constexpr std::uint8_t hop_limit = 64;
constexpr std::int64_t unanswered_reps = 3;   // and the peer is taken for gone
constexpr std::int64_t trust_ns = 1000000000; // after it has shown that it is there

wire::cm_transport transport_of(service_type service) noexcept
{
    return service == service_type::rc ? wire::cm_transport::rc : wire::cm_transport::uc;
}

template <std::size_t n>
std::vector<std::byte> bytes_of(const wire::cm_private_data<n>& data,
                                std::size_t skip = 0)
{
    return { data.begin() + static_cast<std::ptrdiff_t>(skip), data.end() };
}

} // namespace

cm_connection::cm_connection(const cm_settings& settings)
    : d_settings(settings), d_transaction_id(settings.transaction_id)
{
}

template <typename Body>
void cm_connection::send(const Body& body)
{
    d_message.transaction_id = d_transaction_id;
    d_message.body = body;
    d_has_message = true;
}

bool cm_connection::take(wire::cm_message& out)
{
    if (!d_has_message)
        return false;
    out = d_message;
    d_has_message = false;
    return true;
}

void cm_connection::wait_for_answer(std::int64_t now_ns) noexcept
{
    d_deadline_ns = now_ns + d_settings.response_ns;
}

void cm_connection::end(cm_state state) noexcept
{
    d_state = state;
    d_deadline_ns = INT64_MAX;
    d_asked_ns = INT64_MAX;
}

void cm_connection::connect(std::int64_t now_ns)
{
    d_peer = cm_peer();
    d_peer.address = d_settings.peer;
    d_state = cm_state::req_sent;
    d_give_up_ns = now_ns + d_settings.patience_ns;
    send_req(now_ns);
}

void cm_connection::send_req(std::int64_t now_ns)
{
    const cm_settings& s = d_settings;
    wire::cm_req req;
    req.local_comm_id = s.comm_id;
    req.service_id = wire::cma_service_id(wire::cma_port_space::tcp, s.port);
    req.local_ca_guid = s.guid;
    req.local_qpn = s.qpn;
    req.transport = transport_of(s.service);
    req.starting_psn = s.first_psn;
    req.remote_cm_response_timeout = wire::cm_timeout_code(s.response_ns);
    req.local_cm_response_timeout = req.remote_cm_response_timeout;
    req.retry_count = s.retry_count & 7;
    req.rnr_retry_count = s.rnr_retry & 7;
    req.max_cm_retries = 15;
    req.path_mtu = wire::mtu_code(s.mtu);
    req.primary.local_lid = req.primary.remote_lid = 0xffff;
    req.primary.local_gid = s.own;
    req.primary.remote_gid = s.peer;
    req.primary.hop_limit = hop_limit;
    req.primary.local_ack_timeout = wire::cm_timeout_code(s.ack_timeout_ns);
    wire::cma_header header;
    header.source_port = s.own_port;
    header.source = s.own;
    header.destination = s.peer;
    wire::write_cma(header, req.private_data.data());
    std::copy_n(s.private_data.begin(),
                std::min(s.private_data.size(), wire::cma_req_consumer_bytes),
                req.private_data.begin() + wire::cma_header_bytes);
    send(req);
    wait_for_answer(now_ns);
}

bool cm_connection::accept(const wire::cm_message& message,
                           const wire::ip_address& from,
                           std::int64_t now_ns)
{
    const auto& req = std::get<wire::cm_req>(message.body);
    d_transaction_id = message.transaction_id;
    d_peer.address = from;
    d_peer.comm_id = req.local_comm_id;
    d_peer.qpn = req.local_qpn;
    d_peer.first_psn = req.starting_psn;
    d_peer.mtu = static_cast<std::uint32_t>(wire::mtu_bytes(req.path_mtu));
    d_peer.private_data = bytes_of(req.private_data, wire::cma_header_bytes);

    wire::cm_rej rej;
    rej.remote_comm_id = req.local_comm_id;
    rej.answered = wire::cm_answered::req;
    if (req.transport != transport_of(d_settings.service)) {
        rej.reason = wire::cm_rej_reason::invalid_transport_service_type;
    } else if (d_peer.mtu == 0 || d_peer.mtu > d_settings.mtu) {
        rej.reason = wire::cm_rej_reason::invalid_path_mtu;
        rej.ari_bytes = 1;
        rej.ari[0] = static_cast<std::byte>(wire::mtu_code(d_settings.mtu));
    } else {
        d_state = cm_state::rep_sent;
        d_give_up_ns = now_ns + d_settings.patience_ns;
        d_asked_ns = now_ns;
        send_rep(now_ns);
        return true;
    }
    send(rej);
    end(cm_state::failed);
    return false;
}

void cm_connection::send_rep(std::int64_t now_ns)
{
    wire::cm_rep rep;
    rep.local_comm_id = d_settings.comm_id;
    rep.remote_comm_id = d_peer.comm_id;
    rep.local_qpn = d_settings.qpn;
    rep.starting_psn = d_settings.first_psn;
    rep.failover_accepted = 1; // not supported
    rep.rnr_retry_count = d_settings.rnr_retry & 7;
    rep.local_ca_guid = d_settings.guid;
    std::copy_n(d_settings.private_data.begin(),
                std::min(d_settings.private_data.size(), rep.private_data.size()),
                rep.private_data.begin());
    send(rep);
    wait_for_answer(now_ns);
}

void cm_connection::send_rtu()
{
    wire::cm_rtu rtu;
    rtu.local_comm_id = d_settings.comm_id;
    rtu.remote_comm_id = d_peer.comm_id;
    send(rtu);
}

void cm_connection::send_dreq(std::int64_t now_ns)
{
    wire::cm_dreq dreq;
    dreq.local_comm_id = d_settings.comm_id;
    dreq.remote_comm_id = d_peer.comm_id;
    dreq.remote_qpn = d_peer.qpn;
    send(dreq);
    ++d_dreqs;
    d_deadline_ns = now_ns + dreq_response_ns;
}

bool cm_connection::is_repeat(const wire::cm_req& req,
                              const wire::ip_address& from) const noexcept
{
    return from == d_peer.address && req.local_comm_id == d_peer.comm_id &&
           req.local_qpn == d_peer.qpn && req.starting_psn == d_peer.first_psn;
}

bool cm_connection::on_message(const wire::cm_message& m,
                               const wire::ip_address& from,
                               std::int64_t now_ns)
{
    if (from != d_peer.address || d_state == cm_state::idle)
        return false;
    const auto ours = [&](const auto& body) {
        return body.remote_comm_id == d_settings.comm_id;
    };
    if (const auto* req = std::get_if<wire::cm_req>(&m.body)) {
        if (!is_repeat(*req, from))
            return false;
        if (d_state == cm_state::rep_sent)
            send_rep(now_ns);
        return true;
    }
    if (const auto* rep = std::get_if<wire::cm_rep>(&m.body)) {
        if (!ours(*rep))
            return false;
        on_rep(m, now_ns);
        return true;
    }
    if (const auto* rtu = std::get_if<wire::cm_rtu>(&m.body)) {
        if (!ours(*rtu) || rtu->local_comm_id != d_peer.comm_id)
            return false;
        on_data(now_ns);
        return true;
    }
    if (const auto* rej = std::get_if<wire::cm_rej>(&m.body)) {
        // Linux gives a REQ up by a REJ that names nobody but itself.
        const bool given_up = d_state == cm_state::rep_sent && rej->remote_comm_id == 0 &&
                              rej->reason == wire::cm_rej_reason::timeout &&
                              rej->local_comm_id == d_peer.comm_id;
        if (!ours(*rej) && !given_up)
            return false;
        on_rej(*rej, now_ns);
        return true;
    }
    if (const auto* mra = std::get_if<wire::cm_mra>(&m.body)) {
        if (!ours(*mra))
            return false;
        if (d_state == cm_state::req_sent || d_state == cm_state::rep_sent)
            d_deadline_ns = std::min(d_give_up_ns,
                                     now_ns + d_settings.response_ns +
                                         wire::cm_timeout_ns(mra->service_timeout));
        return true;
    }
    if (const auto* dreq = std::get_if<wire::cm_dreq>(&m.body)) {
        if (!ours(*dreq) || dreq->local_comm_id != d_peer.comm_id)
            return false;
        wire::cm_drep drep;
        drep.local_comm_id = d_settings.comm_id;
        drep.remote_comm_id = d_peer.comm_id;
        d_transaction_id = m.transaction_id;
        send(drep);
        end(cm_state::closed);
        return true;
    }
    if (const auto* drep = std::get_if<wire::cm_drep>(&m.body)) {
        if (!ours(*drep))
            return false;
        if (d_state == cm_state::dreq_sent)
            end(cm_state::closed);
        return true;
    }
    return false;
}

void cm_connection::on_rep(const wire::cm_message& m, std::int64_t)
{
    const auto& rep = std::get<wire::cm_rep>(m.body);
    if (d_state == cm_state::established) {
        if (rep.local_comm_id == d_peer.comm_id)
            send_rtu(); // ours was lost
        return;
    }
    if (d_state != cm_state::req_sent)
        return;
    d_peer.comm_id = rep.local_comm_id;
    d_peer.qpn = rep.local_qpn;
    d_peer.first_psn = rep.starting_psn;
    d_peer.mtu = d_settings.mtu;
    d_peer.private_data = bytes_of(rep.private_data);
    end(cm_state::established);
    send_rtu();
}

void cm_connection::on_rej(const wire::cm_rej& rej, std::int64_t now_ns)
{
    const bool shaking = d_state == cm_state::req_sent || d_state == cm_state::rep_sent;
    if (!shaking && d_state != cm_state::established)
        return;
    // The peer names an MTU that suits it: ask again with that.
    if (d_state == cm_state::req_sent &&
        rej.reason == wire::cm_rej_reason::invalid_path_mtu && rej.ari_bytes >= 1) {
        const std::size_t offered =
            wire::mtu_bytes(std::to_integer<std::uint8_t>(rej.ari[0]) & 0xf);
        if (offered != 0 && offered < d_settings.mtu) {
            d_settings.mtu = static_cast<std::uint32_t>(offered);
            ++d_settings.comm_id; // the old ID belongs to the refused request
            send_req(now_ns);
            return;
        }
    }
    d_reason = rej.reason;
    d_reject_data = bytes_of(rej.private_data);
    end(cm_state::refused);
}

void cm_connection::on_data(std::int64_t now_ns) noexcept
{
    if (!asks())
        return;
    if (d_state == cm_state::established)
        d_answered_ns = now_ns;
    if (d_state == cm_state::rep_sent || d_state == cm_state::established)
        end(cm_state::established);
}

cm_liveness cm_connection::liveness(std::int64_t now_ns)
{
    const bool shaking = d_state == cm_state::rep_sent;
    if (!shaking && d_state != cm_state::established)
        return cm_liveness::alive;
    if (!shaking && d_answered_ns != INT64_MIN && now_ns - d_answered_ns < trust_ns)
        return cm_liveness::alive; // so that a flood of REQs makes no flood of REPs
    if (!asks()) {
        d_asked_ns = now_ns;
        send_rep(now_ns);
    }
    return now_ns - d_asked_ns < unanswered_reps * d_settings.response_ns
               ? cm_liveness::unknown
               : cm_liveness::dead;
}

void cm_connection::on_time(std::int64_t now_ns)
{
    if (now_ns < d_deadline_ns)
        return;
    if (d_state == cm_state::dreq_sent) {
        if (d_dreqs < most_dreqs)
            send_dreq(now_ns);
        else
            end(cm_state::closed); // the peer is gone: that is what we wanted
        return;
    }
    if (d_state == cm_state::established) {
        if (now_ns - d_asked_ns < unanswered_reps * d_settings.response_ns)
            send_rep(now_ns);
        else
            d_deadline_ns = INT64_MAX; // dead, should anybody ask again
        return;
    }
    if (now_ns >= d_give_up_ns) {
        end(cm_state::failed);
        return;
    }
    if (d_state == cm_state::req_sent)
        send_req(now_ns);
    else if (d_state == cm_state::rep_sent)
        send_rep(now_ns);
    d_deadline_ns = std::min(d_deadline_ns, d_give_up_ns);
}

void cm_connection::disconnect(std::int64_t now_ns)
{
    switch (d_state) {
    case cm_state::established:
        d_state = cm_state::dreq_sent;
        d_dreqs = 0;
        send_dreq(now_ns);
        break;
    case cm_state::rep_sent: {
        wire::cm_rej rej;
        rej.local_comm_id = d_settings.comm_id;
        rej.remote_comm_id = d_peer.comm_id;
        rej.answered = wire::cm_answered::rep;
        rej.reason = wire::cm_rej_reason::consumer_reject;
        send(rej);
        end(cm_state::closed);
        break;
    }
    case cm_state::req_sent:
    case cm_state::idle:
        d_has_message = false;
        end(cm_state::closed);
        break;
    default:
        break;
    }
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
