/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The fake connection manager: librdmacm's identifiers, channels and events.
#include "testing/fake_world.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

namespace {

using lock = std::lock_guard<std::mutex>;

constexpr int no_listener = 8; // reason of a refusal
constexpr int by_consumer = 28;

fake_world& world() { return *fake_world::current; }
fake_id& of(rdma_cm_id* id) { return *static_cast<fake_id*>(id); }

int refused(int code)
{
    errno = code;
    return -1;
}

std::uint16_t port_of(const sockaddr* a)
{
    return a->sa_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(a)->sin_port
                                   : reinterpret_cast<const sockaddr_in6*>(a)->sin6_port;
}

void copy(sockaddr_storage& to, const sockaddr* from)
{
    std::memcpy(&to,
                from,
                from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

bool same(const sockaddr* a, const sockaddr* b)
{
    return a->sa_family == b->sa_family && port_of(a) == port_of(b) &&
           fake_gid_text(fake_gid_of(a)) == fake_gid_text(fake_gid_of(b));
}

ibv_context* cm_context(fake_device* device)
{
    fake_context*& known = world().cm_contexts[device];
    if (!known)
        known = world().open(*device);
    return &known->context;
}

rdma_event_channel* create_event_channel()
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_create_event_channel")) {
        errno = code;
        return nullptr;
    }
    auto* channel = new fake_event_channel;
    channel->fd = event_descriptor();
    world().event_channels.insert(channel);
    return channel;
}

int destroy_event_channel(rdma_event_channel* c)
{
    const lock l(world().mutex);
    auto* channel = static_cast<fake_event_channel*>(c);
    world().enter("rdma_destroy_event_channel");
    if (channel->users != 0)
        world().problem("rdma_destroy_event_channel before its identifiers");
    world().event_channels.erase(channel);
    close(channel->fd);
    delete channel;
    return 0;
}

fake_id* make_id(rdma_event_channel* channel, rdma_port_space space)
{
    auto* id = new fake_id;
    id->channel = channel;
    id->ps = space;
    ++static_cast<fake_event_channel*>(channel)->users;
    world().ids.insert(id);
    return id;
}

int create_id(rdma_event_channel* channel, rdma_cm_id** id, rdma_port_space space)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_create_id"))
        return refused(code);
    *id = make_id(channel, space);
    return 0;
}

void drop(fake_id& id);

// The kernel throws away what was not fetched yet, with the callers that were never
// shown.
void forget_events(fake_id& id)
{
    auto& events = static_cast<fake_event_channel*>(id.channel)->events;
    for (auto i = events.begin(); i != events.end();) {
        if ((*i)->owner != &id) {
            ++i;
            continue;
        }
        auto* const caller = static_cast<fake_id*>((*i)->id);
        delete *i;
        i = events.erase(i);
        take_from_descriptor(id.channel->fd);
        if (caller != &id)
            drop(*caller);
    }
}

void part(fake_id& id, const char* cause)
{
    fake_id* other = id.other;
    if (id.connected && other && other->connected)
        world().post_event(other, cause, RDMA_CM_EVENT_DISCONNECTED, 0);
    if (other)
        other->other = nullptr;
    id.other = nullptr;
    id.connected = false;
}

void drop(fake_id& id)
{
    part(id, "rdma_destroy_id");
    forget_events(id);
    --static_cast<fake_event_channel*>(id.channel)->users;
    world().ids.erase(&id);
    delete &id;
}

int destroy_id(rdma_cm_id* i)
{
    const lock l(world().mutex);
    fake_id& id = of(i);
    world().enter("rdma_destroy_id");
    if (id.unacknowledged != 0)
        world().problem("rdma_destroy_id with an event that was not acknowledged");
    if (!id.groups.empty())
        world().problem("rdma_destroy_id in a multicast group");
    drop(id);
    return 0;
}

int bind_addr(rdma_cm_id* i, sockaddr* address)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_bind_addr"))
        return refused(code);
    for (const fake_id* other : world().ids)
        if (port_of(address) != 0 && other->bound && other->ps == i->ps &&
            same(&other->route.addr.src_addr, address))
            return refused(EADDRINUSE);
    fake_id& id = of(i);
    id.device = world().device_with(fake_gid_of(address));
    if (!id.device)
        return refused(EADDRNOTAVAIL);
    id.bound = true;
    id.verbs = cm_context(id.device);
    id.port_num = 1;
    copy(id.route.addr.src_storage, address);
    return 0;
}

int listen(rdma_cm_id* id, int)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_listen"))
        return refused(code);
    of(id).listening = true;
    return 0;
}

int resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr* peer, int)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_resolve_addr"))
        return refused(code);
    copy(id->route.addr.dst_storage, peer);
    world().post_event(&of(id), "rdma_resolve_addr", RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    return 0;
}

int resolve_route(rdma_cm_id* id, int)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_resolve_route"))
        return refused(code);
    world().post_event(&of(id), "rdma_resolve_route", RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    return 0;
}

fake_id* listener_at(const rdma_cm_id& caller)
{
    for (fake_id* id : world().ids)
        if (id->listening && id->ps == caller.ps &&
            same(&id->route.addr.src_addr, &caller.route.addr.dst_addr))
            return id;
    return nullptr;
}

int connect(rdma_cm_id* i, rdma_conn_param* p)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_connect"))
        return refused(code);
    fake_id& id = of(i);
    id.qp_num = p->qp_num;
    fake_id* listener = listener_at(id);
    const bool scripted = !world().script["rdma_connect"].empty();
    if (!listener || scripted) {
        world().post_event(&id, "rdma_connect", RDMA_CM_EVENT_REJECTED, no_listener);
        return 0;
    }
    auto& planned = world().script["request"];
    if (!planned.empty() && planned.front().silent) {
        planned.pop_front();
        return 0;
    }
    fake_id* child = make_id(listener->channel, listener->ps);
    child->device = listener->device;
    child->verbs = listener->verbs;
    child->port_num = 1;
    copy(child->route.addr.src_storage, &listener->route.addr.src_addr);
    copy(child->route.addr.dst_storage, &id.route.addr.src_addr);
    child->other = &id;
    id.other = child;
    world().post_event(child,
                       "request",
                       RDMA_CM_EVENT_CONNECT_REQUEST,
                       0,
                       p->private_data,
                       p->private_data_len,
                       listener);
    return 0;
}

int accept(rdma_cm_id* i, rdma_conn_param* p)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_accept"))
        return refused(code);
    fake_id& id = of(i);
    if (!id.other)
        return refused(EINVAL);
    id.qp_num = p->qp_num;
    world().post_event(id.other,
                       "rdma_accept",
                       id.ps == RDMA_PS_UDP ? RDMA_CM_EVENT_ESTABLISHED
                                            : RDMA_CM_EVENT_CONNECT_RESPONSE,
                       0,
                       p->private_data,
                       p->private_data_len);
    return 0;
}

int reject(rdma_cm_id* i, const void* data, std::uint8_t bytes)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_reject"))
        return refused(code);
    fake_id& id = of(i);
    if (id.other)
        world().post_event(
            id.other, "rdma_reject", RDMA_CM_EVENT_REJECTED, by_consumer, data, bytes);
    return 0;
}

int establish(rdma_cm_id* i)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_establish"))
        return refused(code);
    fake_id& id = of(i);
    if (!id.other)
        return refused(EINVAL);
    id.connected = id.other->connected = true;
    world().post_event(id.other, "rdma_establish", RDMA_CM_EVENT_ESTABLISHED, 0);
    return 0;
}

int disconnect(rdma_cm_id* i)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_disconnect"))
        return refused(code);
    fake_id& id = of(i);
    part(id, "rdma_disconnect");
    return 0;
}

int notify(rdma_cm_id* i, ibv_event_type)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_notify"))
        return refused(code);
    world().post_event(&of(i), "rdma_notify", RDMA_CM_EVENT_ESTABLISHED, 0);
    return 0;
}

// As the kernel fills them: RNR timer 0, retries as the caller asked for.
int init_qp_attr(rdma_cm_id* i, ibv_qp_attr* a, int* mask)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_init_qp_attr"))
        return refused(code);
    const fake_id& id = of(i);
    if (!id.other)
        return refused(EINVAL);
    const ibv_qp_state to = a->qp_state;
    *a = ibv_qp_attr();
    a->qp_state = to;
    if (to == IBV_QPS_RTR) {
        const fake_id& caller = id.listening || !id.bound ? *id.other : id;
        a->path_mtu = caller.device->options.mtu;
        a->dest_qp_num = id.other->qp_num;
        a->ah_attr.is_global = 1;
        a->ah_attr.grh.dgid = fake_gid_of(&id.route.addr.dst_addr);
        *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    } else {
        a->timeout = 19;
        a->retry_cnt = a->rnr_retry = 3;
        *mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return 0;
}

int join_multicast(rdma_cm_id* i, sockaddr* group, void*)
{
    const lock l(world().mutex);
    if (const int code = world().enter("rdma_join_multicast"))
        return refused(code);
    copy(i->route.addr.dst_storage, group);
    of(i).groups.insert(fake_gid_text(fake_gid_of(group)));
    world().post_event(&of(i), "rdma_join_multicast", RDMA_CM_EVENT_MULTICAST_JOIN, 0);
    return 0;
}

int leave_multicast(rdma_cm_id* i, sockaddr* group)
{
    const lock l(world().mutex);
    world().enter("rdma_leave_multicast");
    of(i).groups.erase(fake_gid_text(fake_gid_of(group)));
    return 0;
}

} // namespace

void fill_cm(io::verbs::verbs_api& a)
{
    a.create_event_channel = create_event_channel;
    a.destroy_event_channel = destroy_event_channel;
    a.create_id = create_id;
    a.destroy_id = destroy_id;
    a.bind_addr = bind_addr;
    a.listen = listen;
    a.resolve_addr = resolve_addr;
    a.resolve_route = resolve_route;
    a.connect = connect;
    a.establish = establish;
    a.accept = accept;
    a.reject = reject;
    a.disconnect = disconnect;
    a.notify = notify;
    a.init_qp_attr = init_qp_attr;
    a.join_multicast = join_multicast;
    a.leave_multicast = leave_multicast;
}

} // namespace testing
} // namespace rdma
} // namespace gr
