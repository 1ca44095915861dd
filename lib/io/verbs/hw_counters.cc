/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/hw_counters.h"

#include "core/clock.h"

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::int64_t interval_ns = 10000000;

struct known {
    counter io::counters::*to;
    const char* names[2]; // rxe, mlx5
    bool reliable_alone;  // means something else on unreliable services
};
constexpr known table[] = {
    { &io::counters::rnr_naks_sent, { "send_rnr_err", "out_of_buffer" }, true },
    { &io::counters::rnr_naks_received, { "rcvd_rnr_err", "rnr_nak_retry_err" }, true },
    { &io::counters::sequence_naks_sent,
      { "out_of_seq_request", "out_of_sequence" },
      true },
    { &io::counters::sequence_naks_received, { "rcvd_seq_err", "packet_seq_err" }, true },
    { &io::counters::duplicates, { "duplicate_request", "duplicate_request" }, true },
    { &io::counters::timeouts, { "completer_retry_err", "local_ack_timeout_err" }, true },
    { &io::counters::packets_received, { "rcvd_pkts", nullptr }, false },
    { &io::counters::packets_sent, { "sent_pkts", nullptr }, false },
};

} // namespace

bool hw_counters::read(const source& s, std::uint64_t& value) const noexcept
{
    return s.name && d_api->read_hw_counter(d_device.c_str(), d_port, s.name, &value);
}

void hw_counters::open(const verbs_api& api,
                       const std::string& device,
                       unsigned port,
                       bool reliable)
{
    static_assert(sizeof table / sizeof table[0] == count, "one source each");
    d_api = &api;
    d_device = device;
    d_port = port;
    for (std::size_t i = 0; i < count; ++i) {
        d_sources[i] = source();
        for (const char* name : table[i].names) {
            if (d_sources[i].name || !name || (table[i].reliable_alone && !reliable))
                continue;
            d_sources[i].name = name;
            if (!read(d_sources[i], d_sources[i].last))
                d_sources[i].name = nullptr;
        }
    }
}

void hw_counters::refresh(io::counters& counts) noexcept
{
    const std::int64_t now_ns = core::monotonic_ns();
    if (!d_api || now_ns < d_next_ns)
        return;
    d_next_ns = now_ns + interval_ns;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t value = 0;
        if (!read(d_sources[i], value) || value < d_sources[i].last)
            continue;
        (counts.*table[i].to).add(value - d_sources[i].last);
        d_sources[i].last = value;
    }
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
