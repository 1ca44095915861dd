/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_VERBS_API_H
#define INCLUDED_RDMA_IO_VERBS_VERBS_API_H

#include <cstddef>
#include <cstdint>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief Every call into libibverbs and librdmacm that the endpoint makes, as one
 * replaceable table.
 *
 * Each entry behaves as the library's call of that name; its manual page is the contract.
 * Where the library's call is inline or a macro (ibv_reg_mr, ibv_query_port, ...) the
 * entry is an ordinary function. Posting and polling are not here: they are inline calls
 * through ibv_context::ops (and through ibv_cq_ex), so a fake context replaces them.
 */
struct verbs_api {
    int (*fork_init)();
    ibv_device** (*get_device_list)(int* count);
    void (*free_device_list)(ibv_device** list);
    const char* (*get_device_name)(ibv_device* device);
    ibv_context* (*open_device)(ibv_device* device);
    int (*close_device)(ibv_context* context);
    int (*query_device_ex)(ibv_context* context, ibv_device_attr_ex* attributes);
    int (*query_port)(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes);
    //! The entries that exist, without the gaps; libibverbs reads sysfs on kernels that
    //! have no such call. \return how many, or -errno
    ssize_t (*query_gid_table)(ibv_context* context,
                               ibv_gid_entry* entries,
                               std::size_t room);
    //! Ticks of the clock that stamps completions. \return 0 or an errno
    int (*query_raw_clock)(ibv_context* context, std::uint64_t* ticks);
    //! A hardware counter of a port, from sysfs. \return false if there is none
    bool (*read_hw_counter)(const char* device,
                            unsigned port,
                            const char* name,
                            std::uint64_t* value);

    ibv_pd* (*alloc_pd)(ibv_context* context);
    int (*dealloc_pd)(ibv_pd* pd);
    //! ibv_reg_mr, which is a macro: its underlying ibv_reg_mr_iova2 with the memory's
    //! own address, which drops optional rights that the kernel does not know.
    ibv_mr* (*reg_mr)(ibv_pd* pd, void* address, std::size_t bytes, unsigned access);
    //! In libibverbs since rdma-core 34; takes Linux 5.12 and a driver that knows it.
    ibv_mr* (*reg_dmabuf_mr)(ibv_pd* pd,
                             std::uint64_t offset,
                             std::size_t bytes,
                             std::uint64_t iova,
                             int fd,
                             int access);
    int (*dereg_mr)(ibv_mr* mr);
    ibv_comp_channel* (*create_comp_channel)(ibv_context* context);
    int (*destroy_comp_channel)(ibv_comp_channel* channel);
    ibv_cq* (*create_cq)(ibv_context* context, int entries, ibv_comp_channel* channel);
    ibv_cq_ex* (*create_cq_ex)(ibv_context* context, ibv_cq_init_attr_ex* attributes);
    int (*destroy_cq)(ibv_cq* cq);
    int (*modify_cq)(ibv_cq* cq, ibv_modify_cq_attr* attributes);
    int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** cq, void** context);
    void (*ack_cq_events)(ibv_cq* cq, unsigned count);
    ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attributes);
    int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
    int (*destroy_qp)(ibv_qp* qp);
    ibv_ah* (*create_ah)(ibv_pd* pd, ibv_ah_attr* attributes);
    int (*destroy_ah)(ibv_ah* ah);
    int (*attach_mcast)(ibv_qp* qp, const union ibv_gid* gid, std::uint16_t lid);
    int (*detach_mcast)(ibv_qp* qp, const union ibv_gid* gid, std::uint16_t lid);
    int (*get_async_event)(ibv_context* context, ibv_async_event* event);
    void (*ack_async_event)(ibv_async_event* event);

    rdma_event_channel* (*create_event_channel)();
    int (*destroy_event_channel)(rdma_event_channel* channel);
    int (*create_id)(rdma_event_channel* channel, rdma_cm_id** id, rdma_port_space space);
    int (*destroy_id)(rdma_cm_id* id);
    int (*bind_addr)(rdma_cm_id* id, sockaddr* address);
    int (*listen)(rdma_cm_id* id, int backlog);
    int (*resolve_addr)(rdma_cm_id* id, sockaddr* own, sockaddr* peer, int timeout_ms);
    int (*resolve_route)(rdma_cm_id* id, int timeout_ms);
    int (*connect)(rdma_cm_id* id, rdma_conn_param* parameters);
    int (*establish)(rdma_cm_id* id);
    int (*accept)(rdma_cm_id* id, rdma_conn_param* parameters);
    int (*reject)(rdma_cm_id* id, const void* data, std::uint8_t bytes);
    int (*disconnect)(rdma_cm_id* id);
    int (*notify)(rdma_cm_id* id, ibv_event_type event);
    int (*init_qp_attr)(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask);
    int (*join_multicast)(rdma_cm_id* id, sockaddr* group, void* context);
    int (*leave_multicast)(rdma_cm_id* id, sockaddr* group);
    int (*get_cm_event)(rdma_event_channel* channel, rdma_cm_event** event);
    int (*ack_cm_event)(rdma_cm_event* event);
};

//! The table of the linked libraries.
const verbs_api& linked_verbs() noexcept;

//! The table that a new endpoint takes: linked_verbs() unless a test has replaced it. Any
//! thread.
const verbs_api& current_verbs() noexcept;
//! For tests: \p api for endpoints made from now on; it must outlive them. nullptr: back.
void replace_verbs(const verbs_api* api) noexcept;

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_VERBS_API_H */
