/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_CONVERT_H
#define INCLUDED_RDMA_DSP_CONVERT_H

#include "core/sample.h"

#include <cstddef>

namespace gr {
namespace rdma {
namespace dsp {

/*!
 * \brief Samples of any type to floats of full scale 1, by the CPU.
 *
 * Complex types give I and Q, `byte` one float per sample: sc8 and byte by 1/128, sc16 by
 * 1/32768, cu8 as (x - 127.5)/128, fc32 as it is. The results are exact.
 *
 * \param samples \p n samples, aligned for their elements
 * \param out     room for float_elements(type) * \p n floats; does not overlap samples
 */
void convert(core::sample_type type,
             const void* samples,
             std::size_t n,
             float* out) noexcept;

//! Floats per converted sample: 2, of byte 1.
unsigned float_elements(core::sample_type type) noexcept;

} // namespace dsp
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DSP_CONVERT_H */
