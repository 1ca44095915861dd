/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_CM_AGENT_H
#define INCLUDED_RDMA_IO_SOFTROCE_CM_AGENT_H

#include "io/softroce/queue_pair.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! One message to QP1 of \p destination.
struct cm_outgoing {
    wire::ip_address destination;
    wire::cm_message message;
};

/*!
 * \brief The connection manager of one own address: finds whom a message is for, answers
 * what is for nobody, and turns the end of a handshake into a connected queue pair. For
 * UD it resolves service IDs instead, either way.
 *
 * Memory is bounded whatever a peer sends: one connection per queue pair, and a queue of
 * messages that drops (the peer asks again). Pump thread only; times are
 * core::monotonic_ns().
 */
class cm_agent
{
public:
    cm_agent();                            //!< identifiers that nobody can guess
    explicit cm_agent(std::uint64_t seed); //!< the same identifiers each time: for tests

    /*!
     * \brief Take one packet for QP1 whose ICRC is right.
     * \param all the queue pairs of this address
     */
    void on_packet(const wire::packet& packet,
                   const wire::ip_address& from,
                   const std::vector<queue_pair*>& all,
                   std::int64_t now_ns);
    //! Connect, time out, disconnect as \p qp needs. \return true if \p qp may be let go
    bool serve(queue_pair& qp, std::int64_t now_ns);
    //! A data packet came for \p qp, whose connection asks().
    void on_data(queue_pair& qp, std::int64_t now_ns);
    //! Nanoseconds until serve() has something to do.
    static std::int64_t ready_in(const queue_pair& qp, std::int64_t now_ns) noexcept;
    //! The next message to send. \return false: none
    bool take(cm_outgoing& out);

    //! A listener has left; another may be about to take its place.
    void listener_left(std::int64_t now_ns) noexcept
    {
        d_patient_until_ns = now_ns + patience_ns;
    }

    //! Listeners that hold their port and have not started; set by the device, any
    //! thread.
    std::atomic<unsigned> opening{ 0 };

private:
    void on_request(const wire::cm_message& m,
                    const wire::ip_address& from,
                    const std::vector<queue_pair*>& all,
                    std::int64_t now_ns);
    bool gives_way(queue_pair& qp,
                   const wire::cm_message& m,
                   const wire::ip_address& from,
                   std::int64_t now_ns);
    void on_resolution_request(const wire::cm_message& m,
                               const wire::ip_address& from,
                               const std::vector<queue_pair*>& all,
                               std::int64_t now_ns);
    void on_resolution_reply(const wire::cm_message& m,
                             const wire::ip_address& from,
                             const std::vector<queue_pair*>& all);
    void follow_query(queue_pair& qp);
    bool serve_datagrams(queue_pair& qp, std::int64_t now_ns);
    bool may_come_yet(const std::vector<queue_pair*>& all,
                      std::int64_t now_ns) const noexcept;
    void
    note_refusal(queue_pair& listener, const wire::ip_address& from, const char* why);
    std::uint16_t draw_port();
    void leave_peer(queue_pair& qp);
    void answer_waiting(queue_pair& qp);
    void refuse(const wire::cm_message& m,
                const wire::ip_address& from,
                wire::cm_rej_reason reason,
                queue_pair* listener);
    void start(queue_pair& qp, const wire::ip_address& peer);
    void adopt_peer(queue_pair& qp);
    void follow(queue_pair& qp, cm_state before);
    void connected(queue_pair& qp);
    void collect(queue_pair& qp);
    void push(const wire::ip_address& to, const wire::cm_message& m);

    static constexpr std::int64_t patience_ns = 1000000000;
    std::int64_t d_patient_until_ns = INT64_MIN; // who calls for nobody is not refused

    static constexpr std::size_t outbox_size = 64;
    std::array<cm_outgoing, outbox_size> d_outbox;
    std::size_t d_first = 0;
    std::size_t d_count = 0;
    std::mt19937_64 d_random; // identifiers only: nothing secret hangs on them
    std::uint64_t d_guid;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_CM_AGENT_H */
