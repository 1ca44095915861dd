/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Samples per second of the GPU's spectrum, beside cuFFT alone on the same length and a
// device-to-device copy, in one run on one GPU. raw_c2c transforms in place what lies in
// memory, in batches of 2**26 samples (out of any cache) and in those of the spectrum.
// The spectrum reads fresh sc16 input (1 GiB, over and over), converts, windows,
// transforms, squares, averages, and copies what comes out to the host.
#include "cuda/convert.h"
#include "cuda/cufft_api.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/spectrum.h"

#include <algorithm>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <functional>
#include <random>
#include <vector>

using namespace gr::rdma;
using core::sample_type;

namespace {

constexpr std::size_t input_bytes = std::size_t(1) << 30;
constexpr int rounds = 9;

// Median over rounds of the milliseconds that a round's work took on the stream.
double median_ms(cuda::stream_ref s, const std::function<void()>& work)
{
    const cuda::event begin(0, cuda::event::timing), end(0, cuda::event::timing);
    std::vector<double> times;
    for (int i = 0; i < rounds + 2; ++i) {
        cuda::check(s.record(begin), "cudaEventRecord");
        work();
        cuda::check(s.record(end), "cudaEventRecord");
        cuda::check(end.wait(), "cudaEventSynchronize");
        if (i >= 2)
            times.push_back(end.elapsed_ms(begin));
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

void raw_c2c(cuda::stream_ref s, void* data, int n, std::size_t samples)
{
    const auto& cufft = cuda::cufft_api::get();
    cufftHandle plan;
    std::size_t work = 0;
    cuda::check_cufft(cufft.create(&plan), "cufftCreate");
    cuda::check_cufft(cufft.make_plan_many(plan,
                                           1,
                                           &n,
                                           &n,
                                           1,
                                           n,
                                           &n,
                                           1,
                                           n,
                                           CUFFT_C2C,
                                           static_cast<int>(samples) / n,
                                           &work),
                      "cufftMakePlanMany");
    cuda::check_cufft(cufft.set_stream(plan, s.get()), "cufftSetStream");
    auto* const x = static_cast<cufftComplex*>(data);
    const std::size_t times = (std::size_t(1) << 28) / samples;
    const double ms = median_ms(s, [&] {
        for (std::size_t i = 0; i < times; ++i)
            cuda::check_cufft(cufft.exec_c2c(plan, x, x, CUFFT_FORWARD), "cufftExecC2C");
    });
    std::printf("raw_c2c   length %5d batch %8zu samples: %7.1f GS/s\n",
                n,
                samples,
                static_cast<double>(times * samples) / ms / 1e6);
    cufft.destroy(plan);
}

void spectrum(cuda::stream_ref s,
              const void* in,
              std::size_t length,
              unsigned average,
              std::size_t batch)
{
    dsp::spectrum_config config;
    config.length = length;
    config.average = average;
    config.window.assign(length, 0.5f);
    cuda::spectrum_settings settings;
    settings.batch_samples = batch;
    cuda::spectrum under_test(config, settings, s);
    const std::size_t samples = input_bytes / core::sample_bytes(config.sample);
    std::vector<float> out(length * 64);
    const double ms = median_ms(s, [&] {
        std::size_t done = 0;
        while (done < samples) {
            done += under_test.submit(static_cast<const std::uint8_t*>(in) + 4 * done,
                                      samples - done);
            while (under_test.poll(out.data(), 64) == 64) {
            }
            if (done < samples && under_test.pending())
                under_test.wait();
        }
        while (under_test.pending()) {
            under_test.wait();
            under_test.poll(out.data(), 64);
        }
    });
    std::printf("spectrum  length %5zu batch %8zu samples, average %5u: %7.1f GS/s%s\n",
                length,
                batch,
                average,
                static_cast<double>(samples) / ms / 1e6,
                under_test.failure().c_str());
}

void convert(cuda::stream_ref s, const void* in, float* out, sample_type type)
{
    const std::size_t samples = std::size_t(1) << 27;
    const std::size_t bytes = samples * core::sample_bytes(type);
    const std::size_t floats = samples * (type == sample_type::byte ? 1 : 2);
    const double ms = median_ms(s, [&] {
        cuda::check(cuda::launch_convert(type, { in, bytes }, { out, floats }, s),
                    "launch of convert_kernel");
    });
    std::printf("convert   %-4s %7.1f GS/s, %6.0f GB/s read and written\n",
                core::to_string(type),
                static_cast<double>(samples) / ms / 1e6,
                static_cast<double>(bytes + floats * sizeof(float)) / ms / 1e6);
}

} // namespace

int main()
try {
    const auto info = cuda::describe_device(0);
    std::printf("%s, CUDA %d\n", info.name.c_str(), CUDART_VERSION);
    cuda::use_device(0);
    cuda::stream work(0);
    const cuda::device_memory in(0, input_bytes), out(0, input_bytes);
    {
        std::mt19937 random(1);
        std::vector<std::uint32_t> noise(1 << 22);
        for (auto& word : noise)
            word = random() & 0x3fff3fff; // ordinary floats, too
        for (std::size_t at = 0; at < input_bytes; at += noise.size() * 4)
            cuda::check(cuda::copy_async(in.as<std::uint8_t>() + at,
                                         noise.data(),
                                         noise.size() * 4,
                                         work.ref()),
                        "cudaMemcpyAsync");
        cuda::check(work.ref().wait(), "cudaStreamSynchronize");
    }
    const double copy_ms = median_ms(work.ref(), [&] {
        cuda::check(cuda::copy_async(out.data(), in.data(), input_bytes, work.ref()),
                    "cudaMemcpyAsync");
    });
    std::printf("copy      %6.0f GB/s read and written\n", 2e-6 * input_bytes / copy_ms);
    for (sample_type type : { sample_type::sc8, sample_type::sc16, sample_type::byte })
        convert(work.ref(), in.data(), out.as<float>(), type);
    for (int length : { 1024, 4096 })
        for (int log2 : { 20, 21, 22, 26 })
            raw_c2c(work.ref(), out.data(), length, std::size_t(1) << log2);
    for (std::size_t length : { 1024u, 4096u })
        for (unsigned average : { 16u, 1000u })
            for (int log2 : { 20, 21, 22, 24 })
                spectrum(work.ref(), in.data(), length, average, std::size_t(1) << log2);
    spectrum(work.ref(), in.data(), 1024, 1, std::size_t(1) << 21);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cuda_spectrum: %s\n", error.what());
    return 1;
}
