/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_STATIC_CONNECTION_H
#define INCLUDED_RDMA_IO_VERBS_STATIC_CONNECTION_H

#include "io/verbs/address.h"
#include "io/verbs/send_queue.h"

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief A connection that both sides were told about, RC, UC or UD: no handshake.
 *
 * The queue pair goes to RTS at once. Where the peer's address does not answer yet (the
 * kernel asks for its MAC address), it is tried again until it does; the GID is looked up
 * anew each time. Not thread-safe: start() by who opens, then the watcher alone.
 */
class static_connection
{
public:
    static_connection(const verbs_api& api, session& s, transport& t, send_queue& sends)
        : d_api(api), d_session(s), d_transport(t), d_sends(sends)
    {
    }

    //! \param peer empty: datagrams from anybody, nothing is sent
    //! \throws os_error, config_error
    void start(const address& own, const address& peer);
    std::uint32_t remote_qpn() const noexcept { return d_remote_qpn; }
    //! CLOCK_MONOTONIC time of on_deadline(); INT64_MAX: none.
    std::int64_t deadline_ns() const noexcept { return d_deadline_ns; }
    void on_deadline() noexcept;

private:
    void attempt();
    int connect(std::uint8_t gid_index, std::uint32_t mtu);

    const verbs_api& d_api;
    session& d_session;
    transport& d_transport;
    send_queue& d_sends;
    address d_own;
    address d_peer;
    std::uint32_t d_remote_qpn = 0;
    std::int64_t d_deadline_ns = INT64_MAX;
    bool d_ready = false; // UD: the queue pair is; the peer's address is not
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_STATIC_CONNECTION_H */
