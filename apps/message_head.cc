/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "message_head.h"

#include <algorithm>
#include <cstring>
#include <gnuradio/io_signature.h>

namespace gr {
namespace rdma {
namespace apps {

message_head::message_head(std::size_t item_bytes, std::uint64_t items)
    : gr::block("message_head",
                gr::io_signature::make(1, 1, static_cast<int>(item_bytes)),
                gr::io_signature::make(1, 1, static_cast<int>(item_bytes))),
      d_item_bytes(item_bytes),
      d_left(items)
{
    set_tag_propagation_policy(TPP_DONT);
}

int message_head::general_work(int noutput_items,
                               gr_vector_int& ninput_items,
                               gr_vector_const_void_star& input_items,
                               gr_vector_void_star& output_items)
{
    const int n = static_cast<int>(
        std::min<std::uint64_t>(d_left, std::min(noutput_items, ninput_items[0])));
    std::memcpy(output_items[0], input_items[0], n * d_item_bytes);
    d_left -= n;
    // produce() shows the items at once: GNU Radio's own passing on comes after it.
    get_tags_in_window(d_tags, 0, 0, static_cast<std::uint64_t>(n));
    for (const gr::tag_t& tag : d_tags)
        add_item_tag(0, tag);
    consume_each(n);
    produce(0, n);
    return d_left == 0 ? WORK_DONE : WORK_CALLED_PRODUCE;
}

} // namespace apps
} // namespace rdma
} // namespace gr
