/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_CONVERT_H
#define INCLUDED_RDMA_CUDA_CONVERT_H

#include "core/sample.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

namespace gr {
namespace rdma {
namespace cuda {

/*!
 * \brief dsp::convert() on the GPU, bit for bit. Does not synchronise, allocates nothing.
 *
 * \param samples bytes of whole samples, aligned for their elements; fastest where the
 * 16 bytes of output that one thread writes come from aligned words
 * \param out     at least as many floats as that makes (dsp::float_elements); what lies
 * behind them is left as it is
 * \return cudaError_t: cudaErrorInvalidValue if the spans do not go together, or that of
 * the launch
 */
[[nodiscard]] int launch_convert(core::sample_type type,
                                 device_span<const void> samples,
                                 device_span<float> out,
                                 stream_ref stream) noexcept;

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_CONVERT_H */
