/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_traffic.h"
#include "io/endpoint.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/rdma/source.h>
#include <gnuradio/top_block.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

namespace {

class source_traffic : public traffic
{
public:
    source_traffic(const traffic_config& config, io::service_type service, receiving to)
        : d_message(config.message_bytes),
          d_source(source::make(receiver(config, service, to))),
          d_counted(std::move(to.received)),
          d_graph(gr::make_top_block("gr-rdma bench")),
          d_endpoint(io::make_endpoint(sender(config, service)))
    {
        const int item = d_source->output_signature()->sizeof_stream_item(0);
        if (to.behind.empty())
            to.behind.push_back(gr::blocks::null_sink::make(item));
        gr::basic_block_sptr last = d_source;
        for (const auto& block : to.behind) {
            d_graph->connect(last, 0, block, 0);
            last = block;
        }
        d_graph->start();
        try {
            d_endpoint->attach({}, {});
            d_endpoint->start();
            if (!config.on_demand)
                d_thread = std::thread([this] { send(); });
        } catch (...) {
            d_graph->stop();
            d_graph->wait();
            throw;
        }
    }
    void end_sending() override
    {
        d_stop = true;
        if (d_thread.joinable())
            d_thread.join();
    }
    ~source_traffic() override
    {
        end_sending();
        d_endpoint->stop();
        d_graph->stop();
        d_graph->wait();
    }
    std::uint64_t received() const override
    {
        return d_counted ? d_counted() : d_source->counters().at("bytes_received");
    }
    void send_message() override
    {
        io::send_completion done[64];
        d_endpoint->poll_send(done, 64);
        io::send_request request;
        request.data = d_message.data();
        request.bytes = d_message.size();
        while (d_endpoint->post_send(&request, 1) == 0)
            d_endpoint->wait_sendable(10000000);
    }
    std::uint64_t sent() const override
    {
        return d_endpoint->counters().bytes_sent.value();
    }

private:
    static source_config
    receiver(const traffic_config& t, io::service_type service, const receiving& to)
    {
        source_config c;
        c.message_bytes = t.message_bytes;
        c.endpoint = "softroce";
        c.service = io::to_string(service);
        c.source = t.to;
        c.connect = t.from;
        c.qpn = 0x12;
        c.remote_qpn = 0x11;
        c.mtu = t.mtu;
        c.receive = to.receive;
        c.memory = to.memory;
        c.wait = to.wait;
        return c;
    }
    static io::endpoint_config sender(const traffic_config& t, io::service_type service)
    {
        io::endpoint_config c;
        c.endpoint = "softroce";
        c.service = service;
        c.source = t.from;
        c.connect = t.to;
        c.qpn = 0x11;
        c.remote_qpn = 0x12;
        c.mtu = t.mtu;
        return c;
    }
    void send()
    {
        // One buffer for all: what is in it does not matter here.
        io::send_request request;
        request.data = d_message.data();
        request.bytes = d_message.size();
        io::send_completion done[64];
        while (!d_stop) {
            while (d_endpoint->post_send(&request, 1) == 1) {
            }
            d_endpoint->wait_sendable(10000000);
            d_endpoint->poll_send(done, 64);
        }
    }

    std::vector<std::byte> d_message;
    source::sptr d_source;
    const std::function<std::uint64_t()> d_counted;
    gr::top_block_sptr d_graph;
    std::unique_ptr<io::endpoint> d_endpoint;
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
};

} // namespace

std::unique_ptr<traffic>
make_source_traffic(const traffic_config& config, io::service_type service, receiving to)
{
    return std::make_unique<source_traffic>(config, service, std::move(to));
}

} // namespace apps
} // namespace rdma
} // namespace gr
