/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrum_csv.h"
#include "usage_error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace apps {

float power_db(float power) noexcept { return 10 * std::log10(std::max(power, 1e-20f)); }

spectrum_csv::spectrum_csv(const std::string& path,
                           const std::vector<std::string>& comments,
                           const std::vector<double>& frequencies)
    : d_path(path), d_bins(frequencies.size())
{
    if (path == "-") {
        // An own descriptor, so that closing it leaves stdout alone.
        const int fd = dup(STDOUT_FILENO);
        d_file = fd < 0 ? nullptr : fdopen(fd, "w");
    } else {
        d_file = std::fopen(path.c_str(), "we");
    }
    if (!d_file)
        throw run_error("cannot write '" + path + "': " + std::strerror(errno));
    for (const auto& comment : comments)
        put("# " + comment + "\n");
    d_line = "time_s";
    char text[32];
    for (const double frequency : frequencies) {
        std::snprintf(text, sizeof text, ",%.12g", frequency);
        d_line += text;
    }
    put(d_line + "\n");
}

spectrum_csv::~spectrum_csv()
{
    if (d_file)
        std::fclose(d_file);
}

void spectrum_csv::put(const std::string& line)
{
    if (std::fwrite(line.data(), 1, line.size(), d_file) != line.size())
        throw run_error("cannot write '" + d_path + "': " + std::strerror(errno));
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
    const int failed = std::fclose(d_file);
    d_file = nullptr;
    if (failed)
        throw run_error("cannot write '" + d_path + "': " + std::strerror(errno));
}

} // namespace apps
} // namespace rdma
} // namespace gr
