/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_SEND_QUEUE_H
#define INCLUDED_RDMA_IO_VERBS_SEND_QUEUE_H

#include "io/verbs/session.h"
#include "io/verbs/transport.h"

#include <cstddef>
#include <mutex>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief Messages on their way from post_send() through the queue pair to poll_send().
 *
 * A device sends registered memory only. What lies in the attached ring goes from there;
 * up to copied_bytes are copied into a pool that is made when it is first needed; what is
 * longer is registered for the time of its sending. Requests taken before the connection
 * stands wait for it. Paced if a rate was given: the watcher sends what is due.
 *
 * mutex is held by callers of everything below it: the sending thread, the watcher when
 * the connection comes to stand, others for a look at the counters and for stopping.
 */
class send_queue
{
public:
    static constexpr std::uint32_t copied_bytes = 16384; //!< of one message, at most

    send_queue(session& s, transport& t);

    std::mutex mutex;
    void attach(const mem::region& ring) noexcept { d_ring = ring; }
    //! The connection stands: send what waits.
    void bind() noexcept;
    //! The peer that datagrams go to.
    void set_peer(ah_handle ah, std::uint32_t qpn, std::uint32_t qkey) noexcept;
    //! Ask the peer for a sign of life, a WRITE of nothing, unless that is under way.
    void probe() noexcept;
    enum class sign : std::uint8_t { none, pending, alive, dead };
    //! Take what the device has finished, first.
    sign probe_result() const noexcept { return d_sign; }
    bool sent_anything() const noexcept { return d_accepted != 0; }
    //! The queue pair was reset: back to where no connection stands.
    void unbind() noexcept;
    std::size_t post(const send_request* requests, std::size_t n) noexcept;
    //! Send what is due, and take what the device has finished. \return whether take()
    //! has something
    bool harvest() noexcept;
    bool ready() const noexcept { return d_taken != d_completed; }
    std::size_t take(send_completion* out, std::size_t max) noexcept;
    //! CLOCK_MONOTONIC time when something is due by the rate; INT64_MAX: nothing waits.
    //! Any thread, without the mutex; the watcher is woken when it becomes earlier.
    std::int64_t next_due_ns() const noexcept
    {
        return d_next_due_ns.load(std::memory_order_relaxed);
    }
    //! No queue pair any more: everything that is out comes back as flushed.
    void flush() noexcept;
    std::uint64_t outstanding() const noexcept
    {
        return d_posted - d_completed + (d_sign == sign::pending ? 1 : 0);
    }

private:
    struct record {
        send_request request;
        registration memory; // of this message alone
        wc_status status = wc_status::success;
        bool done = false;
    };
    record& at(std::uint64_t n) noexcept { return d_records[n % d_records.size()]; }
    void post_pending() noexcept;
    bool prepare(std::uint64_t n, ibv_send_wr& wr, ibv_sge& piece) noexcept;
    bool find_memory(std::uint64_t n, ibv_sge& piece);
    std::uint32_t pool_lkey();
    void pace(std::uint64_t bytes, std::int64_t now_ns) noexcept;
    void complete(const work_completion& wc) noexcept;
    void retire() noexcept;
    void flush_unposted() noexcept; // the connection is over
    void finish(record& r, wc_status status) noexcept;

    session& d_session;
    transport& d_transport;
    mem::region d_ring;
    // Numbers of requests since the start; request n is d_records[n % depth].
    std::vector<record> d_records;
    std::uint64_t d_taken = 0;     // handed out by take()
    std::uint64_t d_completed = 0; // done, in order
    std::uint64_t d_posted = 0;    // given to the queue pair, or failed before
    std::uint64_t d_accepted = 0;
    bool d_bound = false;
    sign d_sign = sign::none;
    std::vector<std::byte> d_pool; // copied_bytes for each place in d_records
    registration d_pool_memory;
    ah_handle d_ah;
    std::uint32_t d_remote_qpn = 0;
    std::uint32_t d_remote_qkey = 0;
    std::int64_t d_due_ns = 0; // of the next message, by the rate
    std::atomic<std::int64_t> d_next_due_ns{ INT64_MAX };
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_SEND_QUEUE_H */
