/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "receiving.h"
#include "core/clock.h"
#include "core/sizes.h"
#include "usage_error.h"

#include <cstdio>
#include <gnuradio/logger.h>
#include <mutex>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr int look_up_ms = 50;

class stderr_sink : public spdlog::sinks::base_sink<std::mutex>
{
public:
    stderr_sink() { set_pattern_(gr::logging::default_pattern); }

private:
    void sink_it_(const spdlog::details::log_msg& line) override
    {
        spdlog::memory_buf_t text;
        formatter_->format(line, text);
        std::fwrite(text.data(), 1, text.size(), stderr);
    }
    void flush_() override {}
};

} // namespace

source_config make_source_config(const connection_options& connection,
                                 const stream_options& stream,
                                 const ring_options& ring)
{
    source_config c;
    c.sample = stream.sample;
    c.message_bytes = stream.message_bytes;
    c.buffers = static_cast<unsigned>(ring.buffers);
    c.endpoint = connection.endpoint;
    c.service = connection.service;
    c.source = connection.source;
    c.connect = connection.connect;
    c.listen = connection.listen;
    c.peers = connection.peers;
    c.qpn = static_cast<std::uint32_t>(connection.qpn);
    c.remote_qpn = static_cast<std::uint32_t>(connection.remote_qpn);
    c.psn = static_cast<std::uint32_t>(connection.psn);
    c.remote_psn = static_cast<std::uint32_t>(connection.remote_psn);
    c.qkey = static_cast<std::uint32_t>(connection.qkey);
    c.device = connection.device;
    c.gid_index = connection.chosen_gid();
    c.ib_port = static_cast<unsigned>(connection.ib_port);
    c.group = connection.group;
    c.mtu = static_cast<std::uint32_t>(connection.mtu);
    c.memory = ring.memory;
    c.route = ring.route;
    c.reconnect = ring.reconnect;
    c.wait = connection.wait;
    c.receive = connection.receive;
    c.pump_cpu = connection.bound_cpu();
    c.tag_every = 0; // discontinuities are all that the program reads
    c.rate = stream.rate;
    c.freq = stream.freq;
    return c;
}

void log_to_stderr()
{
    // The backend exists since the library was loaded: settings would come too late.
    auto& system = gr::logging::singleton();
    const auto all =
        std::dynamic_pointer_cast<spdlog::sinks::dist_sink_mt>(system.default_backend());
    if (all)
        all->set_sinks({ std::make_shared<stderr_sink>() });
    system.set_default_level(spdlog::level::warn);
}

std::string run_flowgraph(gr::top_block& graph,
                          const source& from,
                          const ending_sink& sink,
                          const ring_options& ring,
                          stop_signals& signals,
                          console& talk)
{
    graph.start();
    std::string ended;
    std::uint64_t last_count = 0;
    std::int64_t last_ns = 0;
    while (ended.empty()) {
        signals.wait(look_up_ms);
        const bool finished =
            sink.finished(); // before the counters, which then are final
        const auto counters = from.counters();
        const std::uint64_t count = counters.at("messages_received");
        const std::int64_t now = core::monotonic_ns();
        if (count != last_count) {
            last_count = count;
            last_ns = now;
        }
        if (signals.received())
            ended = signals.name();
        else if (finished)
            ended = ring.count && count >= ring.count ? "count" : "done";
        else if (ring.idle > 0 && last_ns && double(now - last_ns) * 1e-9 > ring.idle)
            ended = "idle";
        else if (count == 0)
            talk.progress("waiting: " + from.description());
        else
            talk.progress(std::to_string(count) + " messages, " +
                          core::human_bytes(counters.at("bytes_received")) +
                          ", gaps=" + std::to_string(counters.at("gaps")));
    }
    graph.stop();
    graph.wait();
    sink.rethrow();
    // While it stops, the source may not know how it ended.
    const std::string state = from.state();
    if (ended == "done" || state == "failed")
        ended = state;
    return ended;
}

void finish(const summary& s, const source& from, console& talk)
{
    talk.finish(s);
    if (s.ended == "failed")
        throw run_error(from.status_text());
    const auto refused = s.counters.find("dropped_length");
    if (s.ended == "closed" && s.messages == 0 && refused != s.counters.end() &&
        refused->second != 0)
        throw run_error("nothing was received: what the peer sent does not fit "
                        "--message-bytes, and it left");
}

} // namespace apps
} // namespace rdma
} // namespace gr
