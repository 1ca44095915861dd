/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrometer_common.h"

#include "core/sample.h"
#include "interned.h"
#include "readers.h"
#include "spectrometer_checks.h"

#include <algorithm>
#include <cmath>
#include <gnuradio/block_detail.h>
#include <limits>

namespace gr {
namespace rdma {

namespace {

const pmt::pmt_t& key_gap = interned("rx_gap");
const pmt::pmt_t& key_rate = interned("rx_rate");
const pmt::pmt_t& key_time = interned("rx_time");
const pmt::pmt_t& key_freq = interned("rx_freq");
const pmt::pmt_t& key_length = interned("packet_len");
const pmt::pmt_t& key_buffer = interned("rx_buffer");

// Order in which tags of one item take effect; -1: not ours.
int tag_rank(const pmt::pmt_t& key)
{
    int rank = 0;
    for (const pmt::pmt_t& known :
         { key_gap, key_rate, key_time, key_freq, key_length, key_buffer }) {
        if (pmt::eqv(key, known))
            return rank;
        ++rank;
    }
    return -1;
}

std::uint64_t stated_length(const pmt::pmt_t& value)
{
    if (pmt::is_uint64(value))
        return pmt::to_uint64(value);
    if (pmt::is_integer(value) && pmt::to_long(value) >= 0)
        return static_cast<std::uint64_t>(pmt::to_long(value));
    return dsp::padding::none;
}

// Bounds one call to some tens of milliseconds: stop() waits for it.
std::size_t max_items(const spectrometer_config& config)
{
    constexpr std::size_t transformed = std::size_t(1) << 22;
    const std::size_t frames = std::max<std::size_t>(1, transformed / config.length);
    return std::max<std::size_t>(1,
                                 frames * (config.length - config.overlap) / config.vlen);
}

// Tags cost about a microsecond; this keeps them below a tenth of the work.
std::uint64_t time_every(std::uint64_t step)
{
    constexpr std::uint64_t samples = 4096;
    return step >= samples ? 1 : (samples + step - 1) / step;
}

} // namespace

spectrometer_common::spectrometer_common(const spectrometer_config& config)
    : d_vlen(config.vlen),
      d_sample_bytes(core::sample_bytes(core::parse_sample(config.sample))),
      d_length(config.length),
      d_step(std::uint64_t(config.average) * (config.length - config.overlap)),
      d_time_every(time_every(d_step)),
      d_config_rate(config.rate == 1 ? 0 : config.rate),
      d_max_items(max_items(config)),
      d_clock(d_step),
      d_freq(pmt::PMT_NIL)
{
    set_tag_propagation_policy(TPP_DONT);
    // The relative rate stays 1: GNU Radio sizes the buffer in front by its inverse, and
    // the block keeps its own state, so any buffer will do.
}

void spectrometer_common::start_over()
{
    d_applied = 0;
    d_item_samples_taken = 0;
    d_padding = dsp::padding();
    d_pending.clear();
    d_freq = pmt::PMT_NIL;
    d_spectra_rate = 0;
    restart_series();
    d_clock.set_rate(0, d_config_rate);
    state_rate(0);
}

void spectrometer_common::forecast(int, gr_vector_int& ninput_items_required)
{
    // While vectors are to come, work() is called without input too: behind the stream's
    // end, and where no more comes for a while.
    ninput_items_required[0] = d_engine && d_engine->pending() ? 0 : 1;
}

int spectrometer_common::run(int noutput_items,
                             int ninput_items,
                             const void* input,
                             float* out)
{
    if (readers_are_done(*detail()->output(0)))
        return WORK_DONE;
    const auto* const in = static_cast<const std::uint8_t*>(input);
    const std::uint64_t begin = nitems_read(0);
    const std::size_t items =
        std::min<std::size_t>(std::max(ninput_items, 0), d_max_items);
    const std::uint64_t end = begin + items;
    const std::size_t room = noutput_items;
    bool took = false;
    read_tags(begin, end);

    std::uint64_t item = begin;
    std::size_t tag = 0;
    d_produced = 0;
    while (item < end) {
        if (d_engine->pending() && gap_at(tag, item))
            break;
        tag = apply_tags(tag, item);
        std::uint64_t stop = tag < d_tags.size() ? d_tags[tag].offset : end;
        if (item >= d_padding.begin()) {
            item = stop;
            continue;
        }
        stop = std::min(stop, d_padding.begin());
        const std::size_t wanted = (stop - item) * d_vlen - d_item_samples_taken;
        const std::size_t first = (item - begin) * d_vlen + d_item_samples_taken;
        const auto done = d_engine->process(in + first * d_sample_bytes,
                                            wanted,
                                            out + d_produced * d_length,
                                            room - d_produced);
        put_out(done.produced);
        took |= done.consumed != 0;
        d_samples += done.consumed;
        const std::size_t taken = d_item_samples_taken + done.consumed;
        item += taken / d_vlen;
        d_item_samples_taken = taken % d_vlen;
        if (done.consumed < wanted)
            break; // the output is full, or the engine
    }
    if (d_engine->pending()) {
        if (!took && d_produced == 0)
            d_engine->wait();
        put_out(d_engine->fetch(out + d_produced * d_length, room - d_produced));
    }
    if (!d_engine->failure().empty())
        return WORK_DONE;
    consume_each(static_cast<int>(item - begin));
    return static_cast<int>(d_produced);
}

void spectrometer_common::put_out(std::size_t vectors)
{
    tag_output(nitems_written(0) + d_produced, vectors);
    d_produced += vectors;
    d_spectra += vectors;
}

bool spectrometer_common::gap_at(std::size_t index, std::uint64_t item) const
{
    for (; index < d_tags.size() && d_tags[index].offset == item; ++index)
        if (pmt::eqv(d_tags[index].key, key_gap))
            return true;
    return false;
}

void spectrometer_common::read_tags(std::uint64_t begin, std::uint64_t end)
{
    get_tags_in_range(d_tags, 0, std::max(begin, d_applied), end);
    d_tags.erase(std::remove_if(d_tags.begin(),
                                d_tags.end(),
                                [](const tag_t& t) { return tag_rank(t.key) < 0; }),
                 d_tags.end());
    std::stable_sort(d_tags.begin(), d_tags.end(), [](const tag_t& a, const tag_t& b) {
        return a.offset != b.offset ? a.offset < b.offset
                                    : tag_rank(a.key) < tag_rank(b.key);
    });
}

// All tags of \p item, from tag \p index on. Returns the first tag behind them.
std::size_t spectrometer_common::apply_tags(std::size_t index, std::uint64_t item)
{
    if (index == d_tags.size() || d_tags[index].offset != item)
        return index;
    bool marked = false;
    std::uint64_t length = dsp::padding::none;
    for (; index < d_tags.size() && d_tags[index].offset == item; ++index) {
        const pmt::pmt_t& key = d_tags[index].key;
        const pmt::pmt_t& value = d_tags[index].value;
        if (pmt::eqv(key, key_gap)) {
            restart_series();
            tag_later(0, key, value);
            marked = true;
        } else if (pmt::eqv(key, key_rate)) {
            apply_rate(value);
        } else if (pmt::eqv(key, key_time)) {
            apply_time(value);
        } else if (pmt::eqv(key, key_freq)) {
            apply_freq(value);
        } else {
            marked = true;
            if (pmt::eqv(key, key_length))
                length = stated_length(value);
        }
    }
    if (marked)
        d_padding.mark(item, length);
    d_applied = item + 1;
    return index;
}

void spectrometer_common::restart_series()
{
    const auto lost = d_engine->reset();
    d_frames_dropped += lost.frames;
    d_samples_dropped += lost.samples;
    d_clock.restart();
    d_samples = 0;
    d_vectors = 0;
    d_untimed = 0;
    // What was to stand on a vector that never came stands on the next one.
    std::vector<pending_tag> waiting;
    waiting.swap(d_pending);
    for (const pending_tag& t : waiting)
        tag_later(0, t.key, t.value);
}

void spectrometer_common::apply_rate(const pmt::pmt_t& value)
{
    const double rate = pmt::is_real(value) || pmt::is_integer(value)
                            ? pmt::to_double(value)
                            : std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(rate) || rate <= 0)
        return;
    d_clock.set_rate(d_samples, rate);
    state_rate(d_samples / d_step);
}

void spectrometer_common::state_rate(std::uint64_t vector)
{
    const double spectra_rate = d_clock.rate() / static_cast<double>(d_step);
    if (spectra_rate == d_spectra_rate)
        return;
    d_spectra_rate = spectra_rate;
    tag_later(vector, key_rate, pmt::from_double(spectra_rate));
}

void spectrometer_common::apply_time(const pmt::pmt_t& value)
{
    if (!pmt::is_tuple(value) || pmt::length(value) != 2)
        return;
    const pmt::pmt_t seconds = pmt::tuple_ref(value, 0);
    const pmt::pmt_t fraction = pmt::tuple_ref(value, 1);
    if (!pmt::is_real(fraction))
        return;
    if (pmt::is_uint64(seconds))
        d_clock.set_time(d_samples,
                         { pmt::to_uint64(seconds), pmt::to_double(fraction) });
    else if (pmt::is_integer(seconds) && pmt::to_long(seconds) >= 0)
        d_clock.set_time(d_samples,
                         { static_cast<std::uint64_t>(pmt::to_long(seconds)),
                           pmt::to_double(fraction) });
}

void spectrometer_common::apply_freq(const pmt::pmt_t& value)
{
    if (pmt::equal(value, d_freq))
        return;
    d_freq = value;
    tag_later(d_samples / d_step, key_freq, value);
}

// One tag of a key per vector: the last one said holds.
void spectrometer_common::tag_later(std::uint64_t vector,
                                    const pmt::pmt_t& key,
                                    const pmt::pmt_t& value)
{
    for (pending_tag& t : d_pending)
        if (t.vector == vector && pmt::eqv(t.key, key)) {
            t.value = value;
            return;
        }
    d_pending.push_back({ vector, key, value });
}

// The next \p vectors vectors of the series have been written from \p first_item on.
void spectrometer_common::tag_output(std::uint64_t first_item, std::size_t vectors)
{
    if (vectors == 0)
        return;
    for (const pending_tag& t : d_pending)
        if (t.vector < d_vectors + vectors)
            add_item_tag(0, first_item + (t.vector - d_vectors), t.key, t.value);
    d_pending.erase(std::remove_if(d_pending.begin(),
                                   d_pending.end(),
                                   [&](const pending_tag& t) {
                                       return t.vector < d_vectors + vectors;
                                   }),
                    d_pending.end());
    for (std::size_t i = 0; i < vectors; ++i) {
        dsp::stream_time time;
        bool fresh = false;
        const bool known = d_clock.time_at((d_vectors + i) * d_step, time, fresh);
        if (known && (fresh || d_untimed % d_time_every == 0)) {
            add_item_tag(0,
                         first_item + i,
                         key_time,
                         pmt::make_tuple(pmt::from_uint64(time.seconds),
                                         pmt::from_double(time.fraction)));
            d_untimed = 0;
        }
        ++d_untimed;
    }
    d_vectors += vectors;
}

} // namespace rdma
} // namespace gr
