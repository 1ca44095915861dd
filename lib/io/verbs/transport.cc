/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/transport.h"

#include <algorithm>
#include <cerrno>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

bool may_pass(int code)
{
    return code == ETIMEDOUT || code == ENETUNREACH || code == EHOSTUNREACH ||
           code == EAGAIN || code == ENODATA;
}

ibv_qp_type qp_type_of(service_type service)
{
    return service == service_type::rc   ? IBV_QPT_RC
           : service == service_type::uc ? IBV_QPT_UC
                                         : IBV_QPT_UD;
}

} // namespace

void transport::open(context_handle owned,
                     ibv_context* context,
                     const device_facts& facts)
{
    const std::string on = "on " + facts.name;
    try {
        d_facts = facts;
        d_plan = plan_queues(d_config, facts);
        d_owned = std::move(owned);
        d_context = context;
        errno = 0;
        d_pd = pd_handle(d_api, checked(d_api.alloc_pd(context), "ibv_alloc_pd", on));
        const auto& caps = facts.device.cq_mod_caps;
        recv_cq =
            completion_queue(d_api,
                             context,
                             facts,
                             d_plan.recv_entries,
                             plan_moderation(d_config.wait, d_plan.recv_requests, caps));
        send_cq =
            completion_queue(d_api,
                             context,
                             facts,
                             d_plan.send_entries,
                             plan_moderation(d_config.wait, d_plan.send_requests, caps));
        if (d_config.service == service_type::ud) {
            mem::region grh;
            grh.host = d_grh.data();
            grh.bytes = d_grh.size();
            d_grh_memory =
                register_memory(d_api, d_pd.get(), grh, IBV_ACCESS_LOCAL_WRITE, "GRH", 0);
        }
        ibv_qp_init_attr a{};
        a.send_cq = send_cq.get();
        a.recv_cq = recv_cq.get();
        a.cap.max_send_wr = d_plan.send_requests;
        a.cap.max_recv_wr = d_plan.recv_requests;
        a.cap.max_send_sge = d_plan.send_pieces;
        a.cap.max_recv_sge = d_plan.recv_pieces;
        a.qp_type = qp_type_of(d_config.service);
        a.sq_sig_all = 1;
        errno = 0;
        d_qp = qp_handle(d_api,
                         checked(d_api.create_qp(d_pd.get(), &a),
                                 "ibv_create_qp",
                                 "of recv_depth=" + std::to_string(d_plan.recv_requests) +
                                     " and send_depth=" +
                                     std::to_string(d_plan.send_requests) + " " + on));
        initialise();
    } catch (...) {
        close();
        throw;
    }
}

std::uint32_t transport::qkey() const noexcept
{
    // The connection manager knows one Q_Key for all.
    return d_config.qpn != 0 ? d_config.qkey : RDMA_UDP_QKEY;
}

void transport::initialise()
{
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = d_facts.port;
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (d_config.service == service_type::ud) {
        a.qkey = qkey();
        mask |= IBV_QP_QKEY;
    } else {
        // A WRITE of nothing is how a peer asks for a sign of life; one of something
        // needs the key of memory that is registered for it.
        const bool open = d_config.rkey != 0 || d_config.service == service_type::rc;
        a.qp_access_flags = open ? unsigned(IBV_ACCESS_REMOTE_WRITE) : 0u;
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    modify(a, mask, "INIT");
}

void transport::modify(ibv_qp_attr& attributes, int mask, const char* to)
{
    check_code(d_api.modify_qp(d_qp.get(), &attributes, mask),
               "ibv_modify_qp",
               "to " + std::string(to) + " on " + d_facts.name);
}

unsigned transport::ring_access() const noexcept
{
    return IBV_ACCESS_LOCAL_WRITE |
           (d_config.rkey != 0 ? unsigned(IBV_ACCESS_REMOTE_WRITE) : 0u);
}

void transport::register_regions(const mem::region& ring,
                                 const mem::region& headers,
                                 std::unique_ptr<mem::registration> direct)
{
    d_ring = registration();
    d_headers = registration();
    if (direct) {
        auto* const made = dynamic_cast<registration*>(direct.get());
        if (!made || !made->mr || made->mr->pd != d_pd.get())
            throw config_error("memory: registered with another endpoint");
        d_ring = std::move(*made);
    } else if (ring.bytes != 0 && !ring.host) {
        throw config_error("memory: " + std::to_string(ring.bytes) +
                           " bytes that the CPU cannot reach, and no registration of "
                           "them");
    } else {
        const std::uint64_t slot_bytes =
            d_config.message_bytes -
            std::min<std::uint64_t>(d_config.message_bytes, d_config.header_bytes);
        d_ring = register_memory(
            d_api, d_pd.get(), ring, ring_access(), "the ring", slot_bytes);
    }
    if (d_config.header_bytes != 0)
        d_headers = register_memory(
            d_api, d_pd.get(), headers, IBV_ACCESS_LOCAL_WRITE, "the headers", 0);
}

ibv_ah_attr transport::ah_attributes(const ibv_gid& peer,
                                     std::uint8_t gid_index,
                                     std::uint8_t hops) const
{
    ibv_ah_attr a{};
    a.is_global = 1;
    a.port_num = d_facts.port;
    a.grh.dgid = peer;
    a.grh.sgid_index = gid_index;
    a.grh.hop_limit = hops;
    return a;
}

ah_handle transport::make_ah(ibv_ah_attr attributes) const
{
    errno = 0;
    return { d_api,
             checked(d_api.create_ah(d_pd.get(), &attributes),
                     "ibv_create_ah",
                     "on " + d_facts.name + " for " + gid_text(attributes.grh.dgid)) };
}

int transport::connect_static(const ibv_gid& peer,
                              std::uint8_t gid_index,
                              std::uint32_t remote_qpn,
                              std::uint32_t mtu)
{
    constexpr std::uint8_t hops = 64;
    const service_type service = d_config.service;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    int mask = IBV_QP_STATE;
    d_mtu = mtu;
    if (service != service_type::ud) {
        a.path_mtu = mtu_code(mtu);
        a.dest_qp_num = remote_qpn;
        a.rq_psn = d_config.remote_psn;
        a.ah_attr = ah_attributes(peer, gid_index, hops);
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (service == service_type::rc) {
        a.min_rnr_timer = d_config.rnr_timer;
        mask |= IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC;
    }
    const int rc = d_api.modify_qp(d_qp.get(), &a, mask);
    const int code = rc > 0 ? rc : rc < 0 ? last_error() : 0;
    if (code != 0 && service != service_type::ud && may_pass(code))
        return code;
    check_code(
        code, "ibv_modify_qp", "to RTR on " + d_facts.name + " for " + gid_text(peer));
    a = ibv_qp_attr{};
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = d_config.psn;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (service == service_type::rc) {
        a.timeout = ack_timeout_code(d_config.ack_timeout_ns);
        a.retry_cnt = plan_retries(d_config);
        a.rnr_retry = d_config.rnr_retry;
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
    }
    modify(a, mask, "RTS");
    return 0;
}

std::uint32_t transport::proposed_mtu(rdma_cm_id* id)
{
    ibv_qp_attr a{};
    int mask = 0;
    a.qp_state = IBV_QPS_RTR;
    check_errno(d_api.init_qp_attr(id, &a, &mask),
                "rdma_init_qp_attr",
                "for RTR on " + d_facts.name);
    return mtu_bytes(a.path_mtu);
}

void transport::connect_by(rdma_cm_id* id)
{
    ibv_qp_attr a{};
    int mask = 0;
    a.qp_state = IBV_QPS_RTR;
    check_errno(d_api.init_qp_attr(id, &a, &mask),
                "rdma_init_qp_attr",
                "for RTR on " + d_facts.name);
    d_mtu = mtu_bytes(a.path_mtu);
    if (mask & IBV_QP_MIN_RNR_TIMER) // 0 there, which is 655 ms
        a.min_rnr_timer = d_config.rnr_timer;
    modify(a, mask, "RTR");
    a = ibv_qp_attr{};
    a.qp_state = IBV_QPS_RTS;
    check_errno(d_api.init_qp_attr(id, &a, &mask),
                "rdma_init_qp_attr",
                "for RTS on " + d_facts.name);
    if (mask & IBV_QP_TIMEOUT)
        a.timeout = ack_timeout_code(d_config.ack_timeout_ns);
    if (mask & IBV_QP_RETRY_CNT) // on the listening side these are the peer's wishes
        a.retry_cnt = plan_retries(d_config);
    if (mask & IBV_QP_RNR_RETRY)
        a.rnr_retry = d_config.rnr_retry;
    modify(a, mask, "RTS");
}

void transport::start_over()
{
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RESET;
    modify(a, IBV_QP_STATE, "RESET");
    initialise();
    d_mtu = 0;
}

void transport::to_error() noexcept
{
    if (!d_qp)
        return;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_ERR;
    d_api.modify_qp(d_qp.get(), &a, IBV_QP_STATE);
}

ibv_sge transport::grh_piece() const noexcept
{
    ibv_sge s{};
    s.addr = reinterpret_cast<std::uintptr_t>(d_grh.data());
    s.length = grh_bytes;
    s.lkey = d_grh_memory.lkey();
    return s;
}

void transport::close() noexcept
{
    d_qp.reset();
    d_ring = registration();
    d_headers = registration();
    d_grh_memory = registration();
    recv_cq.close();
    send_cq.close();
    d_pd.reset();
    d_context = nullptr;
    d_owned.reset();
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
