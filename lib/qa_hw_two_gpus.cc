/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Blocks on two GPUs of the machine: refused next to each other, right side by side and
// with the copies between that the refusal names.
#include "mem/gpu.h"
#include "qa_hw_pattern_blocks.h"
#include "testing/skip.h"

#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/to_device.h>
#include <gnuradio/rdma/to_host.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <cstdio>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

struct needs_two_gpus {
    needs_two_gpus()
    {
        if (!mem::has_cuda())
            skip("gpu", mem::state_of_gpus().reason);
        try {
            mem::open_gpu("cuda:1");
        } catch (const config_error& error) {
            skip("two GPUs", error.what());
        }
    }
};

constexpr std::uint64_t many = 1ULL << 26; // words: 256 MiB

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_two_gpus);

BOOST_AUTO_TEST_CASE(start_refuses_neighbours_on_two_gpus)
{
    for (const bool second_first : { false, true }) {
        auto top = gr::make_top_block("two");
        auto from = make<pattern_source>(many, 1, second_first ? "cuda:1" : "cuda:0");
        auto to =
            make<pattern_check>(false, "event", 1, second_first ? "cuda:0" : "cuda:1");
        top->connect(from, 0, to, 0);
        BOOST_CHECK_EXCEPTION(top->start(), config_error, [&](const auto& e) {
            const std::string why = e.what();
            std::printf("%s\n", why.c_str());
            return why.find(from->identifier()) != std::string::npos &&
                   why.find(to->identifier()) != std::string::npos &&
                   why.find("rdma.to_host") != std::string::npos;
        });
    }
}

BOOST_AUTO_TEST_CASE(copies_between_lead_from_one_to_the_other)
{
    auto top = gr::make_top_block("copies");
    auto from = make<pattern_source>(many, 1, "cuda:0");
    auto to = make<pattern_check>(true, "event", 1, "cuda:1");
    to_host_config down;
    down.sample = "byte";
    down.vlen = 4;
    down.memory = "cuda:0";
    to_device_config up;
    up.sample = "byte";
    up.vlen = 4;
    up.memory = "cuda:1";
    auto there = to_host::make(down);
    auto back = to_device::make(up);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, back, 0);
    top->connect(back, 0, to, 0);
    top->run();
    BOOST_TEST(to->items == many);
    BOOST_TEST(to->wrong == 0u);
    BOOST_TEST(from->failure() + to->failure() == "");
}

BOOST_AUTO_TEST_CASE(both_work_side_by_side)
{
    auto top = gr::make_top_block("side by side");
    std::vector<std::shared_ptr<pattern_check>> ends;
    for (const char* memory : { "cuda:0", "cuda:1" }) {
        ends.push_back(make<pattern_check>(true, "event", 1, memory));
        top->connect(make<pattern_source>(many, 1, memory), 0, ends.back(), 0);
    }
    top->run();
    for (const auto& end : ends) {
        BOOST_TEST(end->items == many);
        BOOST_TEST(end->wrong == 0u);
        BOOST_TEST(end->failure() == "");
    }
}
