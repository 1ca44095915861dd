/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_QUEUE_PAIR_H
#define INCLUDED_RDMA_IO_SOFTROCE_QUEUE_PAIR_H

#include "core/doorbell.h"
#include "core/log.h"
#include "io/softroce/cm_connection.h"
#include "io/softroce/icrc_check.h"
#include "io/softroce/requester.h"
#include "io/softroce/responder.h"
#include "io/softroce/sidr_query.h"
#include "io/softroce/udp_socket.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

/*!
 * \brief A queue pair: both machines, the queues to its user, and what the two sides
 * share.
 *
 * The pump thread of the device is inside the machines; the user's threads hold the other
 * ends of the queues. state and status_text may be read by any thread.
 */
struct queue_pair {
    explicit queue_pair(const endpoint_config& config);

    const endpoint_config config;
    const service_type service;
    // Set before the queue pair is added to a device; by the pump when the CM connects.
    std::uint32_t qpn;
    std::uint32_t dest_qpn;
    std::uint32_t own_qkey;  //!< UD: that packets to us must have
    std::uint32_t dest_qkey; //!< UD: that the peer asks for
    wire::ip_address own_address;
    //! Unspecified: any (UC and UD only). UD: or a group.
    wire::ip_address peer_address;

    responder::slot_queue slots;
    responder::completion_queue completions;
    requester::request_queue requests;
    requester::done_queue done;
    io::counters counts;
    core::doorbell readable; //!< completions, state
    core::doorbell sendable; //!< send completions, state

    std::atomic<endpoint_state> state{ endpoint_state::connecting };

    // Pump thread only, while the queue pair is on a device.
    std::optional<responder> rx; //!< never empty
    std::optional<requester> tx; //!< never empty
    icrc_check icrc;
    std::optional<lossy_link> faults; //!< between us and the socket, if asked for
    responder::refusal told = responder::refusal::none; //!< what status_text() says of it
    bool may_send = false; //!< connected as far as this side knows

    // UD in a multicast group: each member has a socket of its own, so that the kernel
    // deals out the copies. The pump's, while the queue pair is on a device.
    std::unique_ptr<udp_socket> group_socket;
    std::uint32_t group_drops = 0; //!< that it has counted

    // Connection manager; unused by static connections.
    bool uses_cm = false;
    bool listens = false;
    std::uint16_t port = 0;         //!< the listener's
    std::uint32_t mtu_limit = 4096; //!< what fits the interface and the user's wish
    std::vector<wire::ip_address> allowed; //!< peers that may connect; empty: all
    std::optional<cm_connection> cm;
    std::optional<sidr_query> query; //!< UD, calling: instead of cm
    struct request {
        wire::ip_address from;
        wire::cm_message message;
    };
    std::optional<request> waiting;     //!< REQ held back until cm's peer shows life
    core::rate_limit refusals;          //!< of the log
    std::atomic<bool> leaving{ false }; //!< the user wants to disconnect
    bool left = false; //!< the pump has done that; guarded by the device's mutex

    //! Are data packets for this QPN expected?
    bool open_for_data() const noexcept
    {
        if (service == service_type::ud)
            return !uses_cm || listens || may_send;
        return !uses_cm || (cm && (cm->state() == cm_state::rep_sent ||
                                   cm->state() == cm_state::established));
    }
    //! May packets come from several peers, or from one after the other?
    bool hears_anybody() const noexcept
    {
        return (!uses_cm || service == service_type::ud) &&
               (peer_address.is_unspecified() || peer_address.is_multicast());
    }
    //! Is it on the list of peers that may connect?
    bool allows(const wire::ip_address& from) const noexcept
    {
        return allowed.empty() ||
               std::find(allowed.begin(), allowed.end(), from) != allowed.end();
    }
    //! Are packets from there for us?
    bool hears(const wire::ip_address& from) const noexcept
    {
        return hears_anybody() ? allows(from) : from == peer_address;
    }
    //! Did the connection end, in order or not?
    bool over() const noexcept
    {
        const endpoint_state now = state.load(std::memory_order_relaxed);
        return now == endpoint_state::closed || now == endpoint_state::failed;
    }
    //! Make both machines anew, for a peer. Pump thread, or before it is added.
    void configure(std::uint32_t remote_qpn,
                   std::uint32_t psn,
                   std::uint32_t remote_psn,
                   std::uint32_t mtu,
                   bool wait_for_peer);
    //! The memory that slots refer to, before it is added.
    void attach(const mem::region& ring, const mem::region& headers);

    //! Pump thread, or any once the pump is out.
    void set_state(endpoint_state next, const std::string& why);
    std::string status_text() const;

private:
    mem::region d_ring;
    mem::region d_headers;
    mutable std::mutex d_mutex; // guards d_why
    std::string d_why;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_QUEUE_PAIR_H */
