/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_CM_CONNECTION_H
#define INCLUDED_RDMA_IO_SOFTROCE_CM_CONNECTION_H

#include "io/endpoint_config.h"
#include "wire/cm.h"
#include "wire/ip_address.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! What this side says of itself, and how patient it is.
struct cm_settings {
    service_type service = service_type::rc; //!< rc or uc
    wire::ip_address own;
    wire::ip_address peer;      //!< active side only
    std::uint16_t own_port = 0; //!< active side: a number to show; RoCE has no use for it
    std::uint16_t port = 0;     //!< the listener's
    std::uint32_t comm_id = 0;  //!< own, random
    std::uint64_t transaction_id = 0; //!< random
    std::uint64_t guid = 0;           //!< of this "adapter", random, not 0
    std::uint32_t qpn = 0;
    wire::psn first_psn;                 //!< that the peer shall begin to send with
    std::uint32_t mtu = 4096;            //!< the largest that fits the way, bytes
    std::vector<std::byte> private_data; //!< at most 56 bytes (REQ), sent either way
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7;
    std::int64_t ack_timeout_ns = 67000000;
    std::int64_t response_ns = 250000000;   //!< until a message is sent again
    std::int64_t patience_ns = 10000000000; //!< until the handshake is given up
};

//! What the peer said of itself.
struct cm_peer {
    wire::ip_address address;
    std::uint32_t comm_id = 0;
    std::uint32_t qpn = 0;
    wire::psn first_psn; //!< that we begin to send with
    std::uint32_t mtu = 0;
    std::vector<std::byte> private_data; //!< padded with zeros to 56 (REQ) or 196 bytes
};

enum class cm_state : std::uint8_t {
    idle,
    req_sent,
    rep_sent,
    established,
    dreq_sent,
    closed,  //!< ended in order, by either side
    refused, //!< the peer sent a REJ; see reason()
    failed,  //!< no answer in time
};

//! Is the peer of a connection still there?
enum class cm_liveness : std::uint8_t { alive, unknown, dead };

/*!
 * \brief One connection as the communication manager sees it (InfiniBand spec vol.
 * 1, 12.9.7): messages and time in, messages and states out. Active or passive.
 *
 * Pure: no sockets, no clock. Answers are sent again when the peer asks again; requests
 * when it does not answer. A message from another address than the peer's is not this
 * connection's. Not thread-safe. Times are core::monotonic_ns().
 */
class cm_connection
{
public:
    explicit cm_connection(const cm_settings& settings);

    //! Active side: send a REQ.
    void connect(std::int64_t now_ns);
    /*!
     * Passive side: take the REQ \p message, which the caller found acceptable, and
     * reply. \return false, and a REJ to send, if transport or MTU do not suit
     */
    bool accept(const wire::cm_message& message,
                const wire::ip_address& from,
                std::int64_t now_ns);

    //! \return false if the message is none of this connection's
    bool on_message(const wire::cm_message& message,
                    const wire::ip_address& from,
                    std::int64_t now_ns);
    //! A data packet came: the peer is there, and ready even if its RTU was lost.
    void on_data(std::int64_t now_ns) noexcept;
    /*!
     * Passive side, when another asks for this peer's place. A sender may end without a
     * word, and a receiver has no other way to learn that: the REP goes out again, which
     * a peer that is there answers by its RTU (spec vol. 1, 12.9.7). unknown until it
     * does, or until it has not for three response times.
     */
    cm_liveness liveness(std::int64_t now_ns);
    //! A sign of life is waited for: on_data() has something to do.
    bool asks() const noexcept { return d_asked_ns != INT64_MAX; }
    //! Call at deadline() or later.
    void on_time(std::int64_t now_ns);
    std::int64_t deadline() const noexcept { return d_deadline_ns; }
    //! Send a DREQ, or a REJ if the handshake is not over. Idempotent.
    void disconnect(std::int64_t now_ns);

    //! The next message to send to peer().address, if there is one.
    bool take(wire::cm_message& out);

    cm_state state() const noexcept { return d_state; }
    const cm_peer& peer() const noexcept { return d_peer; }
    const cm_settings& settings() const noexcept { return d_settings; }
    //! Of the REJ, in state refused.
    wire::cm_rej_reason reason() const noexcept { return d_reason; }
    const std::vector<std::byte>& reject_data() const noexcept { return d_reject_data; }
    //! Is this REQ the one that this passive connection came from?
    bool is_repeat(const wire::cm_req& req, const wire::ip_address& from) const noexcept;

private:
    template <typename Body>
    void send(const Body& body);
    void send_req(std::int64_t now_ns);
    void send_rep(std::int64_t now_ns);
    void send_rtu();
    void send_dreq(std::int64_t now_ns);
    void wait_for_answer(std::int64_t now_ns) noexcept;
    void end(cm_state state) noexcept;
    void on_rep(const wire::cm_message& message, std::int64_t now_ns);
    void on_rej(const wire::cm_rej& rej, std::int64_t now_ns);

    cm_settings d_settings;
    cm_peer d_peer;
    cm_state d_state = cm_state::idle;
    bool d_has_message = false;
    wire::cm_message d_message;
    std::uint64_t d_transaction_id = 0; // of the REQ, whichever side sent it
    std::int64_t d_deadline_ns = INT64_MAX;
    std::int64_t d_give_up_ns = INT64_MAX;
    std::int64_t d_asked_ns = INT64_MAX;    // passive: a REP waits for an answer
    std::int64_t d_answered_ns = INT64_MIN; // when liveness() was answered
    unsigned d_dreqs = 0;
    wire::cm_rej_reason d_reason = wire::cm_rej_reason::no_qp;
    std::vector<std::byte> d_reject_data;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_CM_CONNECTION_H */
