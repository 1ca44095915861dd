/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A ring of 512 MiB in GPU memory, 1 MiB at a time, written as fast as it takes and read
// by a block that stalls at random: no sample wrong, no standstill, memory level. Short
// here; RDMA_ENDURANCE_S=120 in the environment makes each case last as many seconds.
#include "mem/gpu.h"
#include "qa_hw_pattern_blocks.h"
#include "qa_source.h"
#include "testing/gpu_level.h"
#include "testing/needs_gpu.h"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t message_bytes = 1 << 20;
constexpr int words = message_bytes / 4;
constexpr int slots = 512;

double seconds()
{
    const char* const given = std::getenv("RDMA_ENDURANCE_S");
    return given ? std::atof(given) : 3;
}

//! Looks once a second whether it still moves, and at the level of memory.
void watch(const char* name, const pattern_check& reader, const mem::gpu& gpu)
{
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const auto end = begin + std::chrono::duration<double>(seconds());
    while (reader.items == 0 && clock::now() < end + std::chrono::seconds(20))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gpu_level before;
    long resident = 0;
    std::uint64_t last = 0;
    for (auto next = clock::now() + std::chrono::seconds(1); clock::now() < end;
         next += std::chrono::seconds(1)) {
        std::this_thread::sleep_until(std::min<clock::time_point>(
            next, std::chrono::time_point_cast<clock::duration>(end)));
        const std::uint64_t items = reader.items;
        BOOST_REQUIRE_MESSAGE(items != last, name << " stands still at " << items);
        last = items;
        if (resident != 0) {
            gpu_level::now(gpu).require(before);
            continue;
        }
        // After the first second, in which the driver still loads the kernels.
        before = gpu_level::now(gpu);
        resident = resident_bytes();
    }
    BOOST_TEST((resident_bytes() < resident + (64 << 20) || gpu_is_shared()));
    const std::chrono::duration<double> took = clock::now() - begin;
    std::printf("%s: %.1f s, %.1f GiB, %.2f GiB/s\n",
                name,
                took.count(),
                static_cast<double>(last) * 4 / (1 << 30),
                static_cast<double>(last) * 4 / (1 << 30) / took.count());
}

//! Sends the pattern until it is stopped; one window of messages at a time in memory.
class pattern_sender
{
public:
    explicit pattern_sender(const io::endpoint_config& config)
        : d_endpoint(io::make_endpoint(config)),
          d_messages(window, std::vector<std::uint32_t>(words))
    {
        d_endpoint->start();
        d_thread = std::thread([this] { run(); });
    }
    ~pattern_sender() { stop(); }
    void stop()
    {
        d_stop = true;
        d_endpoint->stop();
        if (d_thread.joinable())
            d_thread.join();
    }

private:
    static constexpr std::size_t window = 32;

    void run()
    {
        std::uint64_t word = 0;
        std::uint64_t sent = 0;
        std::uint64_t done = 0;
        bool filled = false;
        while (!d_stop) {
            while (sent - done < window) {
                auto& message = d_messages[sent % window];
                if (!filled)
                    for (auto& w : message)
                        w = pattern_item(word++);
                filled = true;
                io::send_request r;
                r.data = reinterpret_cast<const std::byte*>(message.data());
                r.bytes = message_bytes;
                if (d_endpoint->post_send(&r, 1) != 1)
                    break;
                ++sent;
                filled = false;
            }
            io::send_completion c[window];
            const std::size_t n = d_endpoint->poll_send(c, window);
            done += n;
            if (n == 0)
                d_endpoint->wait_sendable(10000000);
        }
    }

    std::unique_ptr<io::endpoint> d_endpoint;
    std::vector<std::vector<std::uint32_t>> d_messages;
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
};

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

BOOST_AUTO_TEST_CASE(kernels_write_at_full_rate)
{
    const auto gpu = mem::open_gpu("cuda:0");
    auto top = gr::make_top_block("kernels");
    auto from =
        gnuradio::make_block_sptr<pattern_source>(UINT64_MAX / words * words, words);
    from->set_min_output_buffer(slots);
    from->set_max_output_buffer(slots);
    from->set_max_noutput_items(1);
    auto to = gnuradio::make_block_sptr<pattern_check>(true, "event", words);
    top->connect(from, 0, to, 0);
    top->start();
    watch("kernels", *to, *gpu);
    from->ended = true; // what is in the ring still comes
    top->wait();
    BOOST_TEST(to->wrong == 0u);
    BOOST_TEST(from->failure() + to->failure() == "");
}

BOOST_AUTO_TEST_CASE(messages_come_at_full_rate)
{
    const auto gpu = mem::open_gpu("cuda:0");
    auto p = make_pair_config("softroce", message_bytes);
    p.source.memory = "cuda:0";
    p.source.sample = "byte";
    p.source.vlen = 4;
    p.source.buffers = slots;
    auto top = gr::make_top_block("messages");
    auto from = source::make(p.source);
    auto to = gnuradio::make_block_sptr<pattern_check>(true);
    top->connect(from, 0, to, 0);
    top->start();
    pattern_sender sender(p.sender);
    watch("messages", *to, *gpu);
    sender.stop();
    top->stop();
    top->wait();
    BOOST_TEST(to->items != 0u);
    BOOST_TEST(to->wrong == 0u);
    BOOST_TEST(to->failure() == "");
}
