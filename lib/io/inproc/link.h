/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_INPROC_LINK_H
#define INCLUDED_RDMA_IO_INPROC_LINK_H

#include "core/doorbell.h"
#include "io/endpoint.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace inproc {

//! One end of a link. The link's mutex guards all but the atomics, the counters and the
//! doorbells.
struct side {
    explicit side(const endpoint_config& c) : config(c) {}

    bool fits(const recv_slot& slot) const noexcept;
    void set_state(endpoint_state next, const std::string& text);
    void complete(const completion& c);
    void finish_send(wc_status status);
    void flush_sends();

    const endpoint_config config;
    mem::region ring;
    mem::region headers;
    std::deque<recv_slot> slots;
    std::deque<completion> completions;
    std::deque<send_request> requests;
    std::deque<send_completion> done;
    std::atomic<std::size_t> ready{ 0 };      //!< size of completions
    std::atomic<std::size_t> done_ready{ 0 }; //!< size of done
    std::size_t receives = 0;                 //!< posted and not polled
    std::size_t sends = 0;
    bool starved = false; //!< a message waits for a slot
    std::uint64_t sequence = 0;
    gap lost;
    std::atomic<endpoint_state> state{ endpoint_state::idle };
    std::atomic<bool> stopped{ false };
    std::string why;
    io::counters counts;
    core::doorbell readable;
    core::doorbell sendable;
};

/*!
 * \brief What two inproc endpoints share. Found by their names, freed with the last of
 * them.
 *
 * join() and leave() lock the mutex themselves; transfer() wants it held.
 */
class link
{
public:
    //! The link of two names, in either order, made if there is none.
    static std::shared_ptr<link> find(const std::string& a, const std::string& b);

    //! Take one end. Idempotent. \throws config_error another has it, or s was stopped
    void reserve(const std::shared_ptr<side>& s);
    //! Begin, on an end that was reserved. \throws config_error it began before
    void join(const std::shared_ptr<side>& s);
    //! Idempotent. Flushes what \p s has outstanding; the peer sees "closed".
    void leave(const std::shared_ptr<side>& s);
    //! Move what can be moved, both ways.
    void transfer();

    std::mutex mutex;

private:
    bool both(endpoint_state state) const noexcept;
    static bool transfer_one(side& from, side& to);
    static void deliver(const send_request& r, side& to);
    static void lose(side& to, gap_reason reason, std::uint64_t bytes);

    std::shared_ptr<side> d_sides[2]; // [0] is the end whose own name sorts first
};

} // namespace inproc
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_INPROC_LINK_H */
