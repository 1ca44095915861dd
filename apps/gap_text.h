/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_GAP_TEXT_H
#define INCLUDED_RDMA_APPS_GAP_TEXT_H

#include <pmt/pmt.h>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! The value of an rx_gap tag for people: "messages 3, bytes 12288, reason packet_loss".
inline std::string gap_text(const pmt::pmt_t& gap)
{
    std::string text;
    for (const char* key : { "messages", "bytes", "reason" }) {
        const auto value = pmt::dict_ref(gap, pmt::mp(key), pmt::PMT_NIL);
        if (!pmt::is_null(value))
            text += (text.empty() ? "" : ", ") + std::string(key) + " " +
                    pmt::write_string(value);
    }
    return text;
}

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_GAP_TEXT_H */
