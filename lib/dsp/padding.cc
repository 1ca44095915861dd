/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/padding.h"

namespace gr {
namespace rdma {
namespace dsp {

void padding::mark(std::uint64_t offset, std::uint64_t items)
{
    if (d_short_start != none)
        d_slot_items = offset - d_short_start;
    const bool is_short = items != none && (d_slot_items == none || items < d_slot_items);
    d_short_start = is_short ? offset : none;
    d_begin = is_short && items < none - offset ? offset + items : none;
}

} // namespace dsp
} // namespace rdma
} // namespace gr
