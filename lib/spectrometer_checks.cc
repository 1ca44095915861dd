/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrometer_checks.h"

#include "block_checks.h"
#include "core/sample.h"
#include "core/sizes.h"

#include <cmath>
#include <gnuradio/rdma/error.h>
#include <stdexcept>

namespace gr {
namespace rdma {

namespace {

std::vector<float> make_window(const spectrometer_config& config)
{
    using fft::window;
    if (config.window < window::WIN_NONE || config.window > window::WIN_TUKEY)
        throw config_error("window=" + std::to_string(config.window) +
                           " is no window; use one of gr::fft::window::win_type, such as "
                           "WIN_HANN");
    if (config.window == window::WIN_NONE)
        return std::vector<float>(config.length, 1.0f);
    const auto refuse = [&](const std::string& why) {
        return config_error(
            "window_parameter=" + core::number_text(config.window_parameter) +
            " does not suit the window: " + why);
    };
    // GNU Radio's sum for the Bessel function does not end beyond what a double holds.
    constexpr double most_beta = 700;
    if (config.window == window::WIN_KAISER && config.window_parameter > most_beta)
        throw refuse("use a beta of 0 to " + core::number_text(most_beta));
    std::vector<float> taps;
    try {
        taps = window::build(
            config.window, static_cast<int>(config.length + 1), config.window_parameter);
    } catch (const std::out_of_range& e) {
        throw refuse(e.what());
    }
    taps.resize(config.length);
    double sum = 0;
    for (float tap : taps)
        sum += tap;
    if (!std::isfinite(sum) || sum == 0)
        throw refuse("its taps add up to " + core::number_text(sum) + "; use another");
    return taps;
}

} // namespace

int item_bytes(const spectrometer_config& config)
{
    return item_bytes(core::sample_bytes(core::parse_sample(config.sample)), config.vlen);
}

dsp::spectrum_config spectrum_config(const spectrometer_config& config)
{
    dsp::spectrum_config made;
    made.sample = core::parse_sample(config.sample);
    made.length = config.length;
    made.average = config.average;
    made.overlap = config.overlap;
    made.scale = dsp::parse_scaling(config.scaling);
    made.fftshift = config.fftshift;
    made.rate = config.rate;
    dsp::validate(made);
    made.window = make_window(config);
    return made;
}

} // namespace rdma
} // namespace gr
