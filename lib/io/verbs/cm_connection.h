/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_CM_CONNECTION_H
#define INCLUDED_RDMA_IO_VERBS_CM_CONNECTION_H

#include "io/verbs/address.h"
#include "io/verbs/receive_queue.h"
#include "io/verbs/send_queue.h"

#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief One connection by rdma_cm, RC or UD, calling or listening.
 *
 * The queue pair is made and moved through its states here and not by librdmacm, so that
 * receives are posted before anybody can answer, and the RNR timer and the retries are
 * set on purpose. Listening, one peer is taken at a time (UD: any number). One that never
 * completes its handshake gives way to the next, and so does one that sends and is dead:
 * a caller that finds the place taken makes us ask its holder for a sign of life.
 *
 * Not thread-safe: open() and start() by who opens; then the watcher alone, until it has
 * ended; then stop().
 */
class cm_connection
{
public:
    cm_connection(const verbs_api& api,
                  session& s,
                  transport& t,
                  receive_queue& receives,
                  send_queue& sends);
    ~cm_connection() { stop(); }

    /*!
     * \brief Take the own address (and port, listening).
     * \return the device context that the connection will be on
     * \throws os_error port in use, no device, no permission
     */
    ibv_context* open(const address& own, const address& peer);
    //! Who may connect; empty: anyone.
    void allow(const std::vector<address>& peers) { d_allowed = peers; }
    //! Listen, or begin to call. \throws os_error
    void start();

    int fd() const noexcept { return d_channel ? d_channel->fd : -1; }
    void on_events() noexcept;
    //! CLOCK_MONOTONIC time of on_deadline(); INT64_MAX: none.
    std::int64_t deadline_ns() const noexcept { return d_deadline_ns; }
    void on_deadline() noexcept;
    //! COMM_EST: the peer speaks although its last handshake message was lost.
    void on_first_packet() noexcept;
    //! Say goodbye if it stands, and let go of everything but the queue pair. Idempotent.
    void stop() noexcept;

private:
    struct event_copy {
        rdma_cm_id* id = nullptr;
        rdma_cm_event_type type{};
        int status = 0;
        std::string data; // private data, in words
        ibv_ah_attr ah{}; // UD
        std::uint32_t qpn = 0;
        std::uint32_t qkey = 0;
    };
    void handle_event(const event_copy& e);
    void on_address();
    void on_route();
    void on_response();
    void on_request(const event_copy& e);
    void accept(id_handle id);
    void refuse(id_handle id, const std::string& why);
    void on_established(const event_copy& e);
    void on_over(const event_copy& e);
    void ask_for_life(id_handle caller);
    void keep_flushed(bool keep);
    void on_answer();
    void replace_peer();
    void give_up_peer(const std::string& why);
    void stand();
    connection_names names_for(const rdma_cm_id* id) const;
    bool listening() const noexcept { return !d_session.config.listen.empty(); }
    bool is_ud() const noexcept { return d_session.config.service == service_type::ud; }
    rdma_cm_id* current() const noexcept
    {
        return d_peer_id ? d_peer_id.get() : d_id.get();
    }

    const verbs_api& d_api;
    session& d_session;
    transport& d_transport;
    receive_queue& d_receives;
    send_queue& d_sends;
    std::vector<address> d_allowed;
    address d_own;
    address d_peer;
    event_channel_handle d_channel;
    id_handle d_id;      // calls, or listens
    id_handle d_peer_id; // listening: the peer's
    id_handle d_caller;  // waits for the peer's place
    std::int64_t d_deadline_ns = INT64_MAX;
    std::int64_t d_ask_until_ns = 0; // no word until then: it cannot be dead
    bool d_standing = false;         // a goodbye is due
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_CM_CONNECTION_H */
