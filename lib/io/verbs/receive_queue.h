/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_RECEIVE_QUEUE_H
#define INCLUDED_RDMA_IO_VERBS_RECEIVE_QUEUE_H

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
 * \brief Slots on their way from post_recv() through the queue pair to poll().
 *
 * A slot that was taken is remembered until its completion was handed out, so everything
 * comes back whatever the device does. Slots that are taken before there is a queue pair
 * wait; those of a connection that came to nothing are posted again.
 *
 * mutex is held by callers of everything below it: the receiving thread for posts and
 * polls, others for a look at the counters and for stopping. Uncontended otherwise.
 */
class receive_queue
{
public:
    receive_queue(session& s, transport& t);

    std::mutex mutex;
    void attach(const mem::region& ring, const mem::region& headers) noexcept;
    //! Post, from now on; what waits first. \param repost the queue pair was reset and
    //! has lost what was posted
    void bind(bool repost) noexcept;
    std::size_t post(const recv_slot* slots, std::size_t n) noexcept;
    //! Take what the device has finished. \return whether take() has something
    bool harvest() noexcept;
    bool ready() const noexcept { return d_done_first != d_done_end; }
    std::size_t take(completion* out, std::size_t max) noexcept;
    //! While a connection may come to be replaced: what its end flushes is kept, to be
    //! posted again.
    void keep_flushed(bool keep) noexcept { d_keep_flushed = keep; }
    //! Another peer has the connection now: the next message stands behind a gap.
    void start_over() noexcept;
    //! No queue pair any more: everything that is out comes back as flushed.
    void flush() noexcept;
    std::uint64_t outstanding() const noexcept { return d_accepted - d_finished; }

private:
    bool fits(const recv_slot& slot) const noexcept;
    void finish(const completion& c) noexcept;
    void complete(const work_completion& wc) noexcept;
    void deliver(completion& c, const work_completion& wc) noexcept;
    void post_pending() noexcept;
    int pieces(const recv_slot& slot, ibv_sge* out) const noexcept;

    session& d_session;
    transport& d_transport;
    mem::region d_ring;
    mem::region d_headers;
    // Numbers of slots since the start; slot n is d_slots[n % depth].
    std::vector<recv_slot> d_slots;
    std::uint64_t d_finished = 0; // completed
    std::uint64_t d_posted = 0;   // given to the queue pair
    std::uint64_t d_accepted = 0;
    std::uint64_t d_life = 0; // of the queue pair, in the upper bits of wr_id
    bool d_bound = false;
    bool d_keep_flushed = false;
    bool d_gap = false; // in front of the next message
    // Completions that were not handed out yet, a ring.
    std::vector<completion> d_done;
    std::uint64_t d_done_first = 0;
    std::uint64_t d_done_end = 0;
    std::uint64_t d_taken = 0; // accepted and not handed out: at most the depth
    std::uint64_t d_sequence = 0;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_RECEIVE_QUEUE_H */
