/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/sample_clock.h"

#include <cmath>

namespace gr {
namespace rdma {
namespace dsp {

void sample_clock::restart()
{
    const double rate = d_bases.empty() ? 0 : d_bases.back().rate;
    d_bases.assign(1, base{ 0, false, {}, rate, false });
}

void sample_clock::set_rate(std::uint64_t sample, double rate)
{
    const base& last = d_bases.back();
    base next{ sample, false, {}, rate, false };
    next.known = extrapolate(last, sample, next.time);
    // A time at this very sample was stated first: it stays news.
    next.fresh = last.sample == sample && last.fresh;
    add(next);
}

void sample_clock::set_time(std::uint64_t sample, stream_time time)
{
    add({ sample, true, time, d_bases.back().rate, true });
}

void sample_clock::add(const base& next)
{
    base& last = d_bases.back();
    const std::uint64_t next_start = (last.sample + d_step - 1) / d_step * d_step;
    if (next_start < next.sample) {
        d_bases.push_back(next);
        return;
    }
    const bool fresh = last.fresh || next.fresh;
    last = next;
    last.fresh = fresh;
}

bool sample_clock::extrapolate(const base& from, std::uint64_t sample, stream_time& time)
{
    if (!from.known)
        return false;
    time = from.time;
    if (sample == from.sample)
        return true;
    if (!(from.rate > 0))
        return false;
    // Whole seconds apart from the rest, so that hours of samples keep their nanoseconds.
    const double delta = static_cast<double>(sample - from.sample);
    double seconds = std::floor(delta / from.rate);
    double fraction =
        from.time.fraction + std::fma(-seconds, from.rate, delta) / from.rate;
    const double carry = std::floor(fraction);
    seconds += carry;
    fraction -= carry;
    time.seconds = from.time.seconds + static_cast<std::int64_t>(seconds);
    time.fraction = fraction;
    return true;
}

bool sample_clock::time_at(std::uint64_t sample, stream_time& time, bool& fresh)
{
    fresh = d_bases.front().fresh && d_bases.front().sample <= sample;
    while (d_bases.size() > 1 && d_bases[1].sample <= sample) {
        d_bases.pop_front();
        fresh |= d_bases.front().fresh;
    }
    d_bases.front().fresh &= d_bases.front().sample > sample;
    return extrapolate(d_bases.front(), sample, time);
}

} // namespace dsp
} // namespace rdma
} // namespace gr
