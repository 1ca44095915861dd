/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/verbs_api.h"

#include <atomic>
#include <fstream>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

std::atomic<const verbs_api*> replaced{ nullptr };

bool read_hw_counter(const char* device,
                     unsigned port,
                     const char* name,
                     std::uint64_t* value)
{
    std::ifstream file("/sys/class/infiniband/" + std::string(device) + "/ports/" +
                       std::to_string(port) + "/hw_counters/" + name);
    return static_cast<bool>(file >> *value);
}

int query_raw_clock(ibv_context* context, std::uint64_t* ticks)
{
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    const int rc = ibv_query_rt_values_ex(context, &values);
    // Providers put the raw ticks there as if they were nanoseconds.
    *ticks = static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1000000000u +
             static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
    return rc;
}

verbs_api linked() noexcept
{
    verbs_api a{};
    a.fork_init = ibv_fork_init;
    a.get_device_list = ibv_get_device_list;
    a.free_device_list = ibv_free_device_list;
    a.get_device_name = ibv_get_device_name;
    a.open_device = ibv_open_device;
    a.close_device = ibv_close_device;
    a.query_device_ex = [](ibv_context* c, ibv_device_attr_ex* attributes) {
        return ibv_query_device_ex(c, nullptr, attributes);
    };
    a.query_port = [](ibv_context* c, std::uint8_t port, ibv_port_attr* attributes) {
        return ibv_query_port(c, port, attributes);
    };
    a.query_gid_table = [](ibv_context* c, ibv_gid_entry* entries, std::size_t room) {
        return ibv_query_gid_table(c, entries, room, 0);
    };
    a.query_raw_clock = query_raw_clock;
    a.read_hw_counter = read_hw_counter;

    a.alloc_pd = ibv_alloc_pd;
    a.dealloc_pd = ibv_dealloc_pd;
    a.reg_mr = [](ibv_pd* pd, void* address, std::size_t bytes, unsigned access) {
        return ibv_reg_mr_iova2(
            pd, address, bytes, reinterpret_cast<std::uintptr_t>(address), access);
    };
    a.reg_dmabuf_mr = ibv_reg_dmabuf_mr;
    a.dereg_mr = ibv_dereg_mr;
    a.create_comp_channel = ibv_create_comp_channel;
    a.destroy_comp_channel = ibv_destroy_comp_channel;
    a.create_cq = [](ibv_context* c, int entries, ibv_comp_channel* channel) {
        return ibv_create_cq(c, entries, nullptr, channel, 0);
    };
    a.create_cq_ex = [](ibv_context* c, ibv_cq_init_attr_ex* attributes) {
        return ibv_create_cq_ex(c, attributes);
    };
    a.destroy_cq = ibv_destroy_cq;
    a.modify_cq = [](ibv_cq* cq, ibv_modify_cq_attr* attributes) {
        return ibv_modify_cq(cq, attributes);
    };
    a.get_cq_event = ibv_get_cq_event;
    a.ack_cq_events = ibv_ack_cq_events;
    a.create_qp = ibv_create_qp;
    a.modify_qp = ibv_modify_qp;
    a.destroy_qp = ibv_destroy_qp;
    a.create_ah = ibv_create_ah;
    a.destroy_ah = ibv_destroy_ah;
    a.attach_mcast = ibv_attach_mcast;
    a.detach_mcast = ibv_detach_mcast;
    a.get_async_event = ibv_get_async_event;
    a.ack_async_event = ibv_ack_async_event;

    a.create_event_channel = rdma_create_event_channel;
    a.destroy_event_channel = [](rdma_event_channel* channel) {
        rdma_destroy_event_channel(channel);
        return 0;
    };
    a.create_id = [](rdma_event_channel* c, rdma_cm_id** id, rdma_port_space space) {
        return rdma_create_id(c, id, nullptr, space);
    };
    a.destroy_id = rdma_destroy_id;
    a.bind_addr = rdma_bind_addr;
    a.listen = rdma_listen;
    a.resolve_addr = rdma_resolve_addr;
    a.resolve_route = rdma_resolve_route;
    a.connect = rdma_connect;
    a.establish = rdma_establish;
    a.accept = rdma_accept;
    a.reject = rdma_reject;
    a.disconnect = rdma_disconnect;
    a.notify = rdma_notify;
    a.init_qp_attr = rdma_init_qp_attr;
    a.join_multicast = rdma_join_multicast;
    a.leave_multicast = rdma_leave_multicast;
    a.get_cm_event = rdma_get_cm_event;
    a.ack_cm_event = rdma_ack_cm_event;
    return a;
}

} // namespace

const verbs_api& linked_verbs() noexcept
{
    static const verbs_api api = linked();
    return api;
}

const verbs_api& current_verbs() noexcept
{
    const verbs_api* api = replaced.load(std::memory_order_acquire);
    return api ? *api : linked_verbs();
}

void replace_verbs(const verbs_api* api) noexcept
{
    replaced.store(api, std::memory_order_release);
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
