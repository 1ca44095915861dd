/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_SAMPLE_FORMAT_H
#define INCLUDED_RDMA_DSP_SAMPLE_FORMAT_H

#include "core/sample.h"

#include <cstdint>

// For what the GPU computes by the same function.
#ifdef __CUDACC__
#define RDMA_HOST_DEVICE __host__ __device__
#else
#define RDMA_HOST_DEVICE
#endif

namespace gr {
namespace rdma {
namespace dsp {

/*
 * What the elements of a sample mean: a complex sample is two of them, I and Q, a real
 * one is one. value = level(element) * unit, and both steps are exact in single
 * precision, so the host and the GPU get the same bits whatever their order of
 * operations.
 */

struct cu8_format {
    using element = std::uint8_t;
    static constexpr unsigned elements = 2; //!< per sample
    static constexpr float unit = 1.0f / 128;
    RDMA_HOST_DEVICE static float level(element e)
    {
        return static_cast<float>(e) - 127.5f;
    }
};

struct sc8_format {
    using element = std::int8_t;
    static constexpr unsigned elements = 2;
    static constexpr float unit = 1.0f / 128;
    RDMA_HOST_DEVICE static float level(element e) { return static_cast<float>(e); }
};

struct sc16_format {
    using element = std::int16_t;
    static constexpr unsigned elements = 2;
    static constexpr float unit = 1.0f / 32768;
    RDMA_HOST_DEVICE static float level(element e) { return static_cast<float>(e); }
};

struct fc32_format {
    using element = float;
    static constexpr unsigned elements = 2;
    static constexpr float unit = 1;
    RDMA_HOST_DEVICE static float level(element e) { return e; }
};

struct byte_format {
    using element = std::int8_t;
    static constexpr unsigned elements = 1;
    static constexpr float unit = 1.0f / 128;
    RDMA_HOST_DEVICE static float level(element e) { return static_cast<float>(e); }
};

//! function(cu8_format()) or another, by \p type.
template <class Function>
auto with_format(core::sample_type type, Function&& function)
{
    switch (type) {
    case core::sample_type::cu8:
        return function(cu8_format());
    case core::sample_type::sc8:
        return function(sc8_format());
    case core::sample_type::sc16:
        return function(sc16_format());
    case core::sample_type::fc32:
        return function(fc32_format());
    case core::sample_type::byte:
        break;
    }
    return function(byte_format());
}

} // namespace dsp
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DSP_SAMPLE_FORMAT_H */
