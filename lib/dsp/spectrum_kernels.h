/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_SPECTRUM_KERNELS_H
#define INCLUDED_RDMA_DSP_SPECTRUM_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace dsp {

/*
 * Element loops of the host spectrum, compiled per instruction set where the tool chain
 * can choose at load time. Spans do not overlap; no alignment is asked beyond the type's.
 * Each result depends on its own elements only, so a span may be cut anywhere.
 */

//! out[i] = x[i] * taps[i], for i < n; a complex sample is two elements.
void window_s8(const std::int8_t* x,
               const float* taps,
               float* out,
               std::size_t n) noexcept;
void window_s16(const std::int16_t* x,
                const float* taps,
                float* out,
                std::size_t n) noexcept;
void window_f32(const float* x, const float* taps, float* out, std::size_t n) noexcept;
//! out[i] = (x[i] - 127.5) * taps[i]
void window_u8(const std::uint8_t* x,
               const float* taps,
               float* out,
               std::size_t n) noexcept;

//! power[k] = |x[k]|**2 for k < n; x is interleaved complex, 2 * n floats.
void power_set(const float* x, float* power, std::size_t n) noexcept;
//! power[k] += |x[k]|**2
void power_add(const float* x, float* power, std::size_t n) noexcept;

//! total[k] += part[k]
void total_add(const float* part, double* total, std::size_t n) noexcept;
//! out[k] = x[k] * factor
void scale_f32(const float* x, float factor, float* out, std::size_t n) noexcept;
void scale_f64(const double* x, double factor, float* out, std::size_t n) noexcept;

} // namespace dsp
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DSP_SPECTRUM_KERNELS_H */
