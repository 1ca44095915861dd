/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Device blocks, the release rule and the staged source on the machine's GPU.
#include "mem/gpu.h"
#include "qa_ends.h"
#include "qa_hw_pattern_blocks.h"
#include "qa_source.h"
#include "testing/gpu_level.h"
#include "testing/needs_gpu.h"
#include "testing/patience.h"
#include "testing/pattern_kernels.h"

#include <gnuradio/rdma/device_block.h>

#include <boost/test/unit_test.hpp>

#include <cstdio>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

void run(const gr::top_block_sptr& top)
{
    const auto begin = std::chrono::steady_clock::now();
    top->start();
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50 * patience())),
                          "the flowgraph hangs");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %.3f s\n", top->name().c_str(), took.count());
}

const std::uint64_t many = (1ULL << 28) / patience(); // items: 1 GiB

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

BOOST_AUTO_TEST_CASE(kernels_pass_on_what_kernels_wrote)
{
    for (const bool slow : { false, true }) {
        auto top = gr::make_top_block(slow ? "slow reader" : "fast reader");
        auto from = make<pattern_source>(many);
        auto to = make<pattern_check>(slow);
        top->connect(from, 0, to, 0);
        run(top);
        BOOST_TEST(to->items == many);
        BOOST_TEST(to->wrong == 0u);
        BOOST_TEST(from->failure() + to->failure() == "");
    }
}

BOOST_AUTO_TEST_CASE(readers_that_spin_see_the_same)
{
    for (const bool host_writer : { false, true }) {
        auto top = gr::make_top_block(host_writer ? "spinning, behind a host block"
                                                  : "spinning, behind a device block");
        gr::basic_block_sptr from;
        if (host_writer)
            from = make<host_source>(many / 4);
        else
            from = make<pattern_source>(many / 4);
        auto fast = make<pattern_check>(false, "busy");
        auto slow = make<pattern_check>(true, "busy");
        top->connect(from, 0, fast, 0);
        top->connect(from, 0, slow, 0);
        run(top);
        for (const auto& reader : { fast, slow }) {
            BOOST_TEST(reader->items == many / 4);
            BOOST_TEST(reader->wrong == 0u);
            BOOST_TEST(reader->failure() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_slow_reader_of_two_slots_never_sees_new_data)
{
    auto top = gr::make_top_block("two slots");
    auto from = make<pattern_source>(many / 4);
    from->set_max_output_buffer(2 * 262144);
    from->set_output_multiple(262144);
    auto to = make<pattern_check>(true);
    top->connect(from, 0, to, 0);
    run(top);
    BOOST_TEST(to->items == many / 4);
    BOOST_TEST(to->wrong == 0u);
}

BOOST_AUTO_TEST_CASE(host_and_device_read_and_write_side_by_side)
{
    for (const bool host_writer : { false, true }) {
        auto top = gr::make_top_block(host_writer ? "host writer" : "device writer");
        gr::basic_block_sptr from;
        if (host_writer)
            from = make<host_source>(many / 4);
        else
            from = make<pattern_source>(many / 4);
        auto slow = make<pattern_check>(true);
        auto fast = make<pattern_check>(false);
        auto host = make<host_check>();
        top->connect(from, 0, slow, 0);
        top->connect(from, 0, fast, 0);
        top->connect(from, 0, host, 0);
        run(top);
        for (const auto& reader : { slow, fast }) {
            BOOST_TEST(reader->items == many / 4);
            BOOST_TEST(reader->wrong == 0u);
        }
        BOOST_TEST(host->items == many / 4);
        BOOST_TEST(host->wrong == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_stream_over_softroce_reaches_the_gpu)
{
    constexpr std::size_t bytes = 1 << 20;
    constexpr std::size_t count = 400;
    auto p = make_pair_config("softroce", bytes);
    p.source.memory = "cuda:0";
    p.source.sample = "byte";
    p.source.vlen = 4;
    std::vector<std::vector<std::byte>> messages(count, std::vector<std::byte>(bytes));
    std::uint64_t n = 0;
    for (auto& m : messages)
        for (std::size_t i = 0; i < bytes; i += 4) {
            const std::uint32_t item = pattern_item(n++);
            std::memcpy(m.data() + i, &item, 4);
        }
    auto top = gr::make_top_block("softroce");
    auto block = source::make(p.source);
    auto on_device = make<pattern_check>(true);
    auto on_host = make<host_check>();
    top->connect(block, 0, on_device, 0);
    top->connect(block, 0, on_host, 0);
    top->start();
    sender tx(p.sender);
    tx.send(messages);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(60 * patience());
    while ((on_device->items < n || on_host->items < n) &&
           std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    tx.stop();
    top->stop();
    top->wait();
    BOOST_TEST(on_device->items == n);
    BOOST_TEST(on_device->wrong == 0u);
    BOOST_TEST(on_host->items == n);
    BOOST_TEST(on_host->wrong == 0u);
}

BOOST_AUTO_TEST_CASE(rounds_leave_memory_and_descriptors_level)
{
    const auto gpu = mem::open_gpu("cuda:0");
    gpu_level before;
    long most = 0; // pages pinned while a flowgraph is there
    for (int round = 0; round < 100; ++round) {
        {
            auto top = gr::make_top_block("round");
            auto from = make<pattern_source>(10000);
            top->connect(from, 0, make<pattern_check>(false), 0);
            top->connect(from, 0, make<host_check>(), 0);
            top->start();
            top->wait();
            most = std::max(most, pinned_pages());
        }
        if (round == 2)
            before = gpu_level::now(*gpu);
    }
    gpu_level::now(*gpu).require(before);
    std::printf(
        "%ld pages pinned between the rounds, %ld in them\n", before.pinned, most);
}
