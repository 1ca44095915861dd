/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_LAUNCH_H
#define INCLUDED_RDMA_CUDA_LAUNCH_H

#include "cuda/stream.h"

#include <cstdint>
#include <cuda_runtime.h>

// For .cu files only.

namespace gr {
namespace rdma {
namespace cuda {

//! Threads per block of kernels whose threads do not meet.
constexpr unsigned block_threads = 256;

/*!
 * \brief Puts \p kernel on the stream, with as many blocks of block_threads as \p threads
 * need. Does not synchronise.
 *
 * \return cudaError_t of this launch alone: what a call before left behind does not show
 */
template <class... Parameters, class... Arguments>
int launch(void (*kernel)(Parameters...),
           std::uint64_t threads,
           stream_ref stream,
           Arguments... arguments) noexcept
{
    cudaLaunchConfig_t config = {};
    config.gridDim =
        dim3(static_cast<unsigned>((threads + block_threads - 1) / block_threads));
    config.blockDim = dim3(block_threads);
    config.stream = stream.get();
    const auto code =
        cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
    if (code != cudaSuccess)
        cudaGetLastError();
    return code;
}

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_LAUNCH_H */
