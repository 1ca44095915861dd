/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Completion queues and queue pairs of the fake devices, and what programs do with them.
#include "testing/fake_world.h"

#include <cerrno>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

namespace {

using lock = std::lock_guard<std::mutex>;

fake_world& world() { return *fake_world::current; }

template <typename T>
T* refused(int code)
{
    errno = code;
    return nullptr;
}

fake_cq& of(ibv_cq* cq) { return *reinterpret_cast<fake_cq*>(cq); }

ibv_comp_channel* create_comp_channel(ibv_context* context)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_create_comp_channel"))
        return refused<ibv_comp_channel>(code);
    auto* channel = new fake_channel;
    channel->context = context;
    channel->fd = event_descriptor();
    world().channels.insert(channel);
    return channel;
}

int destroy_comp_channel(ibv_comp_channel* c)
{
    const lock l(world().mutex);
    auto* channel = static_cast<fake_channel*>(c);
    world().enter("ibv_destroy_comp_channel");
    if (channel->users != 0)
        world().problem("ibv_destroy_comp_channel before its queue");
    world().channels.erase(channel);
    close(channel->fd);
    delete channel;
    return 0;
}

fake_cq* make_cq(ibv_context* context, int entries, ibv_comp_channel* channel)
{
    auto* cq = new fake_cq;
    cq->extended.context = context;
    cq->extended.channel = channel;
    cq->extended.cqe = entries;
    cq->room = static_cast<std::size_t>(entries);
    cq->channel = static_cast<fake_channel*>(channel);
    if (channel)
        ++cq->channel->users;
    world().cqs.insert(cq);
    return cq;
}

ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_create_cq"))
        return refused<ibv_cq>(code);
    return make_cq(context, entries, channel)->cq();
}

fake_cq& of(ibv_cq_ex* cq) { return *reinterpret_cast<fake_cq*>(cq); }

// The entry that start_poll and next_poll stand on is the first one.
void stand_on_first(ibv_cq_ex* cq)
{
    cq->wr_id = of(cq).entries.front().wr_id;
    cq->status = of(cq).entries.front().status;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr*)
{
    const lock l(world().mutex);
    if (of(cq).entries.empty())
        return ENOENT;
    stand_on_first(cq);
    return 0;
}

void leave_first(ibv_cq_ex* cq)
{
    of(cq).entries.pop_front();
    of(cq).stamps.pop_front();
}

int next_poll(ibv_cq_ex* cq)
{
    const lock l(world().mutex);
    if (of(cq).entries.size() == 1)
        return ENOENT; // end_poll() leaves the last
    leave_first(cq);
    stand_on_first(cq);
    return 0;
}

void end_poll(ibv_cq_ex* cq)
{
    const lock l(world().mutex);
    leave_first(cq);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* a)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_create_cq_ex"))
        return refused<ibv_cq_ex>(code);
    fake_cq* cq = make_cq(context, static_cast<int>(a->cqe), a->channel);
    ibv_cq_ex& e = cq->extended;
    e.start_poll = start_poll;
    e.next_poll = next_poll;
    e.end_poll = end_poll;
    e.read_opcode = [](ibv_cq_ex* c) { return of(c).entries.front().opcode; };
    e.read_vendor_err = [](ibv_cq_ex* c) { return of(c).entries.front().vendor_err; };
    e.read_byte_len = [](ibv_cq_ex* c) { return of(c).entries.front().byte_len; };
    e.read_imm_data = [](ibv_cq_ex* c) { return of(c).entries.front().imm_data; };
    e.read_wc_flags = [](ibv_cq_ex* c) { return of(c).entries.front().wc_flags; };
    e.read_completion_ts = [](ibv_cq_ex* c) { return of(c).stamps.front(); };
    return &e;
}

int destroy_cq(ibv_cq* c)
{
    const lock l(world().mutex);
    fake_cq& cq = of(c);
    world().enter("ibv_destroy_cq");
    if (cq.users != 0)
        world().problem("ibv_destroy_cq before its queue pair");
    if (cq.unacknowledged != 0)
        world().problem("ibv_destroy_cq with events that were not acknowledged");
    if (cq.channel)
        --cq.channel->users;
    world().cqs.erase(&cq);
    delete &cq;
    return 0;
}

int modify_cq(ibv_cq*, ibv_modify_cq_attr*)
{
    const lock l(world().mutex);
    return world().enter("ibv_modify_cq");
}

int get_cq_event(ibv_comp_channel* c, ibv_cq** cq, void** context)
{
    const lock l(world().mutex);
    auto* channel = static_cast<fake_channel*>(c);
    if (!take_from_descriptor(channel->fd))
        return -1;
    *cq = channel->events.front();
    *context = nullptr;
    channel->events.pop_front();
    ++of(*cq).unacknowledged;
    return 0;
}

void ack_cq_events(ibv_cq* cq, unsigned n)
{
    const lock l(world().mutex);
    of(cq).unacknowledged -= static_cast<int>(n);
}

int poll_cq(ibv_cq* c, int max, ibv_wc* out)
{
    const lock l(world().mutex);
    fake_cq& cq = of(c);
    int n = 0;
    for (; n < max && !cq.entries.empty(); ++n) {
        out[n] = cq.entries.front();
        cq.entries.pop_front();
        cq.stamps.pop_front();
        if (out[n].status != IBV_WC_SUCCESS) // only these two hold anything
            out[n].opcode = static_cast<ibv_wc_opcode>(0x7ead);
    }
    return n;
}

int req_notify_cq(ibv_cq* cq, int)
{
    const lock l(world().mutex);
    of(cq).armed = true;
    return 0;
}

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* a)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_create_qp"))
        return refused<ibv_qp>(code);
    const auto& limits = reinterpret_cast<fake_context*>(pd->context)->device->options;
    if (static_cast<int>(a->cap.max_recv_wr) > limits.max_qp_wr ||
        static_cast<int>(a->cap.max_recv_sge) > limits.max_sge)
        return refused<ibv_qp>(EINVAL);
    auto* qp = new fake_qp;
    qp->context = pd->context;
    qp->pd = pd;
    qp->send_cq = a->send_cq;
    qp->recv_cq = a->recv_cq;
    qp->qp_type = a->qp_type;
    qp->qp_num = world().next_qpn++;
    qp->cap = a->cap;
    ++of(a->send_cq).users;
    ++of(a->recv_cq).users;
    ++static_cast<fake_pd*>(pd)->users;
    world().qps[qp->qp_num] = qp;
    return qp;
}

int destroy_qp(ibv_qp* q)
{
    const lock l(world().mutex);
    auto* qp = static_cast<fake_qp*>(q);
    world().enter("ibv_destroy_qp");
    if ((qp->now == IBV_QPS_RTR || qp->now == IBV_QPS_RTS) && !qp->error_refused)
        world().problem("ibv_destroy_qp that was not in error");
    if (!qp->groups.empty())
        world().problem("ibv_destroy_qp in a multicast group");
    --of(qp->send_cq).users;
    --of(qp->recv_cq).users;
    --static_cast<fake_pd*>(qp->pd)->users;
    world().qps.erase(qp->qp_num);
    delete qp;
    world().run(); // its peers find it gone
    return 0;
}

// Attributes that a change must give, no more and no less.
int wanted_mask(ibv_qp_type type, ibv_qp_state to)
{
    const bool rc = type == IBV_QPT_RC;
    if (to == IBV_QPS_INIT)
        return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    if (to == IBV_QPS_RTR)
        return type == IBV_QPT_UD
                   ? IBV_QP_STATE
                   : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN |
                         (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    if (to == IBV_QPS_RTS)
        return IBV_QP_STATE | IBV_QP_SQ_PSN |
               (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_MAX_QP_RD_ATOMIC
                   : 0);
    return IBV_QP_STATE;
}

bool follows(ibv_qp_state from, ibv_qp_state to)
{
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return true;
    return (to == IBV_QPS_INIT && from == IBV_QPS_RESET) ||
           (to == IBV_QPS_RTR && from == IBV_QPS_INIT) ||
           (to == IBV_QPS_RTS && from == IBV_QPS_RTR);
}

int modify_qp(ibv_qp* q, ibv_qp_attr* a, int mask)
{
    const lock l(world().mutex);
    auto* qp = static_cast<fake_qp*>(q);
    if (const int code = world().enter("ibv_modify_qp")) {
        qp->error_refused = a->qp_state == IBV_QPS_ERR;
        return code;
    }
    if (!follows(qp->now, a->qp_state) || mask != wanted_mask(qp->qp_type, a->qp_state))
        return EINVAL;
    if (a->qp_state == IBV_QPS_ERR) {
        world().to_error(*qp);
        return 0;
    }
    if (a->qp_state == IBV_QPS_RESET) {
        qp->sends.clear();
        qp->receives.clear();
    }
    qp->now = a->qp_state;
    qp->attributes[a->qp_state] = *a;
    world().run();
    return 0;
}

int attach_mcast(ibv_qp* q, const ibv_gid* gid, std::uint16_t)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_attach_mcast"))
        return code;
    static_cast<fake_qp*>(q)->groups.insert(fake_gid_text(*gid));
    return 0;
}

int detach_mcast(ibv_qp* q, const ibv_gid* gid, std::uint16_t)
{
    const lock l(world().mutex);
    world().enter("ibv_detach_mcast");
    static_cast<fake_qp*>(q)->groups.erase(fake_gid_text(*gid));
    return 0;
}

int post_recv(ibv_qp* q, ibv_recv_wr* wr, ibv_recv_wr** refused_at)
{
    const lock l(world().mutex);
    auto* qp = static_cast<fake_qp*>(q);
    for (; wr; wr = wr->next) {
        int code = world().enter("ibv_post_recv");
        if (code == 0 && qp->now == IBV_QPS_RESET)
            code = EINVAL;
        if (code == 0 && qp->receives.size() == qp->cap.max_recv_wr)
            code = ENOMEM;
        if (code != 0) {
            *refused_at = wr;
            return code;
        }
        fake_recv r;
        r.wr_id = wr->wr_id;
        r.pieces.assign(wr->sg_list, wr->sg_list + wr->num_sge);
        if (qp->now == IBV_QPS_ERR) {
            ibv_wc flushed{};
            flushed.status = IBV_WC_WR_FLUSH_ERR;
            world().complete_receive(*qp, r, flushed);
        } else {
            qp->receives.push_back(r);
        }
    }
    world().run();
    return 0;
}

int post_send(ibv_qp* q, ibv_send_wr* wr, ibv_send_wr** refused_at)
{
    const lock l(world().mutex);
    auto* qp = static_cast<fake_qp*>(q);
    for (; wr; wr = wr->next) {
        int code = world().enter("ibv_post_send");
        if (code == 0 && qp->now != IBV_QPS_RTS && qp->now != IBV_QPS_ERR)
            code = EINVAL;
        if (code == 0 && qp->sends.size() == qp->cap.max_send_wr)
            code = ENOMEM;
        if (code != 0) {
            *refused_at = wr;
            return code;
        }
        fake_send s;
        s.wr = *wr;
        s.pieces.assign(wr->sg_list, wr->sg_list + wr->num_sge);
        qp->sends.push_back(s);
        if (qp->now == IBV_QPS_ERR)
            world().to_error(*qp);
    }
    world().run();
    return 0;
}

} // namespace

void fill_operations(ibv_context& context)
{
    context.ops.poll_cq = poll_cq;
    context.ops.req_notify_cq = req_notify_cq;
    context.ops.post_recv = post_recv;
    context.ops.post_send = post_send;
}

void fill_queues(io::verbs::verbs_api& a)
{
    a.create_comp_channel = create_comp_channel;
    a.destroy_comp_channel = destroy_comp_channel;
    a.create_cq = create_cq;
    a.create_cq_ex = create_cq_ex;
    a.destroy_cq = destroy_cq;
    a.modify_cq = modify_cq;
    a.get_cq_event = get_cq_event;
    a.ack_cq_events = ack_cq_events;
    a.create_qp = create_qp;
    a.modify_qp = modify_qp;
    a.destroy_qp = destroy_qp;
    a.attach_mcast = attach_mcast;
    a.detach_mcast = detach_mcast;
}

} // namespace testing
} // namespace rdma
} // namespace gr
