/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/convert.h"
#include "cuda/launch.h"
#include "dsp/sample_format.h"

#include <cstddef>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// Groups of four elements per thread, a block apart, so that four loads are under way at
// once. A group is one store of 16 bytes and, from aligned input, one load.
constexpr unsigned group_elements = 4;
constexpr unsigned groups_per_thread = 4;

template <class Element>
struct alignas(group_elements * sizeof(Element)) group {
    Element e[group_elements];
};

template <class Format, bool Aligned>
__device__ group<typename Format::element>
load_group(const typename Format::element* from)
{
    using group_type = group<typename Format::element>;
    if constexpr (Aligned) {
        return *reinterpret_cast<const group_type*>(from);
    } else {
        group_type g;
        for (unsigned j = 0; j < group_elements; ++j)
            g.e[j] = from[j];
        return g;
    }
}

// `head` elements up to the first aligned float4 of the output, then whole groups, then
// what is left of n.
template <class Format, bool Aligned>
__global__ void convert_kernel(const typename Format::element* __restrict__ in,
                               float* __restrict__ out,
                               std::size_t n,
                               unsigned head,
                               std::size_t groups)
{
    const auto value = [](typename Format::element e) {
        return Format::level(e) * Format::unit;
    };
    if (blockIdx.x == 0) {
        const std::size_t tail = head + groups * group_elements;
        if (threadIdx.x < head)
            out[threadIdx.x] = value(in[threadIdx.x]);
        if (threadIdx.x < n - tail)
            out[tail + threadIdx.x] = value(in[tail + threadIdx.x]);
    }
    const std::size_t first =
        std::size_t(blockIdx.x) * block_threads * groups_per_thread + threadIdx.x;
    group<typename Format::element> g[groups_per_thread];
#pragma unroll
    for (unsigned i = 0; i < groups_per_thread; ++i)
        if (first + i * block_threads < groups)
            g[i] = load_group<Format, Aligned>(
                in + head + (first + i * block_threads) * group_elements);
#pragma unroll
    for (unsigned i = 0; i < groups_per_thread; ++i)
        if (first + i * block_threads < groups)
            reinterpret_cast<float4*>(out + head)[first + i * block_threads] =
                make_float4(value(g[i].e[0]),
                            value(g[i].e[1]),
                            value(g[i].e[2]),
                            value(g[i].e[3]));
}

template <class Format>
int launch_format(const void* samples, std::size_t n, float* out, stream_ref stream)
{
    using element = typename Format::element;
    const auto* const in = static_cast<const element*>(samples);
    const std::size_t past = reinterpret_cast<std::size_t>(out) / sizeof(float) % 4;
    std::size_t head = past ? 4 - past : 0;
    head = head < n ? head : n;
    const std::size_t groups = (n - head) / group_elements;
    const bool aligned =
        reinterpret_cast<std::size_t>(in + head) % sizeof(group<element>) == 0;
    const std::uint64_t threads = (groups + groups_per_thread - 1) / groups_per_thread;
    return launch(aligned ? convert_kernel<Format, true> : convert_kernel<Format, false>,
                  threads ? threads : 1,
                  stream,
                  in,
                  out,
                  n,
                  static_cast<unsigned>(head),
                  groups);
}

} // namespace

int launch_convert(core::sample_type type,
                   device_span<const void> samples,
                   device_span<float> out,
                   stream_ref stream) noexcept
{
    return dsp::with_format(type, [&](auto format) -> int {
        using format_type = decltype(format);
        using element = typename format_type::element;
        const std::size_t n = samples.size / sizeof(element);
        if (samples.size % (sizeof(element) * format_type::elements) != 0 ||
            reinterpret_cast<std::size_t>(samples.data) % sizeof(element) != 0 ||
            reinterpret_cast<std::size_t>(out.data) % sizeof(float) != 0 || out.size < n)
            return cudaErrorInvalidValue;
        return n == 0 ? cudaSuccess
                      : launch_format<format_type>(samples.data, n, out.data, stream);
    });
}

} // namespace cuda
} // namespace rdma
} // namespace gr
