/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/cm_connection.h"

#include "core/clock.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fcntl.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr int backlog = 8;
constexpr std::size_t most_reject_bytes = 100; // of the 136 for UD, 148 for RC

} // namespace

cm_connection::cm_connection(const verbs_api& api,
                             session& s,
                             transport& t,
                             receive_queue& receives,
                             send_queue& sends)
    : d_api(api), d_session(s), d_transport(t), d_receives(receives), d_sends(sends)
{
}

ibv_context* cm_connection::open(const address& own, const address& peer)
{
    d_own = own;
    d_peer = peer;
    errno = 0;
    d_channel = event_channel_handle(
        d_api, checked(d_api.create_event_channel(), "rdma_create_event_channel", ""));
    check_errno(fcntl(d_channel->fd, F_SETFL, fcntl(d_channel->fd, F_GETFL) | O_NONBLOCK),
                "fcntl",
                "on the event channel");
    rdma_cm_id* id = nullptr;
    errno = 0;
    check_errno(
        d_api.create_id(d_channel.get(), &id, is_ud() ? RDMA_PS_UDP : RDMA_PS_TCP),
        "rdma_create_id",
        "");
    d_id = id_handle(d_api, id);
    const std::string where =
        own.text() + (own.port() != 0 ? ":" + std::to_string(own.port()) : "");
    errno = 0;
    check_errno(d_api.bind_addr(id, own.get()), "rdma_bind_addr", where);
    if (!id->verbs)
        fail(ENODEV, "rdma_bind_addr", where + ": no RDMA device has this address");
    return id->verbs;
}

connection_names cm_connection::names_for(const rdma_cm_id* id) const
{
    connection_names n = d_session.names();
    const address peer(&id->route.addr.dst_addr);
    if (peer)
        n.peer = peer.text();
    return n;
}

void cm_connection::start()
{
    d_session.set_text(listening() ? "listening on " + d_session.config.listen
                                   : "connecting to " + d_session.config.connect);
    if (is_ud()) { // has no connection that could come to nothing
        const device_facts& facts = d_transport.facts();
        const std::uint32_t wanted = d_session.config.mtu;
        d_transport.connect_static(
            {},
            0,
            0,
            plan_mtu(wanted != 0 ? wanted : mtu_bytes(facts.port_attributes.active_mtu),
                     facts));
    }
    errno = 0;
    if (listening()) {
        check_errno(
            d_api.listen(d_id.get(), backlog), "rdma_listen", d_session.config.listen);
        return;
    }
    const std::int64_t limit_ns = d_session.config.connect_timeout_ns;
    d_deadline_ns = core::monotonic_ns() + limit_ns;
    check_errno(
        d_api.resolve_addr(d_id.get(),
                           nullptr,
                           d_peer.get(),
                           static_cast<int>(std::max<std::int64_t>(
                               1, std::min<std::int64_t>(limit_ns / 1000000, 60000)))),
        "rdma_resolve_addr",
        d_peer.text());
}

void cm_connection::on_events() noexcept
{
    rdma_cm_event* event = nullptr;
    while (d_channel && d_api.get_cm_event(d_channel.get(), &event) == 0) {
        try {
            event_copy e;
            e.id = event->id;
            e.type = event->event;
            e.status = event->status;
            if (is_ud() && e.type == RDMA_CM_EVENT_ESTABLISHED) {
                e.ah = event->param.ud.ah_attr;
                e.qpn = event->param.ud.qp_num;
                e.qkey = event->param.ud.qkey;
            }
            const auto* data =
                is_ud() ? event->param.ud.private_data : event->param.conn.private_data;
            const std::size_t bytes = is_ud() ? event->param.ud.private_data_len
                                              : event->param.conn.private_data_len;
            if (e.type == RDMA_CM_EVENT_REJECTED)
                e.data = data_words(data, bytes);
            d_api.ack_cm_event(event); // owed before its connection can be destroyed
            event = nullptr;
            handle_event(e);
        } catch (const std::exception& e) {
            if (event)
                d_api.ack_cm_event(event);
            d_session.fail(text_of(d_session.names()) + ": " + e.what());
        }
    }
}

void cm_connection::handle_event(const event_copy& e)
{
    if (e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
        return on_request(e);
    if (e.id != d_id.get() && e.id != d_peer_id.get() && e.id != d_caller.get())
        return; // of a peer that has been given up
    switch (e.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return on_address();
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return on_route();
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        return on_response();
    case RDMA_CM_EVENT_ESTABLISHED:
        return on_established(e);
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        return;
    default:
        return on_over(e);
    }
}

void cm_connection::on_address()
{
    // A bond may have moved the address meanwhile.
    if (d_id->verbs != d_transport.context())
        fail(ENODEV,
             "rdma_resolve_addr",
             d_peer.text() + " goes through " +
                 (d_id->verbs ? d_api.get_device_name(d_id->verbs->device)
                              : "no RDMA device") +
                 ", not through " + d_transport.facts().name);
    const std::int64_t left_ms = (d_deadline_ns - core::monotonic_ns()) / 1000000;
    errno = 0;
    check_errno(d_api.resolve_route(d_id.get(),
                                    static_cast<int>(std::max<std::int64_t>(
                                        1, std::min<std::int64_t>(left_ms, 60000)))),
                "rdma_resolve_route",
                d_peer.text());
}

void cm_connection::on_route()
{
    rdma_conn_param p{};
    const endpoint_config& c = d_session.config;
    p.private_data = c.private_data.empty() ? nullptr : c.private_data.data();
    p.private_data_len = static_cast<std::uint8_t>(c.private_data.size());
    p.retry_count = plan_retries(c);
    p.rnr_retry_count = c.rnr_retry;
    p.qp_num = d_transport.qpn();
    errno = 0;
    check_errno(d_api.connect(d_id.get(), &p), "rdma_connect", d_peer.text());
}

void cm_connection::on_response()
{
    const std::uint32_t mtu = d_transport.proposed_mtu(d_id.get());
    const std::uint32_t wanted = d_session.config.mtu;
    if (wanted != 0 && mtu > wanted)
        return d_session.fail(
            text_of(d_session.names()) + ": mtu=" + std::to_string(wanted) +
            ", and rdma_cm proposes what the "
            "interface holds, " +
            std::to_string(mtu) + "; leave mtu out, or lower the MTU of the interface");
    d_transport.connect_by(d_id.get());
    d_standing = true;
    errno = 0;
    check_errno(d_api.establish(d_id.get()), "rdma_establish", d_peer.text());
    stand();
}

void cm_connection::stand()
{
    d_deadline_ns = INT64_MAX;
    {
        std::lock_guard<std::mutex> lock(d_sends.mutex);
        d_sends.bind();
    }
    d_session.set_state(endpoint_state::connected, "");
}

void cm_connection::refuse(id_handle id, const std::string& why)
{
    d_session.counts.cm_refused.add();
    d_session.log(core::log_level::info,
                  text_of(names_for(id.get())) + ": refused: " + why);
    d_api.reject(id.get(),
                 why.data(),
                 static_cast<std::uint8_t>(std::min(why.size(), most_reject_bytes)));
}

void cm_connection::on_request(const event_copy& e)
{
    id_handle id(d_api, e.id);
    d_session.counts.cm_requests.add();
    const address peer(&id->route.addr.dst_addr);
    if (!d_allowed.empty() &&
        std::none_of(d_allowed.begin(), d_allowed.end(), [&](const address& a) {
            return a.same_host(peer);
        }))
        return refuse(std::move(id), "not in peers");
    if (d_peer_id && d_standing && !d_caller && !is_ud() && !d_session.over())
        return ask_for_life(std::move(id));
    if (d_session.over() || d_peer_id)
        return refuse(std::move(id), "busy with another sender");
    if (id->verbs != d_transport.context())
        return refuse(std::move(id), "came in through another device");
    accept(std::move(id));
}

void cm_connection::accept(id_handle id)
{
    rdma_conn_param p{};
    const endpoint_config& c = d_session.config;
    p.private_data = c.private_data.empty() ? nullptr : c.private_data.data();
    p.private_data_len = static_cast<std::uint8_t>(c.private_data.size());
    p.rnr_retry_count = c.rnr_retry;
    p.qp_num = d_transport.qpn();
    errno = 0;
    if (is_ud()) { // an answer to the question for our QPN, no more
        d_api.accept(id.get(), &p);
        return;
    }
    const std::uint32_t holds =
        c.mtu != 0 ? c.mtu : mtu_bytes(d_transport.facts().port_attributes.active_mtu);
    const std::uint32_t mtu = d_transport.proposed_mtu(id.get());
    if (mtu > holds)
        return refuse(std::move(id),
                      "path MTU " + std::to_string(mtu) + ", here " +
                          std::to_string(holds) + ": make them equal");
    try {
        d_transport.connect_by(id.get());
        d_peer_id = std::move(id);
        errno = 0;
        check_errno(d_api.accept(d_peer_id.get(), &p),
                    "rdma_accept",
                    text_of(names_for(d_peer_id.get())));
        d_deadline_ns = core::monotonic_ns() + c.connect_timeout_ns;
    } catch (const std::exception& e) {
        give_up_peer(e.what());
    }
}

void cm_connection::on_established(const event_copy& e)
{
    if (is_ud()) {
        d_sends.set_peer(d_transport.make_ah(e.ah), e.qpn, e.qkey);
        return stand();
    }
    d_standing = true;
    d_session.set_names(names_for(current()));
    stand();
}

void cm_connection::on_first_packet() noexcept
{
    if (listening() && d_peer_id && !d_standing)
        d_api.notify(d_peer_id.get(), IBV_EVENT_COMM_EST);
}

void cm_connection::on_over(const event_copy& e)
{
    const std::string words =
        cm_event_words(e.type, e.status, e.data, names_for(current()));
    if (d_caller && e.id == d_caller.get()) { // it has waited long enough
        d_caller.reset();
        return;
    }
    if (e.type == RDMA_CM_EVENT_DISCONNECTED) {
        d_caller.reset();
        d_api.disconnect(current()); // the answer that the peer waits for
        d_standing = false;
        d_transport.to_error();
        d_session.set_state(endpoint_state::closed, words);
        return;
    }
    if (d_peer_id && !d_standing && e.id == d_peer_id.get()) {
        d_session.counts.cm_timeouts.add();
        return give_up_peer(words);
    }
    d_deadline_ns = INT64_MAX;
    d_caller.reset();
    d_transport.to_error();
    d_session.fail(words);
}

void cm_connection::on_deadline() noexcept
{
    d_deadline_ns = INT64_MAX;
    try {
        if (d_caller)
            return on_answer();
        const std::string seconds =
            std::to_string(d_session.config.connect_timeout_ns / 1000000) + " ms";
        if (d_peer_id) {
            d_session.counts.cm_timeouts.add();
            give_up_peer(text_of(names_for(d_peer_id.get())) +
                         ": the peer has not completed the handshake within " + seconds);
            return;
        }
        d_transport.to_error();
        d_session.fail(text_of(d_session.names()) + ": no answer within " + seconds +
                       " (connect_timeout): is the peer up, does it listen there, and "
                       "does a firewall let UDP port 4791 pass?");
    } catch (const std::exception& e) {
        d_session.fail(text_of(d_session.names()) + ": " + e.what());
    }
}

void cm_connection::stop() noexcept
{
    if (d_standing)
        d_api.disconnect(current());
    d_standing = false;
    d_deadline_ns = INT64_MAX;
    d_caller.reset();
    d_peer_id.reset();
    d_id.reset();
    d_channel.reset();
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
