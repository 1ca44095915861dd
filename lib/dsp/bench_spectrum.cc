/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Samples per second of the host spectrum, beside FFTW alone on the same length in the
// same run: raw_fftw is one measured single-precision complex transform at a time, out of
// place, on data in the cache. The spectrum also reads fresh input, converts, windows,
// squares and averages.
#include "dsp/spectrum.h"

#include <benchmark/benchmark.h>
#include <fftw3.h>
#include <random>

using namespace gr::rdma;
using core::sample_type;

namespace {

constexpr std::size_t input_samples = std::size_t(1) << 20; // 2 to 8 MiB: not the cache

std::mutex& planner()
{
    static std::mutex mutex;
    return mutex;
}

void raw_fftw(benchmark::State& state)
{
    const int n = static_cast<int>(state.range(0));
    auto* const in = fftwf_alloc_complex(n);
    auto* const out = fftwf_alloc_complex(n);
    const auto plan = fftwf_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_MEASURE);
    std::mt19937 random(1);
    std::normal_distribution<float> noise;
    for (int i = 0; i < n; ++i) {
        in[i][0] = noise(random);
        in[i][1] = noise(random);
    }
    for (auto _ : state) {
        fftwf_execute(plan);
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * n);
    fftwf_destroy_plan(plan);
    fftwf_free(in);
    fftwf_free(out);
}

void spectrum(benchmark::State& state, sample_type type, unsigned average)
{
    dsp::spectrum_config config;
    config.sample = type;
    config.length = static_cast<std::size_t>(state.range(0));
    config.average = average;
    config.window.assign(config.length, 0.5f);
    const auto made = dsp::make_host_spectrum(config, planner());

    std::vector<std::uint8_t> in(input_samples * core::sample_bytes(type));
    std::mt19937 random(1);
    for (auto& byte : in)
        byte = static_cast<std::uint8_t>(random() & 63); // ordinary floats, too
    std::vector<float> out(input_samples + config.length);
    for (auto _ : state) {
        const auto done = made->process(
            in.data(), input_samples, out.data(), input_samples / config.length + 1);
        benchmark::DoNotOptimize(done.produced);
    }
    state.SetItemsProcessed(state.iterations() *
                            static_cast<std::int64_t>(input_samples));
}

void lengths(benchmark::internal::Benchmark* b)
{
    for (int n : { 16, 64, 256, 1024, 4096, 16384, 65536 })
        b->Arg(n);
}

BENCHMARK(raw_fftw)->Apply(lengths);
BENCHMARK_CAPTURE(spectrum, sc16_average_100, sample_type::sc16, 100u)->Apply(lengths);
BENCHMARK_CAPTURE(spectrum, sc16_average_1, sample_type::sc16, 1u)->Apply(lengths);
BENCHMARK_CAPTURE(spectrum, sc8_average_100, sample_type::sc8, 100u)
    ->Arg(1024)
    ->Arg(4096);
BENCHMARK_CAPTURE(spectrum, cu8_average_100, sample_type::cu8, 100u)
    ->Arg(1024)
    ->Arg(4096);
BENCHMARK_CAPTURE(spectrum, fc32_average_100, sample_type::fc32, 100u)
    ->Arg(1024)
    ->Arg(4096);
BENCHMARK_CAPTURE(spectrum, byte_average_100, sample_type::byte, 100u)
    ->Arg(1024)
    ->Arg(4096);

} // namespace
