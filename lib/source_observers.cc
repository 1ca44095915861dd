/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.source: what others may ask of it at any time.
#include "source_impl.h"

#include "core/clock.h"

namespace gr {
namespace rdma {

void source_impl::publish_status(std::int64_t now_ns)
{
    if (now_ns < d_next_status_ns)
        return;
    d_next_status_ns = core::monotonic_ns() + 1000000000;
    source_status::facts now;
    now.counters = counters();
    now.queue_depth = d_cursor.outstanding();
    now.state = state();
    now.status_text = status_text();
    now.description = description();
    now.route = d_ring.route();
    message_port_pub(pmt::mp("status"), d_status.make(now));
}

std::string source_impl::description() const
{
    const auto endpoint = session();
    std::string text;
    if (endpoint) {
        text = endpoint->description();
    } else {
        std::lock_guard<std::mutex> lock(d_mutex);
        if (d_end_state == io::endpoint_state::idle)
            return "not running";
        text = d_end_description;
    }
    return text + ", ring " + d_ring.text();
}

std::string source_impl::state() const
{
    const auto endpoint = session();
    std::lock_guard<std::mutex> lock(d_mutex);
    if (!d_failure.empty())
        return io::to_string(io::endpoint_state::failed);
    return io::to_string(endpoint ? endpoint->state() : d_end_state);
}

std::string source_impl::status_text() const
{
    const auto endpoint = session();
    std::lock_guard<std::mutex> lock(d_mutex);
    if (!d_failure.empty())
        return d_failure;
    return endpoint ? endpoint->status_text() : d_end_text;
}

std::map<std::string, std::uint64_t> source_impl::counters() const
{
    std::lock_guard<std::mutex> lock(d_mutex);
    auto sum = d_totals;
    const auto add = [&](const char* name, const char*, std::uint64_t value) {
        sum[name] += value;
    };
    if (d_endpoint)
        d_endpoint->counters().for_each(add);
    else
        io::counters().for_each(add);
    sum["gpu_flushes"] = d_ring.flushes();
    sum["messages_odd"] = d_odd_messages.load();
    sum["reconnects"] = d_reconnects.load();
    return sum;
}

void source_impl::log(core::log_level level, const std::string& text) const
{
    if (level == core::log_level::error)
        d_logger->error("{}", text);
    else if (level == core::log_level::warn)
        d_logger->warn("{}", text);
    else if (level == core::log_level::info)
        d_logger->info("{}", text);
    else
        d_debug_logger->debug("{}", text);
}

} // namespace rdma
} // namespace gr
