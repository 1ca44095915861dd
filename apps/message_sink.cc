/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "message_sink.h"
#include "core/clock.h"
#include "gap_text.h"

#include <algorithm>
#include <limits>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

const pmt::pmt_t key_gap = pmt::mp("rx_gap");
const pmt::pmt_t key_time = pmt::mp("rx_time");
const pmt::pmt_t key_freq = pmt::mp("rx_freq");
const pmt::pmt_t key_length = pmt::mp("packet_len");

} // namespace

message_sink::message_sink(recording_writer& writer,
                           std::size_t item_bytes,
                           std::uint64_t slot_items,
                           std::uint64_t count,
                           std::function<void()> on_finished)
    : ending_sink("message_sink", item_bytes, std::move(on_finished)),
      d_writer(writer),
      d_item_bytes(item_bytes),
      d_slot_items(slot_items),
      d_end_item(count > 0 && count <= never / slot_items ? count * slot_items : never),
      d_valid_end(never)
{
}

void message_sink::begin() { d_writer.begin(); }

int message_sink::consume(const void* items, int n)
{
    const std::uint64_t begin = nitems_read(0);
    const std::uint64_t end = std::min(begin + n, d_end_item);
    if (begin == end)
        return WORK_DONE;
    get_tags_in_range(d_tags, 0, begin, end);
    std::stable_sort(d_tags.begin(), d_tags.end(), gr::tag_t::offset_compare);
    const char* at = static_cast<const char*>(items);
    std::uint64_t item = begin;
    for (std::size_t tag = 0; item < end;) {
        for (; tag < d_tags.size() && d_tags[tag].offset <= item; ++tag)
            apply(d_tags[tag]);
        const std::uint64_t stop =
            tag < d_tags.size() ? std::min(d_tags[tag].offset, end) : end;
        at = write_until(at, item, stop);
        item = stop;
    }
    d_messages = end / d_slot_items;
    d_bytes = d_writer.bytes();
    d_span_ns = core::realtime_ns() - d_first_ns;
    return end == d_end_item ? WORK_DONE : static_cast<int>(end - begin);
}

void message_sink::apply(const gr::tag_t& tag)
{
    if (pmt::eqv(tag.key, key_length) && pmt::is_integer(tag.value)) {
        const auto items = static_cast<std::uint64_t>(pmt::to_long(tag.value));
        d_valid_end = items < d_slot_items ? tag.offset + items : never;
    } else if (pmt::eqv(tag.key, key_gap)) {
        d_gaps = d_gaps + 1;
        d_capture_due = true;
        d_writer.annotate("gap", gap_text(tag.value));
    } else if (pmt::eqv(tag.key, key_freq) && pmt::is_real(tag.value)) {
        d_freq = pmt::to_double(tag.value);
        d_capture_due = true;
    } else if (pmt::eqv(tag.key, key_time) && pmt::is_tuple(tag.value)) {
        const std::uint64_t whole = pmt::to_uint64(pmt::tuple_ref(tag.value, 0));
        const double fraction = pmt::to_double(pmt::tuple_ref(tag.value, 1));
        d_datetime = iso_8601(whole, fraction);
        d_capture_due = true;
        if (d_first_ns == 0)
            d_first_ns = static_cast<std::int64_t>(whole) * 1000000000 +
                         static_cast<std::int64_t>(fraction * 1e9);
    }
}

void message_sink::begin_capture()
{
    d_writer.start_capture(d_freq, d_datetime);
    d_datetime.clear(); // true of this sample only
    d_capture_due = false;
}

// Padding ends with its slot, whatever tags there are.
const char*
message_sink::write_until(const char* at, std::uint64_t begin, std::uint64_t end)
{
    while (begin < end) {
        if (begin >= d_valid_end) {
            const std::uint64_t slot_end =
                (d_valid_end / d_slot_items + 1) * d_slot_items;
            const std::uint64_t stop = std::min(end, slot_end);
            at += (stop - begin) * d_item_bytes;
            begin = stop;
            if (stop == slot_end)
                d_valid_end = never;
            continue;
        }
        if (d_capture_due)
            begin_capture();
        const std::uint64_t stop = std::min(end, d_valid_end);
        d_writer.write(at, (stop - begin) * d_item_bytes);
        at += (stop - begin) * d_item_bytes;
        begin = stop;
    }
    return at;
}

} // namespace apps
} // namespace rdma
} // namespace gr
