/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrometer_checks.h"

#include "core/sample.h"

#include <cmath>
#include <cstdio>
#include <gnuradio/rdma/error.h>
#include <limits>
#include <stdexcept>

namespace gr {
namespace rdma {

namespace {

std::string number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

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
        return config_error("window_parameter=" + number(config.window_parameter) +
                            " does not suit the window: " + why);
    };
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
        throw refuse("its taps add up to " + number(sum) + "; use another");
    return taps;
}

void check_memory(const std::string& memory)
{
    if (memory == "auto" || memory == "host")
        return;
    if (memory.compare(0, 5, "cuda:") == 0)
        throw config_error(
            "memory='" + memory +
            "': this build computes spectra on the CPU only; use auto or host");
    throw config_error("memory='" + memory + "' is no memory; use auto or host");
}

} // namespace

int item_bytes(const spectrometer_config& config)
{
    const std::size_t sample = core::sample_bytes(core::parse_sample(config.sample));
    const std::size_t most = std::numeric_limits<int>::max() / sample;
    if (config.vlen == 0 || config.vlen > most)
        throw config_error("vlen=" + std::to_string(config.vlen) +
                           " is no number of samples per item; use 1 to " +
                           std::to_string(most));
    return static_cast<int>(config.vlen * sample);
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
    check_memory(config.memory);
    made.window = make_window(config);
    return made;
}

} // namespace rdma
} // namespace gr
