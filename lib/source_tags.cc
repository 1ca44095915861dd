/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_tags.h"

#include "interned.h"

#include <algorithm>
#include <cmath>

namespace gr {
namespace rdma {

namespace {

const pmt::pmt_t& key_buffer = interned("rx_buffer");
const pmt::pmt_t& key_time = interned("rx_time");
const pmt::pmt_t& key_rate = interned("rx_rate");
const pmt::pmt_t& key_freq = interned("rx_freq");
const pmt::pmt_t& key_gap = interned("rx_gap");
const pmt::pmt_t& key_length = interned("packet_len");
const pmt::pmt_t& key_address = interned("address");
const pmt::pmt_t& key_bytes = interned("bytes");
const pmt::pmt_t& key_slot = interned("slot");
const pmt::pmt_t& key_device = interned("device");
const pmt::pmt_t& key_sequence = interned("sequence");
const pmt::pmt_t& key_immediate = interned("immediate");
const pmt::pmt_t& key_header = interned("header");
const pmt::pmt_t& key_messages = interned("messages");
const pmt::pmt_t& key_reason = interned("reason");
const pmt::pmt_t& unknown = interned("unknown");

} // namespace

pmt::pmt_t gap_dict(const io::gap& g)
{
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(
        dict, key_messages, g.messages_known ? pmt::from_uint64(g.messages) : unknown);
    dict = pmt::dict_add(
        dict, key_bytes, g.bytes_known ? pmt::from_uint64(g.bytes) : unknown);
    return pmt::dict_add(dict, key_reason, pmt::mp(io::to_string(g.reason)));
}

source_tags::source_tags(const config& c, pmt::pmt_t source_id)
    : d_config(c), d_id(std::move(source_id))
{
}

void source_tags::restart() noexcept
{
    d_first = d_rate_changed = d_freq_changed = true;
    d_short_before = false;
    d_messages = 0;
}

void source_tags::set_rate(double rate) noexcept
{
    // Counting goes on from here at the new rate.
    if (d_config.rate > 0)
        d_epoch_ns += std::llround(static_cast<double>(d_samples) * 1e9 / d_config.rate);
    else
        d_first = true;
    d_samples = 0;
    d_config.rate = rate;
    d_rate_changed = true;
}

void source_tags::set_freq(double freq) noexcept
{
    d_config.freq = freq;
    d_freq_changed = true;
}

void source_tags::add(std::vector<tag_t>& out,
                      std::uint64_t offset,
                      const pmt::pmt_t& key,
                      const pmt::pmt_t& value) const
{
    tag_t tag;
    tag.offset = offset;
    tag.key = key;
    tag.value = value;
    tag.srcid = d_id;
    out.push_back(tag);
}

void source_tags::make(const message& m, std::uint64_t offset, std::vector<tag_t>& out)
{
    const io::gap& lost = m.done.lost;
    const bool discontinuity = d_first || lost;
    if (lost)
        add(out, offset, key_gap, gap_dict(lost));
    if (discontinuity)
        add(out, offset, key_time, time_of(m));
    if (d_rate_changed && d_config.rate > 0)
        add(out, offset, key_rate, pmt::from_double(d_config.rate));
    if (d_freq_changed && d_config.freq != 0)
        add(out, offset, key_freq, pmt::from_double(d_config.freq));
    d_first = d_rate_changed = d_freq_changed = false;

    const std::uint64_t items = m.bytes / d_config.item_bytes;
    const bool is_short = items < d_config.slot_items;
    if (discontinuity || (d_config.every != 0 && d_messages % d_config.every == 0))
        add(out, offset, key_buffer, buffer_dict(m));
    if (is_short || d_short_before)
        add(out, offset, key_length, pmt::from_long(static_cast<long>(items)));
    d_short_before = is_short;
    d_samples += m.bytes / d_config.sample_bytes;
    ++d_messages;
}

pmt::pmt_t source_tags::buffer_dict(const message& m) const
{
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(dict, key_address, pmt::from_uint64(m.address));
    dict = pmt::dict_add(dict, key_bytes, pmt::from_uint64(m.bytes));
    dict = pmt::dict_add(dict, key_slot, pmt::from_long(static_cast<long>(m.slot)));
    dict = pmt::dict_add(dict, key_device, pmt::mp(d_config.device));
    dict = pmt::dict_add(dict, key_sequence, pmt::from_uint64(m.done.sequence));
    if (m.done.has_immediate)
        dict = pmt::dict_add(dict, key_immediate, pmt::from_uint64(m.done.immediate));
    if (m.header_bytes != 0)
        dict = pmt::dict_add(
            dict,
            key_header,
            pmt::init_u8vector(m.header_bytes,
                               reinterpret_cast<const std::uint8_t*>(m.header)));
    return dict;
}

// Arrival for the first message, and where it cannot be counted; else old + received +
// lost.
pmt::pmt_t source_tags::time_of(const message& m)
{
    const io::gap& lost = m.done.lost;
    std::int64_t when = m.done.time_ns;
    const bool countable = !d_first && d_config.rate > 0;
    if (countable && lost.bytes_known)
        d_samples += lost.bytes / d_config.sample_bytes;
    if (countable) {
        const std::int64_t counted =
            d_epoch_ns +
            std::llround(static_cast<double>(d_samples) * 1e9 / d_config.rate);
        when = lost.bytes_known ? counted : std::max(when, counted);
    }
    when = std::max(when, d_latest_ns);
    if (!countable || !lost.bytes_known) {
        d_epoch_ns = when;
        d_samples = 0;
    }
    d_latest_ns = when;
    return pmt::make_tuple(
        pmt::from_uint64(static_cast<std::uint64_t>(when / 1000000000)),
        pmt::from_double(static_cast<double>(when % 1000000000) * 1e-9));
}

} // namespace rdma
} // namespace gr
