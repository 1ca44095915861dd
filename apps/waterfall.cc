/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "waterfall.h"

#include <algorithm>
#include <cmath>

namespace gr {
namespace rdma {
namespace apps {

namespace {

// Means are weighted by the spectra in them; the maximum needs no weight.
void join(float* a,
          std::uint64_t na,
          const float* b,
          std::uint64_t nb,
          std::size_t n,
          hold_mode hold)
{
    const float wa = static_cast<float>(double(na) / double(na + nb));
    for (std::size_t i = 0; i < n; ++i)
        a[i] =
            hold == hold_mode::max ? std::max(a[i], b[i]) : wa * a[i] + (1 - wa) * b[i];
}

} // namespace

waterfall::waterfall(std::size_t bins, double period, hold_mode hold)
    : d_columns(std::min(bins, max_columns)),
      d_bins_per_column(bins / d_columns),
      d_period(period),
      d_hold(hold),
      d_power(max_lines * d_columns),
      d_joined(max_lines, 0),
      d_sum(d_columns, 0.0),
      d_peak(d_columns, 0.0f),
      d_pooled(d_columns)
{
}

void waterfall::fold()
{
    for (std::size_t i = 0; i < max_lines / 2; ++i) {
        float* const to = &d_power[i * d_columns];
        const float* const a = &d_power[2 * i * d_columns];
        const float* const b = a + d_columns;
        const std::uint64_t na = d_joined[2 * i], nb = d_joined[2 * i + 1];
        if (na)
            std::copy(a, a + d_columns, to);
        if (na && nb)
            join(to, na, b, nb, d_columns, d_hold);
        else if (nb)
            std::copy(b, b + d_columns, to);
        d_joined[i] = na + nb;
    }
    std::fill(d_joined.begin() + max_lines / 2, d_joined.end(), 0);
    d_lines = (d_lines + 1) / 2;
    d_fold *= 2;
}

void waterfall::add(const float* power, double time)
{
    for (std::size_t c = 0; c < d_columns; ++c) {
        const float* const first = power + c * d_bins_per_column;
        d_pooled[c] = *std::max_element(first, first + d_bins_per_column);
        d_sum[c] += d_pooled[c];
        d_peak[c] = std::max(d_peak[c], d_pooled[c]);
    }
    ++d_spectra;
    // In whole periods, so that rounding cannot leave a line empty or fill one twice.
    const auto index =
        static_cast<std::uint64_t>(std::llround(std::max(0.0, time) / d_period));
    while (index / d_fold >= max_lines)
        fold();
    const std::size_t at = index / d_fold;
    float* const to = &d_power[at * d_columns];
    if (d_joined[at])
        join(to, d_joined[at], d_pooled.data(), 1, d_columns, d_hold);
    else
        std::copy(d_pooled.begin(), d_pooled.end(), to);
    ++d_joined[at];
    d_lines = std::max(d_lines, at + 1);
}

void waterfall::mark_gap(double time)
{
    ++d_gap_count;
    if (d_gaps.size() < max_gaps)
        d_gaps.push_back(time);
}

const float* waterfall::line(std::size_t line) const
{
    return d_joined[line] ? &d_power[line * d_columns] : nullptr;
}

std::vector<float> waterfall::mean() const
{
    std::vector<float> mean(d_columns, 0.0f);
    for (std::size_t c = 0; c < d_columns && d_spectra; ++c)
        mean[c] = static_cast<float>(d_sum[c] / double(d_spectra));
    return mean;
}

void autoscale_db(std::vector<float> db, double& db_min, double& db_max)
{
    if (db.empty()) {
        db_min = -100;
        db_max = 0;
        return;
    }
    const auto percentile = [&db](double p) {
        const auto at =
            db.begin() + static_cast<std::ptrdiff_t>(p * double(db.size() - 1));
        std::nth_element(db.begin(), at, db.end());
        return double(*at);
    };
    const double low = percentile(0.25);
    const double high = percentile(0.999);
    db_min = 5 * std::floor(low / 5);
    db_max = 5 * std::ceil(high / 5);
    if (db_max - db_min < 20)
        db_max = db_min + 20;
}

} // namespace apps
} // namespace rdma
} // namespace gr
