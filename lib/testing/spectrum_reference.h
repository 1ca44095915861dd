/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_SPECTRUM_REFERENCE_H
#define INCLUDED_RDMA_TESTING_SPECTRUM_REFERENCE_H

#include "dsp/spectrum.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

// What dsp::spectrum should give, from its definition and in double precision.

namespace gr {
namespace rdma {
namespace testing {

using core::sample_type;
using dsp::spectrum_config;
using complex = std::complex<double>;
inline const double pi = std::acos(-1.0);
inline const sample_type all_types[] = { sample_type::cu8,
                                         sample_type::sc8,
                                         sample_type::sc16,
                                         sample_type::fc32,
                                         sample_type::byte };

// Radix 2, decimation in time, double precision: the definition, halved until it is
// trivial.
inline std::vector<complex> reference_dft(const std::vector<complex>& x)
{
    const std::size_t n = x.size();
    if (n == 1)
        return x;
    std::vector<complex> even(n / 2), odd(n / 2), out(n);
    for (std::size_t i = 0; i < n / 2; ++i) {
        even[i] = x[2 * i];
        odd[i] = x[2 * i + 1];
    }
    even = reference_dft(even);
    odd = reference_dft(odd);
    for (std::size_t k = 0; k < n / 2; ++k) {
        const double angle = -2 * pi * static_cast<double>(k) / static_cast<double>(n);
        const complex turned = std::polar(1.0, angle) * odd[k];
        out[k] = even[k] + turned;
        out[k + n / 2] = even[k] - turned;
    }
    return out;
}

inline std::vector<float> hann(std::size_t n)
{
    std::vector<float> taps(n);
    for (std::size_t i = 0; i < n; ++i)
        taps[i] =
            static_cast<float>(0.5 - 0.5 * std::cos(2 * pi * static_cast<double>(i) /
                                                    static_cast<double>(n)));
    return taps;
}

inline spectrum_config make_config(sample_type sample, std::size_t length)
{
    spectrum_config config;
    config.sample = sample;
    config.length = length;
    config.window = hann(length);
    return config;
}

// Noise with a weak tone in it, as bytes of the type: other noise at each call.
inline std::vector<std::uint8_t> make_samples(sample_type type, std::size_t n)
{
    static unsigned seed = 0;
    std::mt19937 random(++seed);
    std::normal_distribution<double> noise(0, 0.2);
    std::vector<std::uint8_t> bytes(n * core::sample_bytes(type));
    const auto put = [&](std::size_t i, double v) {
        v = std::clamp(v, -1.0, 0.99);
        const auto s8 = static_cast<std::int8_t>(std::lround(v * 128));
        const auto s16 = static_cast<std::int16_t>(std::lround(v * 32768));
        const auto f32 = static_cast<float>(v);
        if (type == sample_type::cu8)
            bytes[i] = static_cast<std::uint8_t>(s8 + 128);
        else if (type == sample_type::sc16)
            std::memcpy(&bytes[2 * i], &s16, 2);
        else if (type == sample_type::fc32)
            std::memcpy(&bytes[4 * i], &f32, 4);
        else
            bytes[i] = static_cast<std::uint8_t>(s8);
    };
    const std::size_t parts = type == sample_type::byte ? 1 : 2;
    for (std::size_t i = 0; i < n; ++i) {
        const double phase = 2 * pi * 0.0837 * static_cast<double>(i);
        put(parts * i, 0.02 * std::cos(phase) + noise(random));
        if (parts == 2)
            put(2 * i + 1, 0.02 * std::sin(phase) + noise(random));
    }
    return bytes;
}

// What a sample means, written down a second time.
inline complex
value_of(sample_type type, const std::vector<std::uint8_t>& bytes, std::size_t i)
{
    std::int16_t s16[2];
    float f32[2];
    switch (type) {
    case sample_type::cu8:
        return { (bytes[2 * i] - 127.5) / 128, (bytes[2 * i + 1] - 127.5) / 128 };
    case sample_type::sc8:
        return { static_cast<std::int8_t>(bytes[2 * i]) / 128.0,
                 static_cast<std::int8_t>(bytes[2 * i + 1]) / 128.0 };
    case sample_type::sc16:
        std::memcpy(s16, &bytes[4 * i], 4);
        return { s16[0] / 32768.0, s16[1] / 32768.0 };
    case sample_type::fc32:
        std::memcpy(f32, &bytes[8 * i], 8);
        return { f32[0], f32[1] };
    default:
        return static_cast<std::int8_t>(bytes[i]) / 128.0;
    }
}

inline std::vector<double> reference(const spectrum_config& c,
                                     const std::vector<std::uint8_t>& bytes)
{
    const std::size_t samples = bytes.size() / core::sample_bytes(c.sample);
    double sum = 0, squares = 0;
    for (double w : c.window) {
        sum += w;
        squares += w * w;
    }
    const double divisor =
        (c.scale == dsp::scaling::spectrum ? sum * sum : c.rate * squares) * c.average;
    std::vector<double> out, mean(c.length);
    std::size_t frames = 0;
    for (std::size_t start = 0; start + c.length <= samples; start += c.hop()) {
        std::vector<complex> frame(c.length);
        for (std::size_t i = 0; i < c.length; ++i)
            frame[i] = value_of(c.sample, bytes, start + i) * double(c.window[i]);
        frame = reference_dft(frame);
        for (std::size_t k = 0; k < c.length; ++k)
            mean[(k + (c.fftshift ? c.length / 2 : 0)) % c.length] +=
                std::norm(frame[k]) / divisor;
        if (++frames % c.average == 0) {
            out.insert(out.end(), mean.begin(), mean.end());
            mean.assign(c.length, 0);
        }
    }
    return out;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_SPECTRUM_REFERENCE_H */
