/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/spectrum.h"

#include "core/sizes.h"
#include "dsp/sample_format.h"

#include <cmath>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace dsp {

namespace {

constexpr std::size_t min_length = 16;
constexpr std::size_t max_length = 65536;

std::string length_advice(std::size_t length)
{
    if (length < min_length)
        return std::to_string(min_length);
    if (length > max_length)
        return std::to_string(max_length);
    std::size_t below = min_length;
    while (below * 2 < length)
        below *= 2;
    return std::to_string(below) + " or " + std::to_string(below * 2);
}

} // namespace

scaling parse_scaling(const std::string& text)
{
    if (text == "spectrum")
        return scaling::spectrum;
    if (text == "density")
        return scaling::density;
    throw config_error("scaling='" + text + "' is no scaling; use spectrum or density");
}

void validate(const spectrum_config& config)
{
    const std::size_t n = config.length;
    if (n < min_length || n > max_length || (n & (n - 1)))
        throw config_error("length=" + std::to_string(n) +
                           " is not a power of two from 16 to 65536; use " +
                           length_advice(n));
    if (config.overlap >= n)
        throw config_error("overlap=" + std::to_string(config.overlap) +
                           " is not below length=" + std::to_string(n) + "; use 0 to " +
                           std::to_string(n - 1));
    if (config.average == 0)
        throw config_error("average=0 is no number of transforms; use 1 or more");
    if (!std::isfinite(config.rate) || config.rate <= 0)
        throw config_error("rate=" + core::number_text(config.rate) +
                           " is no sample rate; use samples per second, above 0");
}

void validate_window(const spectrum_config& config)
{
    if (config.window.size() != config.length)
        throw config_error("window has " + std::to_string(config.window.size()) +
                           " taps; length=" + std::to_string(config.length) +
                           " needs as many");
    double sum = 0;
    for (float tap : config.window)
        sum += tap;
    if (!std::isfinite(sum) || sum == 0)
        throw config_error("window taps add up to " + core::number_text(sum) +
                           "; they have to be finite, and not cancel out");
}

std::vector<float> scaled_taps(const spectrum_config& config)
{
    double sum = 0;
    double squares = 0;
    for (double w : config.window) {
        sum += w;
        squares += w * w;
    }
    const double power =
        config.scale == scaling::spectrum ? sum * sum : config.rate * squares;
    const double unit =
        with_format(config.sample, [](auto format) { return decltype(format)::unit; });
    const double factor = unit / std::sqrt(power);
    std::vector<float> taps(config.window.size());
    for (std::size_t i = 0; i < taps.size(); ++i)
        taps[i] = static_cast<float>(config.window[i] * factor);
    return taps;
}

spectrum::dropped
series_counts::lost(std::size_t length, std::size_t hop, unsigned average) const noexcept
{
    const auto covered = [&](std::uint64_t n) { return n ? n * hop + length - hop : 0; };
    const std::uint64_t averaged = averages * average;
    return { frames - averaged + (samples > covered(frames)),
             samples - covered(averaged) };
}

} // namespace dsp
} // namespace rdma
} // namespace gr
