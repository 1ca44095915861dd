/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_BENCH_KERNELS_H
#define INCLUDED_RDMA_CUDA_BENCH_KERNELS_H

#include "cuda/memory.h"
#include "cuda/stream.h"

#include <cstdint>

namespace gr {
namespace rdma {
namespace cuda {

/*!
 * \brief Reads every byte: *sum becomes its exclusive or with all words of the span. For
 * measurements, and for patterns whose sum is known. Does not synchronise.
 *
 * \param words aligned to 16 bytes, a multiple of four of them; device memory, as \p sum
 * \return cudaError_t: cudaErrorInvalidValue for a span of another shape, or that of the
 * launch
 */
[[nodiscard]] int launch_read_all(device_span<const std::uint32_t> words,
                                  std::uint32_t* sum,
                                  stream_ref stream) noexcept;

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_BENCH_KERNELS_H */
