/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Blocks in different memories: start() refuses them with a sentence, and nothing else.
#include "qa_device_blocks.h"

#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/to_device.h>
#include <gnuradio/rdma/to_host.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t some = 100000;

device_options on(const char* memory, std::uint64_t total = some)
{
    device_options o;
    o.memory = memory;
    o.total = total;
    return o;
}

source_options of_some()
{
    source_options o;
    o.total = some;
    return o;
}

struct two_gpus : on_imitated_driver {
    two_gpus() : on_imitated_driver(2) {}
    gr::top_block_sptr top = gr::make_top_block("memories");
};

// What start() says; empty where it starts, and then the flowgraph has come to its end.
std::string refusal(const gr::top_block_sptr& top)
{
    try {
        top->start();
    } catch (const config_error& error) {
        return error.what();
    }
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
    return "";
}

} // namespace

BOOST_FIXTURE_TEST_CASE(two_gpus_are_told_with_both_names_and_a_remedy, two_gpus)
{
    auto from = make<device_source>(fake, on("cuda:0"));
    auto to = make<device_recorder>(fake, on("cuda:1"));
    top->connect(from, 0, to, 0);
    const std::string expected =
        to->identifier() + " works on cuda:1, and " + from->identifier() +
        " in front of it writes to cuda:0: give both the same memory, or put "
        "rdma.to_host "
        "with memory=\"cuda:0\" and rdma.to_device with memory=\"cuda:1\" between them";
    BOOST_TEST(refusal(top) == expected);
    BOOST_TEST(refusal(top) == expected); // again, as the first time
    BOOST_TEST(to->items.empty());
    top->disconnect_all();
    auto good = make<device_recorder>(fake, on("cuda:0"));
    top->connect(from, 0, good, 0);
    BOOST_TEST(refusal(top) == "");
    BOOST_TEST((good->items == items_up_to(some, 4)));
}

BOOST_FIXTURE_TEST_CASE(a_ring_in_host_memory_is_told, two_gpus)
{
    auto from = make_source(of_some(), ring());
    auto to = make<device_recorder>(fake, on("cuda:1"));
    top->connect(from, 0, to, 0);
    BOOST_TEST(refusal(top) ==
               to->identifier() + " works on cuda:1, and " + from->identifier() +
                   " in front of it writes to host: give both the same memory, or put "
                   "rdma.to_device with memory=\"cuda:1\" between them");
}

BOOST_FIXTURE_TEST_CASE(what_was_said_to_put_between_goes_there, two_gpus)
{
    auto from = make<device_source>(fake, on("cuda:0"));
    to_host_config down;
    down.sample = "byte";
    down.vlen = 4;
    down.memory = "cuda:0";
    to_device_config up;
    up.sample = "byte";
    up.vlen = 4;
    up.memory = "cuda:1";
    auto to = make<device_recorder>(fake, on("cuda:1"));
    auto there = to_host::make(down);
    auto back = to_device::make(up);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, back, 0);
    top->connect(back, 0, to, 0);
    BOOST_TEST(refusal(top) == "");
    BOOST_TEST((to->items == items_up_to(some, 4)));
}

// GNU Radio connects blocks in the order of their addresses, so each case is run with
// its blocks made in several orders.
BOOST_FIXTURE_TEST_CASE(it_is_found_anywhere_in_a_chain, two_gpus)
{
    const char* memories[4] = { "cuda:0", "cuda:0", "cuda:0", "cuda:0" };
    for (int wrong = 1; wrong < 4; ++wrong)
        for (int order = 0; order < 24; ++order) {
            for (int i = 0; i < 4; ++i)
                memories[i] = i < wrong ? "cuda:0" : "cuda:1";
            gr::block_sptr blocks[4];
            int left[4] = { 0, 1, 2, 3 };
            int rest = order;
            for (int n = 4; n > 0; --n) {
                const int which = left[rest % n];
                left[rest % n] = left[n - 1];
                rest /= n;
                if (which == 0)
                    blocks[which] = make<device_source>(fake, on(memories[which]));
                else if (which == 3)
                    blocks[which] = make<device_recorder>(fake, on(memories[which]));
                else
                    blocks[which] = make<device_increment>(fake, on(memories[which]));
            }
            auto chain = gr::make_top_block("chain");
            for (int i = 0; i < 3; ++i)
                chain->connect(blocks[i], 0, blocks[i + 1], 0);
            const std::string why = refusal(chain);
            BOOST_TEST_CONTEXT(why << " order " << order)
            {
                BOOST_TEST(why.find(blocks[wrong]->identifier() + " works on cuda:1") ==
                           0u);
                BOOST_TEST(why.find(blocks[wrong - 1]->identifier() + " in front") !=
                           std::string::npos);
            }
        }
}

BOOST_FIXTURE_TEST_CASE(two_gpus_behind_one_ordinary_block_are_told, two_gpus)
{
    auto from = make_source(of_some(), stock());
    top->connect(from, 0, make<device_recorder>(fake, on("cuda:0")), 0);
    top->connect(from, 0, make<device_recorder>(fake, on("cuda:1")), 0);
    BOOST_TEST(refusal(top).find(from->identifier() +
                                 " in front of it writes to cuda:") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(chains_on_two_gpus_side_by_side_are_right, two_gpus)
{
    // With everything that might be taken for a reader on the wrong GPU.
    for (int round = 0; round < 20; ++round) {
        auto all = gr::make_top_block("side by side");
        std::vector<std::shared_ptr<device_recorder>> ends;
        std::vector<std::shared_ptr<host_recorder>> hosts;
        for (const char* memory : { "cuda:0", "cuda:1", "cuda:0", "cuda:1" }) {
            ends.push_back(make<device_recorder>(fake, on(memory)));
            hosts.push_back(make<host_recorder>(4));
            auto from = make<device_source>(fake, on(memory));
            all->connect(from, 0, hosts.back(), 0);
            all->connect(from, 0, ends.back(), 0);
            auto more = make<device_increment>(fake, on(memory));
            all->connect(from, 0, more, 0);
            all->connect(more, 0, make<device_recorder>(fake, on(memory)), 0);
            auto ordinary = make_source(of_some(), stock());
            all->connect(ordinary, 0, make<device_recorder>(fake, on(memory)), 0);
            auto host_ring = make_source(of_some(), ring());
            all->connect(host_ring, 0, make<host_recorder>(4, ring()), 0);
        }
        BOOST_TEST(refusal(all) == "");
        for (const auto& end : ends)
            BOOST_TEST((end->items == items_up_to(some, 4)));
        for (const auto& host : hosts)
            BOOST_TEST((host->items == items_up_to(some, 4)));
    }
}

BOOST_FIXTURE_TEST_CASE(a_block_that_reads_either_is_let_be, two_gpus)
{
    auto from = make_source(of_some(), ring());
    to_host_config either;
    either.sample = "byte";
    either.vlen = 4;
    either.memory = "auto";
    auto to = make<host_recorder>(4);
    auto copy = to_host::make(either);
    top->connect(from, 0, copy, 0);
    top->connect(copy, 0, to, 0);
    BOOST_TEST(refusal(top) == "");
    BOOST_TEST((to->items == items_up_to(some, 4)));
}

BOOST_FIXTURE_TEST_CASE(a_flowgraph_that_failed_is_not_held_against_the_next, two_gpus)
{
    auto from = make<device_source>(fake, on("cuda:0"));
    auto to = make<device_recorder>(fake, on("cuda:0"));
    top->connect(from, 0, to, 0);
    fake.fail(0, CUDA_ERROR_OUT_OF_MEMORY);
    BOOST_CHECK_THROW(top->start(), std::runtime_error);
    auto next = gr::make_top_block("next");
    auto host = make<host_recorder>(4, ring());
    next->connect(make_source(of_some(), ring()), 0, host, 0);
    BOOST_TEST(refusal(next) == "");
    BOOST_TEST((host->items == items_up_to(some, 4)));
}

BOOST_AUTO_TEST_CASE(a_ring_longer_than_the_gpus_memory_is_told_by_start)
{
    fake_cuda::device small;
    small.total_bytes = 64 << 20;
    on_imitated_driver with({ small });
    auto top = gr::make_top_block("long");
    auto from = make<device_source>(with.fake, on("cuda:0"));
    from->set_min_output_buffer(32 << 20);
    top->connect(from, 0, make<device_recorder>(with.fake, on("cuda:0")), 0);
    BOOST_CHECK_EXCEPTION(top->start(), out_of_memory, [](const auto& e) {
        const std::string why = e.what();
        return why.find("cuda:0 (Imitation 9000") != std::string::npos &&
               why.find("the largest that fits has") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(a_gpu_that_maps_nothing_twice_is_told)
{
    fake_cuda::device old;
    old.attributes[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 0;
    on_imitated_driver with({ old });
    auto top = gr::make_top_block("old");
    auto from = make<device_source>(with.fake, on("cuda:0"));
    top->connect(from, 0, make<device_recorder>(with.fake, on("cuda:0")), 0);
    BOOST_TEST(
        refusal(top).find("has no virtual memory management, which a ring needs") !=
        std::string::npos);
    BOOST_CHECK_EXCEPTION(
        make<device_source>(with.fake, on("auto")), config_error, [](const auto& e) {
            const std::string why = e.what();
            return why.find("memory='auto': this block needs a GPU: cuda:0 (Imitation") ==
                       0 &&
                   why.find("has no virtual memory management") != std::string::npos;
        });
}
