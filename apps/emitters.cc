/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "emitters.h"

#include <array>
#include <cmath>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr double two_pi = 2 * M_PI;

//! A unit phasor turned by one complex product a sample; renormalised at times, as
//! rounding changes its length.
class rotator
{
public:
    rotator(double rate, double freq) : d_step(std::polar(1.0, two_pi * freq / rate)) {}
    std::complex<double> next()
    {
        const auto value = d_value;
        d_value *= d_step;
        if (++d_turns == 1024) {
            d_value /= std::abs(d_value);
            d_turns = 0;
        }
        return value;
    }

private:
    std::complex<double> d_value = 1.0;
    std::complex<double> d_step;
    int d_turns = 0;
};

class tone : public emitter
{
public:
    tone(double rate, double freq, float amplitude)
        : d_carrier(rate, freq), d_amplitude(amplitude)
    {
    }
    void add(std::complex<float>* out, std::size_t n) override
    {
        for (std::size_t i = 0; i < n; ++i)
            out[i] += d_amplitude * std::complex<float>(d_carrier.next());
    }

private:
    rotator d_carrier;
    float d_amplitude;
};

//! Integrates an instantaneous frequency, in cycles per sample, to a phase in cycles.
class phase_integrator
{
public:
    std::complex<float> next(double cycles)
    {
        const double angle = two_pi * d_phase;
        d_phase += cycles;
        d_phase -= std::floor(d_phase);
        return { static_cast<float>(std::cos(angle)),
                 static_cast<float>(std::sin(angle)) };
    }

private:
    double d_phase = 0;
};

class fm : public emitter
{
public:
    fm(double rate, double freq, double deviation, float amplitude)
        : d_slow(rate, 7),
          d_mid(rate, 440),
          d_fast(rate, 1000),
          d_centre(freq / rate),
          d_deviation(deviation / rate),
          d_amplitude(amplitude)
    {
    }
    void add(std::complex<float>* out, std::size_t n) override
    {
        for (std::size_t i = 0; i < n; ++i) {
            const double audio = 0.5 * d_slow.next().imag() + 0.3 * d_mid.next().imag() +
                                 0.2 * d_fast.next().imag();
            out[i] += d_amplitude * d_phase.next(d_centre + d_deviation * audio);
        }
    }

private:
    rotator d_slow, d_mid, d_fast;
    double d_centre;
    double d_deviation;
    float d_amplitude;
    phase_integrator d_phase;
};

class chirp : public emitter
{
public:
    chirp(double rate, double low, double high, double period, float amplitude)
        : d_low(low / rate),
          d_span((high - low) / rate),
          d_samples(std::max(1.0, std::floor(period * rate))),
          d_amplitude(amplitude)
    {
    }
    void add(std::complex<float>* out, std::size_t n) override
    {
        for (std::size_t i = 0; i < n; ++i) {
            out[i] += d_amplitude * d_phase.next(d_low + d_span * (d_at / d_samples));
            d_at = d_at + 1 < d_samples ? d_at + 1 : 0;
        }
    }

private:
    double d_low;
    double d_span;
    double d_samples;
    double d_at = 0;
    float d_amplitude;
    phase_integrator d_phase;
};

// Root raised cosine at t symbols from its centre.
double root_raised_cosine(double t, double roll_off)
{
    const double b = roll_off;
    if (std::fabs(t) < 1e-9)
        return 1 + b * (4 / M_PI - 1);
    if (std::fabs(std::fabs(4 * b * t) - 1) < 1e-9)
        return b / std::sqrt(2.0) *
               ((1 + 2 / M_PI) * std::sin(M_PI / (4 * b)) +
                (1 - 2 / M_PI) * std::cos(M_PI / (4 * b)));
    return (std::sin(M_PI * t * (1 - b)) + 4 * b * t * std::cos(M_PI * t * (1 + b))) /
           (M_PI * t * (1 - 16 * b * b * t * t));
}

class qpsk : public emitter
{
public:
    qpsk(double rate, double freq, float amplitude, std::uint64_t seed)
        : d_carrier(rate, freq),
          d_symbols(seed),
          d_amplitude(amplitude),
          d_burst_symbols(std::max<std::uint64_t>(1, std::llround(0.030 * rate / sps))),
          d_cycle_symbols(std::max<std::uint64_t>(2, std::llround(0.050 * rate / sps)))
    {
        for (int i = 0; i < sps * span; ++i)
            d_taps[i] = static_cast<float>(
                root_raised_cosine((i - sps * span / 2) / double(sps), 0.35));
    }
    void add(std::complex<float>* out, std::size_t n) override
    {
        for (std::size_t i = 0; i < n; ++i) {
            if (d_phase == 0)
                shift_in_symbol();
            std::complex<float> sum = 0;
            for (int k = 0; k < span; ++k)
                sum += d_taps[d_phase + k * sps] * d_line[k];
            out[i] += d_amplitude * sum * std::complex<float>(d_carrier.next());
            d_phase = (d_phase + 1) % sps;
        }
    }

private:
    static constexpr int sps = 20; // samples per symbol
    static constexpr int span = 8; // symbols that one pulse covers

    void shift_in_symbol()
    {
        for (int k = span - 1; k > 0; --k)
            d_line[k] = d_line[k - 1];
        d_line[0] = 0;
        if (d_at < d_burst_symbols) {
            const std::uint64_t bits = d_symbols() >> 62;
            const float h = std::sqrt(0.5f);
            d_line[0] = { bits & 1 ? h : -h, bits & 2 ? h : -h };
        }
        d_at = (d_at + 1) % d_cycle_symbols;
    }

    rotator d_carrier;
    std::mt19937_64 d_symbols;
    float d_amplitude;
    std::uint64_t d_burst_symbols;
    std::uint64_t d_cycle_symbols;
    std::uint64_t d_at = 0; // symbols since the burst began
    int d_phase = 0;        // samples since the last symbol
    std::array<std::complex<float>, span> d_line{};
    std::array<float, sps * span> d_taps;
};

} // namespace

std::unique_ptr<emitter> make_tone(double rate, double freq, float amplitude)
{
    return std::make_unique<tone>(rate, freq, amplitude);
}

std::unique_ptr<emitter>
make_fm(double rate, double freq, double deviation, float amplitude)
{
    return std::make_unique<fm>(rate, freq, deviation, amplitude);
}

std::unique_ptr<emitter>
make_chirp(double rate, double low, double high, double period, float amplitude)
{
    return std::make_unique<chirp>(rate, low, high, period, amplitude);
}

std::unique_ptr<emitter>
make_qpsk(double rate, double freq, float amplitude, std::uint64_t seed)
{
    return std::make_unique<qpsk>(rate, freq, amplitude, seed);
}

} // namespace apps
} // namespace rdma
} // namespace gr
