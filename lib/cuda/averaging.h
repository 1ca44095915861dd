/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_AVERAGING_H
#define INCLUDED_RDMA_CUDA_AVERAGING_H

#include "dsp/sample_format.h"

#include <cstdint>

namespace gr {
namespace rdma {
namespace cuda {

/*
 * Which transforms of a batch belong to which average, as integers alone.
 *
 * An average of A transforms is the sum of parts of part_frames transforms, the last part
 * of an average maybe shorter. Parts are summed in single precision in the order of the
 * transforms, averages in double precision in the order of their parts, so what a batch
 * holds does not change the sums. A batch may begin and end inside a part; the sum so far
 * waits in the state.
 */
constexpr unsigned part_frames = 16;

//! A run of transforms of one part that lie in a batch.
struct part_run {
    unsigned average;       //!< of the averages that the batch touches, from 0
    unsigned part;          //!< of that average, from 0
    unsigned begin, end;    //!< transforms of the batch
    bool continued;         //!< the part's sum so far is in the state
    bool completed;         //!< the batch holds the part's last transform
    bool completes_average; //!< and the average's
};

//! A batch of `frames` transforms (1 to 2**27); the first is transform `position` of its
//! average, `position` < `average`.
struct batch_shape {
    unsigned average; //!< transforms per average
    unsigned position;
    unsigned frames;

    // 32 bits where they are enough: the kernels divide by these.
    RDMA_HOST_DEVICE unsigned parts_per_average() const
    {
        return static_cast<unsigned>((std::uint64_t(average) + part_frames - 1) /
                                     part_frames);
    }
    //! The part that transform 0 belongs to; as many are whole in the state's total.
    RDMA_HOST_DEVICE unsigned first_part() const { return position / part_frames; }
    RDMA_HOST_DEVICE std::uint64_t last_average() const
    {
        return (std::uint64_t(position) + frames - 1) / average;
    }
    //! Averages touched, the last one maybe not completed.
    RDMA_HOST_DEVICE unsigned averages() const
    {
        return static_cast<unsigned>(last_average() + 1);
    }
    RDMA_HOST_DEVICE unsigned completed_averages() const
    {
        return static_cast<unsigned>((std::uint64_t(position) + frames) / average);
    }
    //! Parts touched, the last one maybe not completed.
    RDMA_HOST_DEVICE unsigned parts() const
    {
        const std::uint64_t last =
            (std::uint64_t(position) + frames - 1) % average / part_frames;
        return static_cast<unsigned>(last_average() * parts_per_average() + last -
                                     first_part() + 1);
    }
    //! \param index below parts()
    RDMA_HOST_DEVICE part_run part(unsigned index) const
    {
        const unsigned per = parts_per_average();
        const unsigned number = first_part() + index;
        part_run run;
        run.average = number / per;
        run.part = number % per;
        // In transforms, counted from the first touched average's first.
        const std::uint64_t origin = std::uint64_t(run.average) * average;
        const std::uint64_t begin = origin + std::uint64_t(run.part) * part_frames;
        std::uint64_t end = begin + part_frames;
        end = end < origin + average ? end : origin + average;
        const std::uint64_t stop = std::uint64_t(position) + frames;
        run.continued = begin < position;
        run.completed = end <= stop;
        run.completes_average = run.completed && end == origin + average;
        run.begin = run.continued ? 0 : static_cast<unsigned>(begin - position);
        run.end = static_cast<unsigned>((run.completed ? end : stop) - position);
        return run;
    }
};

//! Most parts that a batch of \p frames touches whose averages have several parts.
constexpr unsigned most_parts(unsigned frames) noexcept { return frames / 8 + 4; }

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_AVERAGING_H */
