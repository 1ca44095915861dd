/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_PROBE_KERNEL_H
#define INCLUDED_RDMA_CUDA_PROBE_KERNEL_H

#include "cuda/stream.h"

#include <cstdint>

namespace gr {
namespace rdma {
namespace cuda {

//! *cell = value, by a kernel. \return cudaError_t of the launch
[[nodiscard]] int
launch_probe(std::uint32_t* cell, std::uint32_t value, stream_ref stream) noexcept;

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_PROBE_KERNEL_H */
