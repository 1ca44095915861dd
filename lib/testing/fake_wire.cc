/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// How messages get from one fake queue pair to another.
#include "testing/fake_world.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace gr {
namespace rdma {
namespace testing {

namespace {

constexpr std::uint32_t multicast_qpn = 0xffffff;

std::uint64_t total(const std::vector<ibv_sge>& pieces)
{
    std::uint64_t bytes = 0;
    for (const ibv_sge& p : pieces)
        bytes += p.length;
    return bytes;
}

bool is_write(const fake_send& s)
{
    return s.wr.opcode == IBV_WR_RDMA_WRITE || s.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool has_immediate(const fake_send& s)
{
    return s.wr.opcode == IBV_WR_SEND_WITH_IMM ||
           s.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool receives(const fake_qp& qp)
{
    return qp.now == IBV_QPS_RTR || qp.now == IBV_QPS_RTS;
}

} // namespace

void fake_world::complete(ibv_cq* c, const ibv_wc& wc)
{
    auto& cq = *reinterpret_cast<fake_cq*>(c);
    if (cq.entries.size() == cq.room)
        problem("a completion queue has overrun");
    cq.entries.push_back(wc);
    cq.stamps.push_back(static_cast<std::uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch().count()));
    if (!cq.armed || !cq.channel)
        return;
    cq.armed = false;
    cq.channel->events.push_back(c);
    ring_descriptor(cq.channel->fd);
}

void fake_world::complete_receive(fake_qp& qp, const fake_recv& r, ibv_wc wc)
{
    wc.wr_id = r.wr_id;
    wc.qp_num = qp.qp_num;
    if (wc.status == IBV_WC_SUCCESS && qp.next_status != IBV_WC_SUCCESS) {
        wc.status = qp.next_status;
        wc.vendor_err = qp.next_vendor;
        qp.next_status = IBV_WC_SUCCESS;
    }
    complete(qp.recv_cq, wc);
}

void fake_world::finish_send(fake_qp& qp, ibv_wc_status status)
{
    ibv_wc wc{};
    wc.wr_id = qp.sends.front().wr.wr_id;
    wc.status = status;
    wc.qp_num = qp.qp_num;
    if (status == IBV_WC_SUCCESS && qp.next_status != IBV_WC_SUCCESS &&
        qp.receives.empty()) {
        wc.status = qp.next_status;
        wc.vendor_err = qp.next_vendor;
        qp.next_status = IBV_WC_SUCCESS;
    }
    qp.sends.pop_front();
    complete(qp.send_cq, wc);
    if (wc.status != IBV_WC_SUCCESS)
        to_error(qp);
}

void fake_world::to_error(fake_qp& qp)
{
    qp.now = IBV_QPS_ERR;
    ibv_wc flushed{};
    flushed.status = IBV_WC_WR_FLUSH_ERR;
    for (; !qp.receives.empty(); qp.receives.pop_front())
        complete_receive(qp, qp.receives.front(), flushed);
    for (; !qp.sends.empty(); qp.sends.pop_front()) {
        flushed.wr_id = qp.sends.front().wr.wr_id;
        complete(qp.send_cq, flushed);
    }
}

bool fake_world::covered(const ibv_sge& piece, ibv_pd* pd, unsigned access) const
{
    const auto found = mrs.find(piece.lkey);
    if (found == mrs.end() || found->second->pd != pd ||
        (found->second->access & access) != access)
        return false;
    const auto base = reinterpret_cast<std::uintptr_t>(found->second->addr);
    return piece.addr >= base && piece.length <= found->second->length &&
           piece.addr - base <= found->second->length - piece.length;
}

bool fake_world::gather(const fake_send& s, ibv_pd* pd, std::vector<std::uint8_t>& out)
{
    for (const ibv_sge& p : s.pieces) {
        if (!covered(p, pd, 0))
            return false;
        const auto* from = reinterpret_cast<const std::uint8_t*>(p.addr);
        out.insert(out.end(), from, from + p.length);
    }
    return true;
}

ibv_wc_status fake_world::scatter(const std::vector<ibv_sge>& pieces,
                                  ibv_pd* pd,
                                  const std::vector<std::uint8_t>& data)
{
    std::size_t at = 0;
    for (const ibv_sge& p : pieces) {
        const std::size_t n = std::min<std::size_t>(p.length, data.size() - at);
        if (n != 0 && !covered(p, pd, IBV_ACCESS_LOCAL_WRITE))
            return IBV_WC_LOC_PROT_ERR;
        if (n != 0)
            std::memcpy(reinterpret_cast<void*>(p.addr), data.data() + at, n);
        at += n;
    }
    return IBV_WC_SUCCESS;
}

// The queue pair that this one is connected to, if both sides mean each other's address.
fake_qp* fake_world::peer_of(fake_qp& qp)
{
    const ibv_qp_attr& a = qp.attributes[IBV_QPS_RTR];
    const auto found = qps.find(a.dest_qp_num);
    if (found == qps.end() || found->second->qp_type != qp.qp_type ||
        found->second->cut_off || qp.cut_off)
        return nullptr;
    const auto* context = reinterpret_cast<fake_context*>(found->second->context);
    return device_with(a.ah_attr.grh.dgid) == context->device ? found->second : nullptr;
}

bool fake_world::send_datagram(fake_qp& from, fake_send& s)
{
    std::vector<std::uint8_t> data(40); // the routing header
    if (!gather(s, from.pd, data)) {
        finish_send(from, IBV_WC_LOC_PROT_ERR);
        return true;
    }
    const auto* ah = static_cast<const fake_ah*>(s.wr.wr.ud.ah);
    const std::string gid = fake_gid_text(ah->attributes.grh.dgid);
    for (const auto& known : qps) {
        fake_qp& to = *known.second;
        const bool meant =
            s.wr.wr.ud.remote_qpn == multicast_qpn
                ? to.groups.count(gid) != 0
                : to.qp_num == s.wr.wr.ud.remote_qpn &&
                      device_with(ah->attributes.grh.dgid) ==
                          reinterpret_cast<fake_context*>(to.context)->device;
        if (!meant || !receives(to) || to.qp_type != IBV_QPT_UD ||
            to.attributes[IBV_QPS_INIT].qkey != s.wr.wr.ud.remote_qkey ||
            to.receives.empty() || total(to.receives.front().pieces) < data.size())
            continue;
        ibv_wc wc{};
        wc.status = scatter(to.receives.front().pieces, to.pd, data);
        wc.opcode = IBV_WC_RECV;
        wc.byte_len = static_cast<std::uint32_t>(data.size());
        wc.wc_flags = IBV_WC_GRH | (has_immediate(s) ? unsigned(IBV_WC_WITH_IMM) : 0u);
        wc.imm_data = s.wr.imm_data;
        const fake_recv r = to.receives.front();
        to.receives.pop_front();
        complete_receive(to, r, wc);
    }
    finish_send(from, IBV_WC_SUCCESS);
    return true;
}

// To a peer that has a receive, if it needs one.
bool fake_world::deliver(fake_qp& from, fake_qp& to, fake_send& s)
{
    const bool reliable = from.qp_type == IBV_QPT_RC;
    const auto fail_both = [&](ibv_wc_status here, ibv_wc_status there) {
        finish_send(from, here);
        if (there != IBV_WC_SUCCESS) {
            ibv_wc wc{};
            wc.status = there;
            const fake_recv r = to.receives.front();
            to.receives.pop_front();
            complete_receive(to, r, wc);
        }
        to_error(to);
    };
    std::vector<std::uint8_t> data;
    if (!gather(s, from.pd, data)) {
        finish_send(from, IBV_WC_LOC_PROT_ERR);
        return true;
    }
    ibv_wc wc{};
    if (is_write(s)) {
        const ibv_sge target = { s.wr.wr.rdma.remote_addr,
                                 static_cast<std::uint32_t>(data.size()),
                                 s.wr.wr.rdma.rkey };
        const bool nothing = data.empty(); // needs no key
        const bool allowed =
            (to.attributes[IBV_QPS_INIT].qp_access_flags & IBV_ACCESS_REMOTE_WRITE) &&
            (nothing || covered(target, to.pd, IBV_ACCESS_REMOTE_WRITE));
        if (!allowed && reliable) {
            fail_both(IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS);
            return true;
        }
        if (allowed && !nothing)
            scatter({ target }, to.pd, data);
        wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
        if (!allowed || s.wr.opcode == IBV_WR_RDMA_WRITE) {
            finish_send(from, IBV_WC_SUCCESS);
            return true;
        }
    } else {
        if (total(to.receives.front().pieces) < data.size()) {
            if (reliable)
                fail_both(IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR);
            else
                finish_send(from, IBV_WC_SUCCESS);
            return true;
        }
        wc.opcode = IBV_WC_RECV;
        wc.status = scatter(to.receives.front().pieces, to.pd, data);
        if (wc.status != IBV_WC_SUCCESS && reliable) {
            fail_both(IBV_WC_REM_OP_ERR, wc.status);
            return true;
        }
    }
    wc.byte_len = static_cast<std::uint32_t>(data.size());
    wc.wc_flags = has_immediate(s) ? unsigned(IBV_WC_WITH_IMM) : 0u;
    wc.imm_data = s.wr.imm_data;
    const fake_recv r = to.receives.front();
    to.receives.pop_front();
    complete_receive(to, r, wc);
    finish_send(from, IBV_WC_SUCCESS);
    return true;
}

bool fake_world::step(fake_qp& qp)
{
    if (qp.now != IBV_QPS_RTS || qp.sends.empty())
        return false;
    fake_send& s = qp.sends.front();
    if (qp.qp_type == IBV_QPT_UD)
        return send_datagram(qp, s);
    const bool reliable = qp.qp_type == IBV_QPT_RC;
    fake_qp* to = peer_of(qp);
    if (reliable && to && to->now == IBV_QPS_INIT)
        return false; // sent again and again until it is there
    if (!to || !receives(*to)) {
        finish_send(qp, reliable ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
        return true;
    }
    if (s.wr.opcode != IBV_WR_RDMA_WRITE && to->receives.empty()) {
        if (!reliable) {
            finish_send(qp, IBV_WC_SUCCESS);
            return true;
        }
        if (!s.waited) {
            ++hw[reinterpret_cast<fake_context*>(to->context)->device->options.name]
                ["send_rnr_err"];
            ++hw[reinterpret_cast<fake_context*>(qp.context)->device->options.name]
                ["rcvd_rnr_err"];
        }
        s.waited = true;
        return false;
    }
    ++hw[reinterpret_cast<fake_context*>(qp.context)->device->options.name]["sent_pkts"];
    ++hw[reinterpret_cast<fake_context*>(to->context)->device->options.name]["rcvd_pkts"];
    return deliver(qp, *to, s);
}

void fake_world::run()
{
    for (bool moved = true; moved;) {
        moved = false;
        for (const auto& qp : qps)
            while (step(*qp.second))
                moved = true;
    }
}

} // namespace testing
} // namespace rdma
} // namespace gr
