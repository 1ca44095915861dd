/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_traffic.h"
#include "core/clock.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/network/udp_source.h>
#include <gnuradio/top_block.h>

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr std::size_t front_bytes = 12; // as a BTH
constexpr std::size_t behind_bytes = 4; // as an ICRC
constexpr std::size_t ring_bytes = 16u << 20;
constexpr std::size_t batch = 64;        // datagrams of one recvmmsg()
constexpr int buffer_bytes = 4 << 20;    // asked of the kernel, as softroce does
constexpr std::size_t gso_bytes = 65000; // of one send, below what UDP holds
constexpr std::size_t gso_segments = 64; // the kernel's limit

[[noreturn]] void refuse(const char* call)
{
    throw std::system_error(errno, std::generic_category(), call);
}

sockaddr_in address_of(const std::string& host, std::uint16_t port)
{
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &a.sin_addr);
    return a;
}

class udp_socket
{
public:
    //! Any free port of \p host.
    explicit udp_socket(const std::string& host) : d_fd(socket(AF_INET, SOCK_DGRAM, 0))
    {
        if (d_fd < 0)
            refuse("socket");
        const sockaddr_in own = address_of(host, 0);
        if (bind(d_fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
            close(d_fd);
            refuse("bind");
        }
        for (const int option : { SO_RCVBUF, SO_SNDBUF })
            setsockopt(d_fd, SOL_SOCKET, option, &buffer_bytes, sizeof buffer_bytes);
    }
    ~udp_socket() { close(d_fd); }
    udp_socket(const udp_socket&) = delete;
    udp_socket& operator=(const udp_socket&) = delete;

    int fd() const noexcept { return d_fd; }
    std::uint16_t port() const
    {
        sockaddr_in own{};
        socklen_t length = sizeof own;
        getsockname(d_fd, reinterpret_cast<sockaddr*>(&own), &length);
        return ntohs(own.sin_port);
    }

private:
    int d_fd;
};

//! Sends datagrams of one size: as fast as it can, by GSO; or one by one, at a rate or
//! when told.
class blaster
{
public:
    blaster(const traffic_config& t, std::uint16_t port, std::size_t datagram_bytes)
        : d_socket(t.from),
          d_datagram_bytes(datagram_bytes),
          d_payload_bytes(t.mtu),
          d_segments(t.rate > 0 || t.on_demand
                         ? 1
                         : std::min(gso_segments, gso_bytes / datagram_bytes)),
          d_message_bytes(t.message_bytes),
          d_rate(t.rate),
          d_data(d_segments * datagram_bytes)
    {
        const sockaddr_in peer = address_of(t.to, port);
        const int each = static_cast<int>(datagram_bytes);
        if (connect(d_socket.fd(),
                    reinterpret_cast<const sockaddr*>(&peer),
                    sizeof peer) != 0)
            refuse("connect");
        if (setsockopt(d_socket.fd(), SOL_UDP, UDP_SEGMENT, &each, sizeof each) != 0)
            refuse("setsockopt UDP_SEGMENT");
        if (!t.on_demand)
            d_thread = std::thread([this] { run(); });
    }
    ~blaster() { end(); }
    void send_message()
    {
        for (std::size_t at = 0; at < d_message_bytes; at += d_payload_bytes)
            if (send(d_socket.fd(), d_data.data(), d_data.size(), 0) < 0)
                refuse("send");
        d_sent += d_message_bytes;
    }
    void end()
    {
        d_stop = true;
        if (d_thread.joinable())
            d_thread.join();
    }
    std::uint64_t sent() const { return d_sent; }

private:
    void run()
    {
        const std::int64_t begin = core::monotonic_ns();
        while (!d_stop) {
            if (d_rate > 0 &&
                double(d_sent) > d_rate * double(core::monotonic_ns() - begin) * 1e-9) {
                std::this_thread::sleep_for(std::chrono::microseconds(100));
                continue;
            }
            const ssize_t n = send(d_socket.fd(), d_data.data(), d_data.size(), 0);
            // ECONNREFUSED tells of a receiver that is not there yet, or no more.
            if (n > 0)
                d_sent +=
                    static_cast<std::size_t>(n) / d_datagram_bytes * d_payload_bytes;
        }
    }

    udp_socket d_socket;
    const std::size_t d_datagram_bytes;
    const std::size_t d_payload_bytes;
    const std::size_t d_segments;
    const std::size_t d_message_bytes;
    const double d_rate;
    std::vector<std::byte> d_data;
    std::atomic<std::uint64_t> d_sent{ 0 };
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
};

class bare_traffic : public traffic
{
public:
    explicit bare_traffic(const traffic_config& t)
        : d_mtu(t.mtu), d_ring(ring_bytes), d_socket(t.to)
    {
        d_thread = std::thread([this] { run(); });
        try {
            d_blaster = std::make_unique<blaster>(
                t, d_socket.port(), t.mtu + front_bytes + behind_bytes);
        } catch (...) {
            stop();
            throw;
        }
    }
    ~bare_traffic() override
    {
        d_blaster.reset();
        stop();
    }
    std::uint64_t received() const override { return d_received; }
    std::uint64_t sent() const override { return d_blaster->sent(); }
    void end_sending() override { d_blaster->end(); }

private:
    void stop()
    {
        d_stop = true;
        d_thread.join();
    }
    void run()
    {
        std::vector<mmsghdr> messages(batch);
        std::vector<iovec> parts(3 * batch);
        std::vector<std::byte> around(batch * (front_bytes + behind_bytes));
        std::size_t at = 0;
        while (!d_stop) {
            for (std::size_t i = 0; i < batch; ++i) {
                std::byte* const edge = &around[i * (front_bytes + behind_bytes)];
                iovec* const iov = &parts[3 * i];
                iov[0] = { edge, front_bytes };
                iov[1] = { &d_ring[(at + i * d_mtu) % ring_bytes], d_mtu };
                iov[2] = { edge + front_bytes, behind_bytes };
                messages[i] = {};
                messages[i].msg_hdr.msg_iov = iov;
                messages[i].msg_hdr.msg_iovlen = 3;
            }
            const int n =
                recvmmsg(d_socket.fd(), messages.data(), batch, MSG_DONTWAIT, nullptr);
            if (n > 0) {
                at = (at + n * d_mtu) % ring_bytes;
                d_received += static_cast<std::uint64_t>(n) * d_mtu;
            } else {
                pollfd p{ d_socket.fd(), POLLIN, 0 };
                poll(&p, 1, 10);
            }
        }
    }

    const std::size_t d_mtu;
    std::vector<std::byte> d_ring;
    udp_socket d_socket;
    std::atomic<std::uint64_t> d_received{ 0 };
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
    std::unique_ptr<blaster> d_blaster;
};

std::uint16_t free_port(const std::string& host) { return udp_socket(host).port(); }

class udp_source_traffic : public traffic
{
public:
    udp_source_traffic(const traffic_config& t, receiving to)
        : d_port(free_port(t.to)),
          d_item_bytes(to.item_bytes),
          d_counted(std::move(to.received)),
          d_graph(gr::make_top_block("gr-rdma bench"))
    {
        d_source = gr::network::udp_source::make(
            to.item_bytes, 1, d_port, 0, static_cast<int>(t.mtu), false, false, false);
        if (to.behind.empty())
            to.behind.push_back(gr::blocks::null_sink::make(to.item_bytes));
        gr::basic_block_sptr last = d_source;
        for (const auto& block : to.behind) {
            d_graph->connect(last, 0, block, 0);
            last = block;
        }
        d_graph->start();
        try {
            d_blaster = std::make_unique<blaster>(t, d_port, t.mtu);
        } catch (...) {
            stop();
            throw;
        }
    }
    ~udp_source_traffic() override
    {
        d_blaster.reset();
        stop();
    }
    std::uint64_t received() const override
    {
        return d_counted ? d_counted() : d_source->nitems_written(0) * d_item_bytes;
    }
    std::uint64_t sent() const override { return d_blaster->sent(); }
    void end_sending() override { d_blaster->end(); }
    void send_message() override { d_blaster->send_message(); }

private:
    void stop()
    {
        d_graph->stop();
        d_graph->wait();
    }

    const std::uint16_t d_port;
    const std::size_t d_item_bytes;
    const std::function<std::uint64_t()> d_counted;
    gr::top_block_sptr d_graph;
    gr::network::udp_source::sptr d_source;
    std::unique_ptr<blaster> d_blaster;
};

} // namespace

std::unique_ptr<traffic> make_bare_traffic(const traffic_config& config)
{
    return std::make_unique<bare_traffic>(config);
}

std::unique_ptr<traffic> make_udp_source_traffic(const traffic_config& config,
                                                 receiving to)
{
    return std::make_unique<udp_source_traffic>(config, std::move(to));
}

} // namespace apps
} // namespace rdma
} // namespace gr
