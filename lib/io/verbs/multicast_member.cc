/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/multicast_member.h"

#include <cerrno>
#include <exception>
#include <fcntl.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

void multicast_member::start(const address& own, const address& group)
{
    d_group = group;
    errno = 0;
    d_channel = event_channel_handle(
        d_api, checked(d_api.create_event_channel(), "rdma_create_event_channel", ""));
    check_errno(fcntl(d_channel->fd, F_SETFL, fcntl(d_channel->fd, F_GETFL) | O_NONBLOCK),
                "fcntl",
                "on the event channel");
    rdma_cm_id* id = nullptr;
    errno = 0;
    check_errno(d_api.create_id(d_channel.get(), &id, RDMA_PS_UDP), "rdma_create_id", "");
    d_id = id_handle(d_api, id);
    address from = own;
    from.set_port(0);
    errno = 0;
    check_errno(d_api.bind_addr(id, from.get()), "rdma_bind_addr", own.text());
    errno = 0;
    check_errno(d_api.join_multicast(id, d_group.get(), nullptr),
                "rdma_join_multicast",
                group.text() + " from " + own.text());
    d_joined = true;
}

void multicast_member::on_events() noexcept
{
    rdma_cm_event* event = nullptr;
    while (d_channel && d_api.get_cm_event(d_channel.get(), &event) == 0) {
        const rdma_cm_event_type type = event->event;
        const int status = event->status;
        const ibv_ah_attr ah = event->param.ud.ah_attr;
        d_api.ack_cm_event(event);
        try {
            if (type == RDMA_CM_EVENT_MULTICAST_JOIN) {
                on_join(ah);
                continue;
            }
            connection_names names = d_session.names();
            names.peer = d_group.text();
            d_session.fail(cm_event_words(type, status, "", names));
        } catch (const std::exception& e) {
            d_session.fail(text_of(d_session.names()) + ": " + e.what());
        }
    }
}

void multicast_member::on_join(const ibv_ah_attr& attributes)
{
    d_gid = attributes.grh.dgid;
    d_lid = attributes.dlid;
    check_code(d_api.attach_mcast(d_transport.qp(), &d_gid, d_lid),
               "ibv_attach_mcast",
               d_group.text() + " on " + d_transport.facts().name);
    d_attached = true;
    d_session.log(core::log_level::info,
                  "joined " + d_group.text() + " on " + d_transport.facts().name);
}

void multicast_member::stop() noexcept
{
    if (d_attached)
        d_api.detach_mcast(d_transport.qp(), &d_gid, d_lid);
    if (d_joined)
        d_api.leave_multicast(d_id.get(), d_group.get());
    d_attached = d_joined = false;
    d_id.reset();
    d_channel.reset();
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
