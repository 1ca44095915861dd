/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrum_csv.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>

namespace gr {
namespace rdma {
namespace apps {

float power_db(float power) noexcept { return 10 * std::log10(std::max(power, 1e-20f)); }

spectrum_csv::spectrum_csv(const std::string& path,
                           const std::vector<std::string>& comments,
                           const std::vector<double>& frequencies)
    : d_file(path), d_bins(frequencies.size())
{
    for (const auto& comment : comments)
        d_head += "# " + comment + "\n";
    d_head += "time_s";
    char text[32];
    for (const double frequency : frequencies) {
        std::snprintf(text, sizeof text, ",%.12g", frequency);
        d_head += text;
    }
    d_head += '\n';
}

void spectrum_csv::put(const std::string& line)
{
    std::FILE* const to = d_file.stream();
    for (const std::string* const text : { &std::as_const(d_head), &line })
        if (std::fwrite(text->data(), 1, text->size(), to) != text->size())
            d_file.refuse(errno);
    d_head.clear();
}

void spectrum_csv::add(const float* power, double time)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.9f", time);
    d_line = text;
    for (std::size_t i = 0; i < d_bins; ++i) {
        std::snprintf(
            text, sizeof text, ",%.2f", static_cast<double>(power_db(power[i])));
        d_line += text;
    }
    d_line += '\n';
    put(d_line);
}

void spectrum_csv::mark_gap(double time, const std::string& text)
{
    char at[32];
    std::snprintf(at, sizeof at, "%.9f", time);
    put(std::string("# gap at ") + at + " s: " + text + "\n");
}

void spectrum_csv::close()
{
    begin();
    const int error = d_file.close();
    if (error != 0)
        d_file.refuse(error);
}

} // namespace apps
} // namespace rdma
} // namespace gr
