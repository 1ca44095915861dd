/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_SOURCE_H
#define INCLUDED_RDMA_QA_SOURCE_H

// What the tests of rdma.source share: a sender and a recording sink.
#include "core/clock.h"
#include "io/endpoint.h"
#include "source_tags.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/source.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

// Own addresses for each case and process, so that tests run beside each other on port
// 4791.
inline std::string address(int side)
{
    static std::atomic<int> next{ 1 };
    static thread_local int current = 0;
    if (side == 0)
        current = next++;
    return "127.8." + std::to_string(::getpid() % 250 + 1) + "." +
           std::to_string(2 * current + side);
}

// Sends given messages from a thread of its own; the memory is the test's.
class sender
{
public:
    explicit sender(const io::endpoint_config& config)
        : d_endpoint(io::make_endpoint(config))
    {
        d_endpoint->start();
    }
    ~sender() { stop(); }
    void send(const std::vector<std::vector<std::byte>>& messages,
              unsigned immediate_base = 0)
    {
        d_thread = std::thread([this, messages, immediate_base] {
            std::size_t sent = 0, done = 0;
            while (done < messages.size() && !d_stop) {
                while (sent < messages.size()) {
                    io::send_request r;
                    r.data = messages[sent].data();
                    r.bytes = messages[sent].size();
                    r.has_immediate = immediate_base != 0;
                    r.immediate = immediate_base + static_cast<unsigned>(sent);
                    if (d_endpoint->post_send(&r, 1) != 1)
                        break;
                    ++sent;
                }
                io::send_completion c[16];
                const std::size_t n = d_endpoint->poll_send(c, 16);
                done += n;
                if (n == 0)
                    d_endpoint->wait_sendable(10000000);
            }
            d_endpoint->stop(); // before the messages go
        });
    }
    std::string status_text() const { return d_endpoint->status_text(); }
    void stop()
    {
        d_stop = true;
        d_endpoint->stop();
        if (d_thread.joinable())
            d_thread.join();
    }

private:
    std::unique_ptr<io::endpoint> d_endpoint;
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
};

// Keeps every item, its address and the tags; stops taking items while paused.
class recorder : public gr::sync_block
{
public:
    explicit recorder(std::size_t item)
        : gr::sync_block("recorder",
                         gr::io_signature::make(1, 1, static_cast<int>(item)),
                         gr::io_signature::make(0, 0, 0)),
          d_item(item)
    {
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        std::this_thread::sleep_for(delay);
        std::lock_guard<std::mutex> lock(mutex);
        if (paused)
            return 0;
        std::vector<gr::tag_t> found;
        get_tags_in_window(found, 0, 0, n);
        tags.insert(tags.end(), found.begin(), found.end());
        const auto* data = static_cast<const std::byte*>(in[0]);
        for (int i = 0; i < n; ++i)
            addresses.push_back(reinterpret_cast<std::uintptr_t>(data) + i * d_item);
        bytes.insert(bytes.end(), data, data + n * d_item);
        changed.notify_all();
        return n;
    }
    bool wait_bytes(std::size_t n)
    {
        std::unique_lock<std::mutex> lock(mutex);
        return changed.wait_for(
            lock, std::chrono::seconds(20), [&] { return bytes.size() >= n; });
    }
    std::vector<gr::tag_t> tags_of(const char* key)
    {
        std::lock_guard<std::mutex> lock(mutex);
        std::vector<gr::tag_t> out;
        for (const auto& t : tags)
            if (pmt::symbol_to_string(t.key) == key)
                out.push_back(t);
        return out;
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> paused{ false };
    std::chrono::microseconds delay{ 0 };
    std::vector<std::byte> bytes;
    std::vector<std::uintptr_t> addresses;
    std::vector<gr::tag_t> tags;

private:
    std::size_t d_item;
};

struct pair_config {
    source_config source;
    io::endpoint_config sender;
};

inline pair_config make_pair_config(const char* endpoint, std::size_t message_bytes)
{
    pair_config p;
    const std::string a = address(0), b = address(1);
    p.source.endpoint = p.sender.endpoint = endpoint;
    p.source.source = p.sender.connect = b;
    p.source.connect = p.sender.source = a;
    p.source.qpn = p.sender.remote_qpn = 18;
    p.source.remote_qpn = p.sender.qpn = 17;
    p.source.psn = p.sender.remote_psn = 0xfffffe;
    p.source.remote_psn = p.sender.psn = 0xfffff0;
    p.source.message_bytes = message_bytes;
    p.source.buffers = 4;
    p.source.sample = "byte";
    p.source.memory = "host";
    return p;
}

inline std::vector<std::vector<std::byte>> random_messages(std::size_t count,
                                                           std::size_t bytes)
{
    std::mt19937 random(7);
    std::vector<std::vector<std::byte>> messages(count, std::vector<std::byte>(bytes));
    for (auto& m : messages)
        for (auto& b : m)
            b = static_cast<std::byte>(random());
    return messages;
}

inline std::vector<std::byte> joined(const std::vector<std::vector<std::byte>>& messages)
{
    std::vector<std::byte> all;
    for (const auto& m : messages)
        all.insert(all.end(), m.begin(), m.end());
    return all;
}

inline std::uint64_t number(const pmt::pmt_t& dict, const char* key)
{
    return pmt::to_uint64(pmt::dict_ref(dict, pmt::mp(key), pmt::PMT_NIL));
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_SOURCE_H */
