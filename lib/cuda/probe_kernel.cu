/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/error.h"
#include "cuda/launch.h"
#include "cuda/probe_kernel.h"

namespace gr {
namespace rdma {
namespace cuda {

namespace {

__global__ void probe_kernel(std::uint32_t* cell, std::uint32_t value)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *cell = value;
}

} // namespace

int launch_probe(std::uint32_t* cell, std::uint32_t value, stream_ref stream) noexcept
{
    return launch(probe_kernel, 1, stream, cell, value);
}

std::string built_architectures()
{
    std::string text;
    for (const int architecture : { __CUDA_ARCH_LIST__ })
        text += (text.empty() ? "" : ", ") + std::to_string(architecture / 10);
    return text;
}

} // namespace cuda
} // namespace rdma
} // namespace gr
