/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_MULTICAST_MEMBER_H
#define INCLUDED_RDMA_IO_VERBS_MULTICAST_MEMBER_H

#include "io/verbs/address.h"
#include "io/verbs/session.h"
#include "io/verbs/transport.h"

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief Membership of a datagram queue pair in one multicast group: rdma_cm joins it on
 * the network (IGMP, MLD), and the queue pair is attached to it on the device.
 *
 * Not thread-safe: open() and start() by who opens, then the watcher alone, then stop().
 */
class multicast_member
{
public:
    multicast_member(const verbs_api& api, session& s, transport& t)
        : d_api(api), d_session(s), d_transport(t)
    {
    }
    ~multicast_member() { stop(); }

    //! \throws os_error
    void start(const address& own, const address& group);
    int fd() const noexcept { return d_channel ? d_channel->fd : -1; }
    void on_events() noexcept;
    void stop() noexcept; //!< before the queue pair goes

private:
    void on_join(const ibv_ah_attr& attributes);

    const verbs_api& d_api;
    session& d_session;
    transport& d_transport;
    address d_group;
    event_channel_handle d_channel;
    id_handle d_id;
    ibv_gid d_gid{};
    std::uint16_t d_lid = 0;
    bool d_joined = false;
    bool d_attached = false;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_MULTICAST_MEMBER_H */
