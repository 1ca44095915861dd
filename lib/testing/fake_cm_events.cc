/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Events of the fake connection manager.
#include "testing/fake_world.h"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>

namespace gr {
namespace rdma {
namespace testing {

namespace {

using lock = std::lock_guard<std::mutex>;

fake_world& world() { return *fake_world::current; }

int get_cm_event(rdma_event_channel* c, rdma_cm_event** event)
{
    const lock l(world().mutex);
    auto* channel = static_cast<fake_event_channel*>(c);
    if (!take_from_descriptor(channel->fd))
        return -1;
    fake_event* e = channel->events.front();
    channel->events.pop_front();
    ++e->owner->unacknowledged;
    *event = e;
    return 0;
}

int ack_cm_event(rdma_cm_event* event)
{
    const lock l(world().mutex);
    auto* e = static_cast<fake_event*>(event);
    --e->owner->unacknowledged;
    delete e;
    return 0;
}

} // namespace

ibv_gid fake_gid_of(const sockaddr* a)
{
    ibv_gid gid{};
    if (a->sa_family == AF_INET) {
        gid.raw[10] = gid.raw[11] = 0xff;
        std::memcpy(gid.raw + 12, &reinterpret_cast<const sockaddr_in*>(a)->sin_addr, 4);
    } else {
        std::memcpy(gid.raw, &reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr, 16);
    }
    return gid;
}

void fill_cm_events(io::verbs::verbs_api& a)
{
    a.get_cm_event = get_cm_event;
    a.ack_cm_event = ack_cm_event;
}

void fake_world::post_event(fake_id* to,
                            const char* cause,
                            rdma_cm_event_type type,
                            int status,
                            const void* data,
                            std::size_t bytes,
                            fake_id* listener)
{
    auto* e = new fake_event;
    e->event = type;
    e->status = status;
    if (data)
        e->data.assign(static_cast<const char*>(data), bytes);
    auto& planned = script[cause];
    if (!planned.empty()) {
        const scripted s = planned.front();
        planned.pop_front();
        if (s.silent) {
            delete e;
            return;
        }
        e->event = s.event;
        e->status = s.status;
        e->data = s.data;
    }
    e->id = to;
    e->listen_id = listener;
    e->owner = listener ? listener : to;
    if (to->ps == RDMA_PS_UDP) {
        rdma_ud_param& ud = e->param.ud;
        ud = rdma_ud_param();
        ud.private_data = e->data.data();
        ud.private_data_len = static_cast<std::uint8_t>(e->data.size());
        ud.ah_attr.is_global = 1;
        ud.ah_attr.grh.dgid = fake_gid_of(&to->route.addr.dst_addr);
        ud.qp_num = to->other ? to->other->qp_num : 0xffffff;
        ud.qkey = RDMA_UDP_QKEY;
    } else {
        e->param.conn = rdma_conn_param();
        e->param.conn.private_data = e->data.data();
        e->param.conn.private_data_len = static_cast<std::uint8_t>(e->data.size());
    }
    static_cast<fake_event_channel*>(to->channel)->events.push_back(e);
    ring_descriptor(to->channel->fd);
}

void fake_verbs::answer(const std::string& call,
                        rdma_cm_event_type event,
                        int status,
                        const std::string& data)
{
    const lock l(d_world->mutex);
    d_world->script[call].push_back({ false, event, status, data });
}

void fake_verbs::swallow(const std::string& call)
{
    const lock l(d_world->mutex);
    scripted s;
    s.silent = true;
    d_world->script[call].push_back(s);
}

void fake_verbs::tell_all(rdma_cm_event_type event, int status)
{
    const lock l(d_world->mutex);
    for (fake_id* id : d_world->ids)
        d_world->post_event(id, "tell_all", event, status);
}

} // namespace testing
} // namespace rdma
} // namespace gr
