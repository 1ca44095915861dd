/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_INPUT_SPIN_H
#define INCLUDED_RDMA_INPUT_SPIN_H

#include <cstdint>
#include <functional>
#include <gnuradio/block.h>
#include <utility>
#include <vector>

namespace gr {
namespace rdma {

class ring_buffer;

/*!
 * \brief Has a block's thread look for input all the time, where GNU Radio would have it
 * sleep until the block in front wakes it: what wait=busy means.
 *
 * GNU Radio's scheduler runs a block's thread in rounds: queued messages, then one call
 * of general_work() or, where there is too little input, a sleep of at most
 * blkd_input_timer_value(). While this is begun that time is zero, so the rounds go on
 * and on, and the scheduler looks after messages, stop(), the end of the stream and full
 * outputs as ever. Rounds take locks that the block in front needs, and even a sleep of
 * no time takes most of a millisecond on some machines; so round(), at the front of each,
 * spins without any lock while nothing new is in the rings, and gives way to the rest of
 * the round when that has something to do.
 *
 * A block whose output is full sleeps until there is room, as ever.
 *
 * Threads: all of it on the block's thread; round() does nothing on another.
 */
class input_spin
{
public:
    //! How late messages, stop() and the end of the stream may be served; the thread then
    //! gives way to another that wants its CPU.
    static constexpr std::int64_t look_ns = 100000;
    //! After which the scheduler has its turn in any case, as with its own sleep.
    static constexpr std::int64_t round_ns = 250000000;

    //! \param serve handles the block's queued messages, as the scheduler does, on the
    //! block's thread; returns whether there were any; must not come back to round()
    input_spin(gr::block& block, std::function<bool()> serve)
        : d_block(block), d_serve(std::move(serve))
    {
    }
    input_spin(const input_spin&) = delete;
    input_spin& operator=(const input_spin&) = delete;

    //! In start(). Without a ring among the inputs nothing changes.
    void begin();
    //! In stop(). Also if not begun.
    void end() noexcept;
    //! At the front of a round, without any lock held. Throws what forecast() throws.
    void round();

private:
    // As the scheduler would find it.
    bool starved();
    // Until something new is in the rings.
    void spin(unsigned seen, std::int64_t until_ns) const noexcept;
    unsigned writes() const noexcept;

    gr::block& d_block;
    const std::function<bool()> d_serve;
    std::vector<const ring_buffer*> d_rings; // inputs; empty: not begun
    gr_vector_int d_there;                   // items, by input
    gr_vector_int d_required;
    unsigned d_timer = 0; // ms, to put back
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_INPUT_SPIN_H */
