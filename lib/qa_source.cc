/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.source in flowgraphs, fed by endpoints of this process. Links the layers' objects,
// since the sending side is internal.
#include "core/clock.h"
#include "io/endpoint.h"
#include "source_tags.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/source.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;

namespace {

// Own addresses for each case and process, so that tests run beside each other on port
// 4791.
std::string address(int side)
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

pair_config make_pair_config(const char* endpoint, std::size_t message_bytes)
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
    return p;
}

std::vector<std::vector<std::byte>> random_messages(std::size_t count, std::size_t bytes)
{
    std::mt19937 random(7);
    std::vector<std::vector<std::byte>> messages(count, std::vector<std::byte>(bytes));
    for (auto& m : messages)
        for (auto& b : m)
            b = static_cast<std::byte>(random());
    return messages;
}

std::vector<std::byte> joined(const std::vector<std::vector<std::byte>>& messages)
{
    std::vector<std::byte> all;
    for (const auto& m : messages)
        all.insert(all.end(), m.begin(), m.end());
    return all;
}

std::uint64_t number(const pmt::pmt_t& dict, const char* key)
{
    return pmt::to_uint64(pmt::dict_ref(dict, pmt::mp(key), pmt::PMT_NIL));
}

} // namespace

BOOST_AUTO_TEST_CASE(streams_every_byte_and_tags_the_address)
{
    for (const char* endpoint : { "inproc", "softroce" })
        for (const char* service : { "rc", "uc" }) {
            BOOST_TEST_CONTEXT(endpoint << " " << service)
            {
                auto p = make_pair_config(endpoint, 8192);
                p.source.service = service;
                p.sender.service = io::parse_service(service);
                if (std::string(service) == "uc") // nothing holds a UC sender back
                    p.source.buffers = 64;
                const auto messages = random_messages(40, 8192);
                auto top = gr::make_top_block("top");
                auto block = source::make(p.source);
                auto sink = gnuradio::make_block_sptr<recorder>(1);
                auto other = gnuradio::make_block_sptr<recorder>(1);
                top->connect(block, 0, sink, 0);
                top->connect(block, 0, other, 0);
                top->start();
                sender tx(p.sender);
                tx.send(messages);
                BOOST_TEST(sink->wait_bytes(40 * 8192));
                BOOST_TEST(other->wait_bytes(40 * 8192));
                top->stop();
                top->wait();
                BOOST_TEST((sink->bytes == joined(messages)));
                BOOST_TEST((other->bytes == joined(messages)));
                for (auto& reader : { sink, other }) {
                    const auto tags = reader->tags_of("rx_buffer");
                    BOOST_TEST(tags.size() == 40u);
                    for (std::size_t i = 0; i < tags.size(); ++i) {
                        BOOST_TEST(tags[i].offset == i * 8192);
                        // A window that runs over the end shows the second mapping.
                        const std::uint64_t seen = reader->addresses.at(tags[i].offset);
                        const std::uint64_t told = number(tags[i].value, "address");
                        BOOST_TEST((seen - told) % (p.source.buffers * 8192) == 0u);
                        BOOST_TEST(seen - told <= p.source.buffers * 8192);
                        BOOST_TEST(number(tags[i].value, "bytes") == 8192u);
                        BOOST_TEST(number(tags[i].value, "sequence") == i);
                    }
                    BOOST_TEST(reader->tags_of("rx_time").size() == 1u);
                    BOOST_TEST(reader->tags_of("packet_len").empty());
                    BOOST_TEST(reader->tags_of("rx_gap").empty());
                }
                BOOST_TEST(block->counters().at("messages_received") == 40u);
            }
        }
}

BOOST_AUTO_TEST_CASE(a_short_message_is_padded_with_zeros_and_says_its_length)
{
    auto p = make_pair_config("softroce", 4096);
    p.source.header_bytes = 16;
    p.source.tag_every = 0;
    auto messages = random_messages(12, 4096 + 16);
    messages[3].resize(16 + 100);
    messages[5].resize(16); // no payload
    messages[7].resize(4);  // not even a whole header
    auto top = gr::make_top_block("top");
    auto block = source::make(p.source);
    auto sink = gnuradio::make_block_sptr<recorder>(1);
    top->connect(block, 0, sink, 0);
    top->start();
    sender tx(p.sender);
    tx.send(messages, 1000);
    BOOST_TEST(sink->wait_bytes(12 * 4096));
    top->stop();
    top->wait();
    for (std::size_t i = 0; i < 12; ++i) {
        std::vector<std::byte> want(4096);
        if (messages[i].size() > 16)
            std::copy(messages[i].begin() + 16, messages[i].end(), want.begin());
        BOOST_TEST(std::memcmp(want.data(), sink->bytes.data() + i * 4096, 4096) == 0);
    }
    const auto lengths = sink->tags_of("packet_len");
    const std::vector<std::pair<std::uint64_t, long>> want{ { 3, 100 }, { 4, 4096 },
                                                            { 5, 0 },   { 6, 4096 },
                                                            { 7, 0 },   { 8, 4096 } };
    BOOST_REQUIRE(lengths.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        BOOST_TEST(lengths[i].offset == want[i].first * 4096);
        BOOST_TEST(pmt::to_long(lengths[i].value) == want[i].second);
    }
    const auto buffers = sink->tags_of("rx_buffer"); // thinned to the first message
    BOOST_REQUIRE(buffers.size() == 1u);
    const auto header = pmt::u8vector_elements(
        pmt::dict_ref(buffers[0].value, pmt::mp("header"), pmt::PMT_NIL));
    BOOST_TEST(header.size() == 16u);
    BOOST_TEST(std::memcmp(header.data(), messages[0].data(), 16) == 0);
    BOOST_TEST(number(buffers[0].value, "immediate") == 1000u);
}

BOOST_AUTO_TEST_CASE(a_stopped_reader_holds_an_rc_sender_back_without_loss)
{
    auto p = make_pair_config("softroce", 65536);
    const auto messages = random_messages(64, 65536);
    auto top = gr::make_top_block("top");
    auto block = source::make(p.source);
    auto sink = gnuradio::make_block_sptr<recorder>(1);
    sink->paused = true;
    top->connect(block, 0, sink, 0);
    top->start();
    sender tx(p.sender);
    tx.send(messages);
    while (block->counters().at("rnr_naks_sent") == 0)
        std::this_thread::yield();
    sink->paused = false;
    BOOST_TEST(sink->wait_bytes(64 * 65536));
    top->stop();
    top->wait();
    BOOST_TEST((sink->bytes == joined(messages)));
    BOOST_TEST(block->counters().at("gaps") == 0u);
}

BOOST_AUTO_TEST_CASE(stop_returns_within_a_second_from_any_state)
{
    enum class when { waiting, streaming, downstream_full };
    for (const auto state : { when::waiting, when::streaming, when::downstream_full }) {
        auto p = make_pair_config("softroce", 4096);
        const auto messages = random_messages(2000, 4096);
        auto top = gr::make_top_block("top");
        auto block = source::make(p.source);
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        sink->paused = state == when::downstream_full;
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        if (state != when::waiting)
            tx.send(messages);
        if (state == when::streaming)
            sink->wait_bytes(4096);
        if (state == when::downstream_full)
            while (block->counters().at("rnr_naks_sent") == 0)
                std::this_thread::yield();
        const auto before = core::monotonic_ns();
        top->stop();
        top->wait();
        BOOST_TEST(core::monotonic_ns() - before < 1000000000);
        BOOST_TEST(block->state() == "idle");
    }
}

BOOST_AUTO_TEST_CASE(a_slow_reader_does_not_put_the_source_to_sleep)
{
    // GNU Radio's own pause for a source without output is 250 ms; there would be
    // hundreds.
    auto p = make_pair_config("inproc", 8192);
    const auto messages = random_messages(200, 8192);
    auto top = gr::make_top_block("top");
    auto sink = gnuradio::make_block_sptr<recorder>(1);
    sink->delay = std::chrono::microseconds(100);
    sink->set_max_noutput_items(1000);
    top->connect(source::make(p.source), 0, sink, 0);
    top->start();
    sender tx(p.sender);
    const auto before = core::monotonic_ns();
    tx.send(messages);
    BOOST_TEST(sink->wait_bytes(200 * 8192));
    BOOST_TEST(core::monotonic_ns() - before < 5000000000);
    top->stop();
    top->wait();
}

BOOST_AUTO_TEST_CASE(a_listening_source_ends_its_stream_when_the_sender_disconnects)
{
    for (const char* service : { "rc", "uc" }) {
        auto p = make_pair_config("softroce", 4096);
        p.source.listen = p.source.source + ":4000";
        p.source.connect = p.source.source = "";
        p.sender.connect += ":4000";
        p.source.qpn = p.source.remote_qpn = p.sender.qpn = p.sender.remote_qpn = 0;
        p.source.service = service;
        p.sender.service = io::parse_service(service);
        p.source.buffers = 32;
        const auto messages = random_messages(20, 4096);
        auto top = gr::make_top_block("top");
        auto block = source::make(p.source);
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        tx.send(messages);
        top->wait(); // nobody stops it
        BOOST_TEST((sink->bytes == joined(messages)));
        BOOST_TEST(block->state() == "closed");
        BOOST_TEST(block->status_text().find("closed the connection") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(starts_again_and_marks_the_new_session)
{
    auto p = make_pair_config("inproc", 1024);
    const auto messages = random_messages(5, 1024);
    auto block = source::make(p.source);
    for (int round = 0; round < 20; ++round) {
        auto top = gr::make_top_block("top");
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        tx.send(messages);
        BOOST_TEST(sink->wait_bytes(5 * 1024));
        top->stop();
        top->wait();
        BOOST_TEST((sink->bytes == joined(messages)));
        const auto gaps = sink->tags_of("rx_gap");
        BOOST_TEST(gaps.size() == (round == 0 ? 0u : 1u));
        if (!gaps.empty()) {
            BOOST_TEST(gaps[0].offset == 0u);
            BOOST_TEST(pmt::symbol_to_string(pmt::dict_ref(gaps[0].value,
                                                           pmt::mp("reason"),
                                                           pmt::PMT_NIL)) == "reconnect");
        }
    }
    BOOST_TEST(block->counters().at("messages_received") == 100u);
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_an_exception_of_start)
{
    auto p = make_pair_config("softroce", 1024);
    p.source.qpn = 21;
    auto first = source::make(p.source);
    auto second = source::make(p.source);
    auto top = gr::make_top_block("top");
    auto other = gr::make_top_block("other");
    top->connect(first, 0, gr::blocks::null_sink::make(1), 0);
    other->connect(second, 0, gr::blocks::null_sink::make(1), 0);
    top->start();
    BOOST_CHECK_EXCEPTION(other->start(), config_error, [](const config_error& e) {
        return std::string(e.what()).find("qpn=21 is in use") == 0;
    });
    top->stop();
    top->wait();
    p.source.source = "192.0.2.1"; // TEST-NET-1: nobody's
    auto stranger = source::make(p.source);
    auto third = gr::make_top_block("third");
    third->connect(stranger, 0, gr::blocks::null_sink::make(1), 0);
    BOOST_CHECK_EXCEPTION(third->start(), config_error, [](const config_error& e) {
        return std::string(e.what()).find("source='192.0.2.1' is no address") == 0;
    });
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused_by_name)
{
    struct row {
        const char* text;
        void (*change)(source_config&);
    };
    const row rows[] = {
        { "sample='cs16'", [](source_config& c) { c.sample = "cs16"; } },
        { "vlen=0", [](source_config& c) { c.vlen = 0; } },
        { "message_bytes=0", [](source_config& c) { c.message_bytes = 0; } },
        { "message_bytes=4098",
          [](source_config& c) {
              c.sample = "sc16";
              c.message_bytes = 4098;
          } },
        { "message_bytes=2147483648",
          [](source_config& c) { c.message_bytes = 2147483648; } },
        { "buffers=1", [](source_config& c) { c.buffers = 1; } },
        { "buffers=4096",
          [](source_config& c) {
              c.buffers = 4096;
              c.message_bytes = 1 << 20;
          } },
        { "header_bytes=65537", [](source_config& c) { c.header_bytes = 65537; } },
        { "endpoint='ib'", [](source_config& c) { c.endpoint = "ib"; } },
        { "service='rd'", [](source_config& c) { c.service = "rd"; } },
        { "qpn", [](source_config& c) { c.qpn = 0; } },
        { "qpn=16777216", [](source_config& c) { c.qpn = 1 << 24; } },
        { "remote_psn=16777216", [](source_config& c) { c.remote_psn = 1 << 24; } },
        { "listen='127.0.0.9' and qpn",
          [](source_config& c) { c.listen = "127.0.0.9"; } },
        { "listen or connect is missing",
          [](source_config& c) {
              c.qpn = c.remote_qpn = 0;
              c.connect = "";
          } },
        { "listen='127.0.0.9:x'",
          [](source_config& c) {
              c.qpn = c.remote_qpn = 0;
              c.connect = "";
              c.listen = "127.0.0.9:x";
          } },
        { "mtu=1500", [](source_config& c) { c.mtu = 1500; } },
        { "memory='cuda:0'", [](source_config& c) { c.memory = "cuda:0"; } },
        { "wait='spin'", [](source_config& c) { c.wait = "spin"; } },
        { "rate=-1", [](source_config& c) { c.rate = -1; } },
        { "connect is missing", [](source_config& c) { c.connect = ""; } },
        { "connect='127.0.0.1:5'", [](source_config& c) { c.connect = "127.0.0.1:5"; } },
    };
    for (const row& r : rows) {
        auto p = make_pair_config("softroce", 4096);
        r.change(p.source);
        BOOST_CHECK_EXCEPTION(
            source::make(p.source), config_error, [&](const config_error& e) {
                BOOST_TEST_MESSAGE(e.what());
                return std::string(e.what()).find(r.text) == 0;
            });
    }
}
