/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_status.h"

#include <algorithm>

namespace gr {
namespace rdma {

std::string with_trailing_gap(const std::string& text, const io::endpoint& endpoint)
{
    const io::gap lost = endpoint.trailing_gap();
    if (!lost)
        return text;
    return text + "; lost behind the last message (" + io::to_string(lost.reason) +
           "): messages=" +
           (lost.messages_known ? std::to_string(lost.messages) : "unknown") +
           ", bytes=" + (lost.bytes_known ? std::to_string(lost.bytes) : "unknown");
}

void source_status::note_latency(double microseconds) noexcept
{
    ++d_count;
    d_sum += microseconds;
    d_max = std::max(d_max, microseconds);
}

pmt::pmt_t source_status::make(const facts& now)
{
    pmt::pmt_t all = pmt::make_dict();
    for (const auto& c : now.counters)
        all = pmt::dict_add(all, pmt::mp(c.first), pmt::from_uint64(c.second));
    pmt::pmt_t latency = pmt::make_dict();
    const double mean = d_count ? d_sum / static_cast<double>(d_count) : 0;
    latency = pmt::dict_add(latency, pmt::mp("mean_us"), pmt::from_double(mean));
    latency = pmt::dict_add(latency, pmt::mp("max_us"), pmt::from_double(d_max));
    d_count = 0;
    d_sum = d_max = 0;

    pmt::pmt_t dict = pmt::make_dict();
    const auto put = [&](const char* key, const pmt::pmt_t& value) {
        dict = pmt::dict_add(dict, pmt::mp(key), value);
    };
    const auto number = [&](const char* name) {
        return pmt::from_uint64(now.counters.at(name));
    };
    put("messages", number("messages_received"));
    put("bytes", number("bytes_received"));
    put("gaps", number("gaps"));
    put("rnr", number("rnr_naks_sent"));
    put("queue_depth", pmt::from_uint64(now.queue_depth));
    put("route", pmt::mp(now.route));
    put("state", pmt::mp(now.state));
    put("status_text", pmt::mp(now.status_text));
    put("description", pmt::mp(now.description));
    put("latency", latency);
    put("counters", all);
    return dict;
}

} // namespace rdma
} // namespace gr
