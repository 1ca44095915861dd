/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_SAMPLE_CLOCK_H
#define INCLUDED_RDMA_DSP_SAMPLE_CLOCK_H

#include <cstddef>
#include <cstdint>
#include <deque>

namespace gr {
namespace rdma {
namespace dsp {

//! Whole seconds and a fraction in [0, 1), as in the rx_time tag.
struct stream_time {
    std::uint64_t seconds = 0;
    double fraction = 0;
};

/*!
 * \brief When each sample of a series was taken, from the times and rates stated along
 * it.
 *
 * Sample numbers count from 0 at restart(). They are stated in ascending order and may
 * run ahead of those asked for: what is stated at sample s holds from s on, and is kept
 * until every question about earlier samples is over. Questions come in ascending order
 * too, and only for multiples of \p step (the starts of averages); statements that no
 * such sample can see are merged, so that memory is bounded by the starts in flight.
 *
 * Not thread-safe; plain arithmetic.
 */
class sample_clock
{
public:
    //! \param step distance of the samples asked for, at least 1
    explicit sample_clock(std::uint64_t step) : d_step(step) { restart(); }

    //! A new series: the time is unknown, the rate stays.
    void restart();
    //! Samples per second from sample \p sample on; 0: unknown.
    void set_rate(std::uint64_t sample, double rate);
    //! Sample \p sample was taken at \p time.
    void set_time(std::uint64_t sample, stream_time time);
    //! The rate stated last; 0: unknown.
    double rate() const noexcept { return d_bases.back().rate; }

    /*!
     * \brief The time of \p sample, a multiple of step.
     * \param fresh set to whether a time was stated since the sample asked for before
     * \return false if it is unknown: none was stated, or no rate to count on from it
     */
    bool time_at(std::uint64_t sample, stream_time& time, bool& fresh);

private:
    struct base {
        std::uint64_t sample;
        bool known;
        stream_time time;
        double rate;
        bool fresh;
    };
    static bool extrapolate(const base& from, std::uint64_t sample, stream_time& time);
    void add(const base& next);

    std::uint64_t d_step;
    std::deque<base> d_bases; // ascending, never empty
};

} // namespace dsp
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DSP_SAMPLE_CLOCK_H */
