/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/convert.h"

#include "dsp/clones.h"
#include "dsp/sample_format.h"

#include <cstdint>
#include <cstring>

namespace gr {
namespace rdma {
namespace dsp {

namespace {

RDMA_CLONES void convert_u8(const std::uint8_t* __restrict x,
                            float* __restrict out,
                            std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = cu8_format::level(x[i]) * cu8_format::unit;
}

RDMA_CLONES void
convert_s8(const std::int8_t* __restrict x, float* __restrict out, std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = sc8_format::level(x[i]) * sc8_format::unit;
}

RDMA_CLONES void convert_s16(const std::int16_t* __restrict x,
                             float* __restrict out,
                             std::size_t n) noexcept
{
    for (std::size_t i = 0; i < n; ++i)
        out[i] = sc16_format::level(x[i]) * sc16_format::unit;
}

} // namespace

void convert(core::sample_type type,
             const void* samples,
             std::size_t n,
             float* out) noexcept
{
    n *= float_elements(type);
    switch (type) {
    case core::sample_type::cu8:
        return convert_u8(static_cast<const std::uint8_t*>(samples), out, n);
    case core::sample_type::sc8:
    case core::sample_type::byte:
        return convert_s8(static_cast<const std::int8_t*>(samples), out, n);
    case core::sample_type::sc16:
        return convert_s16(static_cast<const std::int16_t*>(samples), out, n);
    case core::sample_type::fc32:
        if (n != 0) // an empty span may be null
            std::memcpy(out, samples, n * sizeof(float));
    }
}

unsigned float_elements(core::sample_type type) noexcept
{
    return with_format(type, [](auto format) { return decltype(format)::elements; });
}

} // namespace dsp
} // namespace rdma
} // namespace gr
