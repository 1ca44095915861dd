/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_REQUESTER_H
#define INCLUDED_RDMA_IO_SOFTROCE_REQUESTER_H

#include "core/spsc_queue.h"
#include "io/endpoint.h"
#include "wire/packet.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

struct requester_config {
    service_type service = service_type::rc;
    std::uint32_t mtu = 1024;
    wire::psn first_psn;
    std::uint32_t dest_qpn = 0;
    std::uint32_t own_qpn = 0; //!< UD, in the DETH
    std::uint32_t qkey = 0;    //!< UD, in the DETH
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7; //!< 7: for ever
    std::int64_t ack_timeout_ns = 67000000;
    std::uint32_t window_bytes = 1u << 20; //!< most that may be unacknowledged (RC)
    double rate_bytes = 0;                 //!< payload bytes per second; 0: not paced
    //! Static connection: the peer may come later than we, so time-outs are not counted
    //! against retry_count until it has answered once.
    bool wait_for_peer = true;
};

//! One packet to send: headers in \p packet, payload where the user left it.
struct outgoing {
    wire::packet packet; //!< payload, payload_bytes and bth.pad filled in
    bool again = false;  //!< a retransmission
};

/*!
 * \brief Sending half of a queue pair as a pure machine: requests, acknowledgements and
 * time in; packets and send completions out.
 *
 * RC: go-back-N (InfiniBand spec vol. 1, 9.7.5 and 9.9.2) inside a window that grows
 * while acknowledgements come and halves on loss, since the peer may be software behind a
 * socket buffer. UC: packets leave in order, a message is done when its last packet was
 * handed over.
 *
 * Not thread-safe except for the far ends of the two queues. No allocation after
 * construction, no system call, no log. Times are core::monotonic_ns().
 */
class requester
{
public:
    using request_queue = core::spsc_queue<send_request>;
    using done_queue = core::spsc_queue<send_completion>;

    //! \p done holds at least as many items as requests may be queued, and \p depth of
    //! them may be in flight.
    requester(const requester_config& config,
              std::size_t depth,
              request_queue& requests,
              done_queue& done,
              counters& counts);

    //! The next packet that may leave now. \return false: window, pace, RNR wait or
    //! nothing to do
    bool next(outgoing& out, std::int64_t now_ns) noexcept;
    //! Every packet given out by next() has left or is lost; its memory is no longer
    //! needed. Call it when next() gave none, too: a message that cannot be sent (UD)
    //! completes here, in its turn. \return true if send completions were pushed
    bool handed_over() noexcept;

    //! \return true if send completions were pushed
    bool on_acknowledge(const wire::packet& p, std::int64_t now_ns) noexcept;
    //! Look at the acknowledgement timer; after a failure, give back what was posted
    //! since. \return true if send completions were pushed
    bool on_time(std::int64_t now_ns) noexcept;
    //! Nanoseconds until next() or on_time() has something to do without a new event; 0:
    //! now, INT64_MAX: never.
    std::int64_t ready_in(std::int64_t now_ns) const noexcept;

    //! success while the connection can go on.
    wc_status failure() const noexcept { return d_failure; }
    //! Give back all that is queued or in flight as \p status.
    void abort(wc_status status) noexcept;
    //! The peer has acknowledged something.
    bool heard() const noexcept { return d_heard; }
    //! The peer answers, but is elsewhere than this sender begins: the PSN that it waits
    //! for, as an earlier sender left it. nullopt: not so, or not any more.
    std::optional<wire::psn> elsewhere() const noexcept
    {
        return d_heard ? std::nullopt : d_elsewhere;
    }
    bool idle() const noexcept { return d_count == 0 && d_requests.empty(); }

private:
    // Packets are counted from 0 in 64 bits; the PSN is first_psn plus that, modulo 2^24.
    struct message {
        send_request request;
        std::uint64_t first = 0;
        std::uint64_t packets = 0;              // 0: cannot be sent
        wc_status outcome = wc_status::success; // once handed over
    };
    message& at(std::uint64_t index) noexcept
    {
        return d_flight[index % d_flight.size()];
    }
    bool load_message() noexcept;
    void move_cursor() noexcept;
    void fill(outgoing& out, const message& m, std::uint64_t packet) noexcept;
    bool acknowledge_below(std::uint64_t packet, std::int64_t now_ns) noexcept;
    void go_back(std::uint64_t packet) noexcept;
    void note_loss() noexcept;
    void fail(wc_status status) noexcept;
    void finish_oldest(wc_status status) noexcept;
    bool lacks_credit() const noexcept;
    bool window_open() const noexcept;
    bool wants_acknowledge(std::uint64_t packet) const noexcept;
    std::int64_t timeout_ns() const noexcept;

    const requester_config d_config;
    request_queue& d_requests;
    done_queue& d_done;
    counters& d_counts;

    std::vector<message> d_flight; // messages d_oldest .. d_oldest + d_count - 1
    std::uint64_t d_oldest = 0;
    std::size_t d_count = 0;
    std::uint64_t d_cursor = 0;  // message that d_next lies in, or the next to load
    std::uint64_t d_loaded = 0;  // packets of all loaded messages
    std::uint64_t d_una = 0;     // oldest unacknowledged packet
    std::uint64_t d_next = 0;    // next packet to send
    std::uint64_t d_highest = 0; // packets sent at least once
    std::uint64_t d_credit_limit = UINT64_MAX; // messages that the peer has receives for
    std::uint64_t d_ack_asked = 0; // packet behind the last acknowledge request sent

    const double d_most; // packets that window_bytes allows
    double d_window;     // packets
    double d_threshold = 1e9;
    std::uint64_t d_recover = 0; // losses below this packet belong to one event
    bool d_heard = false;
    std::optional<wire::psn> d_elsewhere; // until d_heard
    unsigned d_retries = 0;
    unsigned d_rnr_retries = 0;
    std::int64_t d_timer_ns =
        INT64_MAX;                     // acknowledgement due; runs while one is asked for
    std::int64_t d_rnr_ns = INT64_MIN; // not before
    double d_tokens = 0;
    std::int64_t d_tokens_ns = INT64_MIN;
    wc_status d_failure = wc_status::success;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_REQUESTER_H */
