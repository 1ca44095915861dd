/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input_spin.h"

#include "core/clock.h"
#include "core/relax.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/ring_buffer.h>
#include <gnuradio/thread/thread.h>

#include <algorithm>
#include <thread>

namespace gr {
namespace rdma {

namespace {

thread_local const input_spin* of_this_thread = nullptr;

// Sleeping until a mutex is free takes a thousand times as long as it is held for.
gr::thread::scoped_lock lock_without_sleep(gr::thread::mutex& mutex)
{
    constexpr int most = 1000; // the holder may have lost its CPU
    gr::thread::scoped_lock lock(mutex, boost::defer_lock);
    for (int i = 0; i < most && !lock.try_lock(); ++i)
        core::relax();
    if (!lock)
        lock.lock();
    return lock;
}

} // namespace

void input_spin::begin()
{
    const block_detail_sptr detail = d_block.detail();
    const int inputs = detail->ninputs();
    for (int i = 0; i < inputs; ++i) {
        const auto buffer = detail->input(i)->buffer();
        if (const auto* const ring = dynamic_cast<const ring_buffer*>(buffer.get()))
            d_rings.push_back(ring);
    }
    if (d_rings.empty())
        return;
    d_there.assign(static_cast<std::size_t>(inputs), 0);
    d_required.assign(static_cast<std::size_t>(inputs), 0);
    d_timer = d_block.blkd_input_timer_value();
    d_block.set_blkd_input_timer_value(0);
    of_this_thread = this;
}

void input_spin::end() noexcept
{
    if (d_rings.empty())
        return;
    d_rings.clear();
    d_block.set_blkd_input_timer_value(d_timer);
    of_this_thread = nullptr;
}

unsigned input_spin::writes() const noexcept
{
    unsigned sum = 0;
    for (const ring_buffer* const ring : d_rings)
        sum += ring->writes();
    return sum;
}

bool input_spin::starved()
{
    const block_detail_sptr detail = d_block.detail();
    int most = 0;
    for (std::size_t i = 0; i < d_there.size(); ++i) {
        const buffer_reader_sptr reader = detail->input(static_cast<unsigned>(i));
        const auto lock = lock_without_sleep(*reader->mutex());
        if (reader->done())
            return false; // what there is is all, and the scheduler's business
        d_there[i] = reader->items_available();
        most = std::max(most, d_there[i]);
    }
    const int least = std::max(d_block.output_multiple(), 1);
    if (detail->sink_p() && most * d_block.relative_rate() < least)
        return true;
    d_block.forecast(least, d_required);
    for (std::size_t i = 0; i < d_there.size(); ++i)
        if (d_required[i] > d_there[i])
            return true;
    return false;
}

void input_spin::spin(unsigned seen, std::int64_t until_ns) const noexcept
{
    constexpr int looks = 64; // between two looks at the clock
    for (int i = 0; writes() == seen; ++i) {
        if (i % looks == looks - 1 && core::monotonic_ns() >= until_ns)
            return;
        core::relax();
    }
}

void input_spin::round()
{
    if (of_this_thread != this)
        return;
    const std::int64_t begin = core::monotonic_ns();
    std::int64_t look = begin + look_ns;
    unsigned seen = writes();
    while (starved()) {
        spin(seen, look);
        const std::int64_t now = core::monotonic_ns();
        if (now >= look) {
            if (now - begin >= round_ns || boost::this_thread::interruption_requested() ||
                d_serve())
                return;
            std::this_thread::yield();
            look = now + look_ns;
        }
        seen = writes();
    }
}

} // namespace rdma
} // namespace gr
