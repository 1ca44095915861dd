/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gr {
namespace rdma {
namespace apps {

std::vector<tick> round_ticks(double low, double high, int most)
{
    std::vector<tick> ticks;
    if (!(high > low) || most < 1)
        return ticks;
    double step = std::pow(10.0, std::floor(std::log10((high - low) / most)));
    for (const double factor : { 2.0, 2.5, 2.0 }) {
        // A hair of tolerance: ten steps of 0.1 are one.
        if ((high - low) / step <= most * (1 + 1e-9))
            break;
        step *= factor;
    }
    const int decimals =
        std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    const double first = std::ceil(low / step - 1e-6);
    for (double i = first; i * step <= high + 1e-6 * step; ++i) {
        char label[48];
        // Adding zero turns -0 into 0.
        std::snprintf(label, sizeof label, "%.*f", decimals, i * step + 0.0);
        ticks.push_back({ i * step, label });
    }
    return ticks;
}

} // namespace apps
} // namespace rdma
} // namespace gr
