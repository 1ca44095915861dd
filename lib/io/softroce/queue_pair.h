/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_QUEUE_PAIR_H
#define INCLUDED_RDMA_IO_SOFTROCE_QUEUE_PAIR_H

#include "core/doorbell.h"
#include "io/softroce/icrc_check.h"
#include "io/softroce/requester.h"
#include "io/softroce/responder.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

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

    const std::uint32_t qpn;
    const std::uint32_t dest_qpn;
    const service_type service;
    // Set before the queue pair is added to a device.
    std::uint32_t own_address = 0;
    std::uint32_t peer_address = 0; //!< 0: any (UC only)

    responder::slot_queue slots;
    responder::completion_queue completions;
    requester::request_queue requests;
    requester::done_queue done;
    io::counters counts;
    core::doorbell readable; //!< completions, state
    core::doorbell sendable; //!< send completions, state

    std::atomic<endpoint_state> state{ endpoint_state::connecting };

    // Pump thread only, while the queue pair is on a device.
    responder rx;
    requester tx;
    icrc_check icrc;

    //! Pump thread, or any once the pump is out.
    void set_state(endpoint_state next, const std::string& why);
    std::string status_text() const;

private:
    mutable std::mutex d_mutex; // guards d_why
    std::string d_why;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_QUEUE_PAIR_H */
