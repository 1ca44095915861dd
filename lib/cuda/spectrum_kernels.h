/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_SPECTRUM_KERNELS_H
#define INCLUDED_RDMA_CUDA_SPECTRUM_KERNELS_H

#include "core/sample.h"
#include "cuda/averaging.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

#include <cstddef>

namespace gr {
namespace rdma {
namespace cuda {

/*
 * The steps of cuda::spectrum around the transform. Launchers return cudaError_t of the
 * launch, cudaErrorInvalidValue for a span that is too short; they neither synchronise
 * nor allocate. All pointers are device memory.
 */

//! Samples as one sequence: first `carried` from `carry`, then those of `input`. Each
//! aligned for a whole sample.
struct sample_source {
    const void* carry;
    std::size_t carried;
    const void* input;
};

//! Frames of 2**log2_length samples: frame k begins at sample first + k * hop.
struct frame_grid {
    std::size_t first;
    std::size_t hop;
    unsigned log2_length;
    unsigned frames;
};

//! out[k][i] = level of sample i of frame k * taps[i]; complex (2 floats), or real for
//! byte.
[[nodiscard]] int launch_window(core::sample_type type,
                                const sample_source& from,
                                const frame_grid& grid,
                                const float* taps,
                                device_span<float> out,
                                stream_ref stream) noexcept;

//! to[i] = sample begin + i, for i < n. `to` overlaps neither part of the source.
[[nodiscard]] int launch_keep(core::sample_type type,
                              const sample_source& from,
                              std::size_t begin,
                              std::size_t n,
                              void* to,
                              stream_ref stream) noexcept;

//! Where sums and finished averages go. An array of bins of each; of the states one is
//! read and another written.
struct averages_out {
    const float* part_before;
    float* part_after;
    const double* total_before;
    double* total_after;
    device_span<float> parts; //!< completed ones of the batch; unused if one per average
    device_span<float> vectors; //!< completed averages of the batch, in order
};

//! How transforms lie in memory and bins in the output.
struct bin_layout {
    unsigned length; //!< bins per output vector
    unsigned bins;   //!< per transform: length, or length / 2 + 1 of a real signal
    unsigned zero;   //!< place of zero frequency in the output: 0 or length / 2
};

/*!
 * \brief Squared magnitudes of a batch of transforms, summed, and averages put out.
 *
 * \param transforms shape.frames of them, bins complex numbers (2 floats) each
 */
[[nodiscard]] int launch_average(device_span<const float> transforms,
                                 const batch_shape& shape,
                                 const bin_layout& layout,
                                 const averages_out& out,
                                 stream_ref stream) noexcept;

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_SPECTRUM_KERNELS_H */
