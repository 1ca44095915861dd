/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/spectrum_kernels.h"

#include "dsp/clones.h"

namespace gr {
namespace rdma {
namespace dsp {

RDMA_CLONES void window_s8(const std::int8_t* __restrict x,
                           const float* __restrict taps,
                           float* __restrict out,
                           std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = static_cast<float>(x[i]) * taps[i];
}

RDMA_CLONES void window_s16(const std::int16_t* __restrict x,
                            const float* __restrict taps,
                            float* __restrict out,
                            std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = static_cast<float>(x[i]) * taps[i];
}

RDMA_CLONES void window_f32(const float* __restrict x,
                            const float* __restrict taps,
                            float* __restrict out,
                            std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = x[i] * taps[i];
}

RDMA_CLONES void window_u8(const std::uint8_t* __restrict x,
                           const float* __restrict taps,
                           float* __restrict out,
                           std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = (static_cast<float>(x[i]) - 127.5f) * taps[i];
}

RDMA_CLONES void
power_set(const float* __restrict x, float* __restrict power, std::size_t n) noexcept
{
    for (std::size_t k = 0; k < n; ++k)
        power[k] = x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1];
}

RDMA_CLONES void
power_add(const float* __restrict x, float* __restrict power, std::size_t n) noexcept
{
    for (std::size_t k = 0; k < n; ++k)
        power[k] += x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1];
}

RDMA_CLONES void
total_add(const float* __restrict part, double* __restrict total, std::size_t n) noexcept
{
    for (std::size_t k = 0; k < n; ++k)
        total[k] += part[k];
}

RDMA_CLONES void scale_f32(const float* __restrict x,
                           float factor,
                           float* __restrict out,
                           std::size_t n) noexcept
{
    for (std::size_t k = 0; k < n; ++k)
        out[k] = x[k] * factor;
}

RDMA_CLONES void scale_f64(const double* __restrict x,
                           double factor,
                           float* __restrict out,
                           std::size_t n) noexcept
{
    for (std::size_t k = 0; k < n; ++k)
        out[k] = static_cast<float>(x[k] * factor);
}

} // namespace dsp
} // namespace rdma
} // namespace gr
