/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrum_sink.h"
#include "gap_text.h"

#include <algorithm>

namespace gr {
namespace rdma {
namespace apps {

namespace {
const pmt::pmt_t key_gap = pmt::mp("rx_gap");
const pmt::pmt_t key_time = pmt::mp("rx_time");
} // namespace

spectrum_sink::spectrum_sink(std::size_t bins,
                             double period,
                             spectrum_csv* csv,
                             waterfall* fall,
                             std::function<void()> on_finished)
    : ending_sink("spectrum_sink", bins * sizeof(float), std::move(on_finished)),
      d_bins(bins),
      d_period(period),
      d_csv(csv),
      d_fall(fall)
{
}

void spectrum_sink::apply(const gr::tag_t& tag)
{
    if (pmt::eqv(tag.key, key_gap)) {
        d_gap = gap_text(tag.value);
    } else if (pmt::eqv(tag.key, key_time) && pmt::is_tuple(tag.value)) {
        const std::uint64_t whole = pmt::to_uint64(pmt::tuple_ref(tag.value, 0));
        const double fraction = pmt::to_double(pmt::tuple_ref(tag.value, 1));
        if (!d_has_epoch) {
            d_has_epoch = true;
            d_epoch_whole = whole;
            d_epoch_fraction = fraction;
        }
        // Whole seconds apart: a double does not hold nanoseconds since 1970.
        d_anchor = tag.offset;
        d_anchor_time = double(static_cast<std::int64_t>(whole - d_epoch_whole)) +
                        (fraction - d_epoch_fraction);
    }
}

void spectrum_sink::begin()
{
    if (d_csv)
        d_csv->begin();
}

int spectrum_sink::consume(const void* items, int n)
{
    const std::uint64_t begin = nitems_read(0);
    const auto* power = static_cast<const float*>(items);
    get_tags_in_range(d_tags, 0, begin, begin + n);
    std::stable_sort(d_tags.begin(), d_tags.end(), gr::tag_t::offset_compare);
    std::size_t tag = 0;
    for (std::uint64_t k = begin; k < begin + n; ++k, power += d_bins) {
        for (; tag < d_tags.size() && d_tags[tag].offset <= k; ++tag)
            apply(d_tags[tag]);
        const double time =
            std::max(d_last_time, d_anchor_time + double(k - d_anchor) * d_period);
        d_last_time = time;
        if (!d_gap.empty()) {
            d_gaps = d_gaps + 1;
            if (d_fall)
                d_fall->mark_gap(time);
            if (d_csv)
                d_csv->mark_gap(time, d_gap);
            d_gap.clear();
        }
        if (d_fall)
            d_fall->add(power, time);
        if (d_csv)
            d_csv->add(power, time);
    }
    d_spectra = begin + n;
    return n;
}

} // namespace apps
} // namespace rdma
} // namespace gr
