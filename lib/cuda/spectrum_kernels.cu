/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/launch.h"
#include "cuda/spectrum_kernels.h"
#include "dsp/sample_format.h"

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// Samples per thread of the element-wise kernels, a block apart: as many loads under way.
constexpr unsigned samples_per_thread = 4;

template <class Format>
struct alignas(sizeof(typename Format::element) * Format::elements) sample {
    typename Format::element e[Format::elements];
};

template <class Format>
__device__ sample<Format> load(const sample_source& from, std::size_t index)
{
    const auto* const carry = static_cast<const sample<Format>*>(from.carry);
    const auto* const input = static_cast<const sample<Format>*>(from.input);
    return index < from.carried ? carry[index] : input[index - from.carried];
}

template <class Format>
__global__ void window_kernel(sample_source from,
                              frame_grid grid,
                              const float* __restrict__ taps,
                              float* __restrict__ out)
{
    const unsigned length = 1u << grid.log2_length;
    const unsigned total = grid.frames << grid.log2_length;
    const unsigned begin = blockIdx.x * block_threads * samples_per_thread + threadIdx.x;
    sample<Format> s[samples_per_thread];
#pragma unroll
    for (unsigned j = 0; j < samples_per_thread; ++j) {
        const unsigned i = begin + j * block_threads;
        if (i < total)
            s[j] = load<Format>(from,
                                grid.first + (i >> grid.log2_length) * grid.hop +
                                    (i & (length - 1)));
    }
#pragma unroll
    for (unsigned j = 0; j < samples_per_thread; ++j) {
        const unsigned i = begin + j * block_threads;
        if (i >= total)
            return;
        const float tap = taps[i & (length - 1)];
        if constexpr (Format::elements == 2)
            reinterpret_cast<float2*>(out)[i] = make_float2(
                Format::level(s[j].e[0]) * tap, Format::level(s[j].e[1]) * tap);
        else
            out[i] = Format::level(s[j].e[0]) * tap;
    }
}

template <class Format>
__global__ void keep_kernel(sample_source from, std::size_t begin, unsigned n, void* to)
{
    const unsigned i = blockIdx.x * block_threads + threadIdx.x;
    if (i < n)
        static_cast<sample<Format>*>(to)[i] = load<Format>(from, begin + i);
}

// One mean to its place in a vector; to its mirror image too where only half the bins of
// a real signal were computed.
__device__ void put_bin(float* vector, const bin_layout& layout, unsigned bin, float mean)
{
    const unsigned mask = layout.length - 1;
    vector[(bin + layout.zero) & mask] = mean;
    if (layout.bins != layout.length)
        vector[(layout.length - bin + layout.zero) & mask] = mean;
}

// A thread sums one bin over one part.
__global__ void parts_kernel(const float2* __restrict__ transforms,
                             batch_shape shape,
                             unsigned parts,
                             bin_layout layout,
                             averages_out out)
{
    const unsigned i = blockIdx.x * block_threads + threadIdx.x;
    const unsigned index = i / layout.bins;
    const unsigned bin = i % layout.bins;
    if (index >= parts)
        return;
    const part_run run = shape.part(index);
    const float2* x = transforms + std::size_t(run.begin) * layout.bins + bin;
    float sum = run.continued ? out.part_before[bin] : 0;
#pragma unroll 4
    for (unsigned k = run.begin; k < run.end; ++k, x += layout.bins)
        sum += x->x * x->x + x->y * x->y;
    if (!run.completed)
        out.part_after[bin] = sum;
    else if (shape.parts_per_average() > 1)
        out.parts.data[std::size_t(index) * layout.bins + bin] = sum;
    else
        put_bin(out.vectors.data + std::size_t(run.average) * layout.length,
                layout,
                bin,
                sum / static_cast<float>(shape.average));
}

// A thread sums one bin over the parts of one average.
__global__ void totals_kernel(batch_shape shape, bin_layout layout, averages_out out)
{
    const unsigned i = blockIdx.x * block_threads + threadIdx.x;
    const unsigned average = i / layout.bins;
    const unsigned bin = i % layout.bins;
    if (average >= shape.averages())
        return;
    const std::uint64_t per = shape.parts_per_average();
    const unsigned before = shape.first_part();
    // Places in out.parts of the parts of this average that the batch completed.
    const unsigned parts = shape.parts();
    const unsigned completed = shape.part(parts - 1).completed ? parts : parts - 1;
    const std::uint64_t next = (average + 1) * per - before;
    const auto end = static_cast<unsigned>(next < completed ? next : completed);
    const auto begin = static_cast<unsigned>(average ? average * per - before : 0);
    double total = average == 0 && before > 0 ? out.total_before[bin] : 0;
#pragma unroll 8
    for (unsigned k = begin; k < end; ++k)
        total += out.parts.data[std::size_t(k) * layout.bins + bin];
    if (average < shape.completed_averages())
        put_bin(out.vectors.data + std::size_t(average) * layout.length,
                layout,
                bin,
                static_cast<float>(total / shape.average));
    else
        out.total_after[bin] = total;
}

} // namespace

int launch_window(core::sample_type type,
                  const sample_source& from,
                  const frame_grid& grid,
                  const float* taps,
                  device_span<float> out,
                  stream_ref stream) noexcept
{
    return dsp::with_format(type, [&](auto format) -> int {
        using format_type = decltype(format);
        const std::uint64_t samples = std::uint64_t(grid.frames) << grid.log2_length;
        if (samples >> 31 || out.size < samples * format_type::elements)
            return cudaErrorInvalidValue;
        return launch(window_kernel<format_type>,
                      (samples + samples_per_thread - 1) / samples_per_thread,
                      stream,
                      from,
                      grid,
                      taps,
                      out.data);
    });
}

int launch_keep(core::sample_type type,
                const sample_source& from,
                std::size_t begin,
                std::size_t n,
                void* to,
                stream_ref stream) noexcept
{
    return dsp::with_format(type, [&](auto format) -> int {
        if (n >> 31)
            return cudaErrorInvalidValue;
        return launch(keep_kernel<decltype(format)>,
                      n,
                      stream,
                      from,
                      begin,
                      static_cast<unsigned>(n),
                      to);
    });
}

int launch_average(device_span<const float> transforms,
                   const batch_shape& shape,
                   const bin_layout& layout,
                   const averages_out& out,
                   stream_ref stream) noexcept
{
    const bool in_parts = shape.parts_per_average() > 1;
    const std::uint64_t threads = std::uint64_t(shape.parts()) * layout.bins;
    if (threads >> 31 ||
        transforms.size < std::uint64_t(shape.frames) * layout.bins * 2 ||
        (in_parts && out.parts.size < threads) ||
        out.vectors.size < std::uint64_t(shape.completed_averages()) * layout.length)
        return cudaErrorInvalidValue;
    const int code = launch(parts_kernel,
                            threads,
                            stream,
                            reinterpret_cast<const float2*>(transforms.data),
                            shape,
                            shape.parts(),
                            layout,
                            out);
    if (code != cudaSuccess || !in_parts)
        return code;
    return launch(totals_kernel,
                  std::uint64_t(shape.averages()) * layout.bins,
                  stream,
                  shape,
                  layout,
                  out);
}

} // namespace cuda
} // namespace rdma
} // namespace gr
