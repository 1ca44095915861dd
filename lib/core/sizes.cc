/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/sizes.h"

#include <cstdio>

namespace gr {
namespace rdma {
namespace core {

std::string human_bytes(std::uint64_t bytes)
{
    static const char* const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    int unit = 0;
    double value = static_cast<double>(bytes);
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
    return text;
}

std::string number_text(double value, int digits)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

} // namespace core
} // namespace rdma
} // namespace gr
