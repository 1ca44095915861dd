/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.to_host and rdma.to_device on the imitated driver, and as plain copies.
#include "qa_device_blocks.h"
#include "testing/has_text.h"

#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/spectrometer.h>
#include <gnuradio/rdma/to_device.h>
#include <gnuradio/rdma/to_host.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t many = 9000000; // items of 4 bytes: over twice round a ring

template <typename Block, typename Config>
typename Block::sptr copier(const std::string& memory, std::size_t vlen = 1)
{
    Config config;
    config.memory = memory;
    config.vlen = vlen;
    return Block::make(config);
}

to_host::sptr down(const std::string& memory = "cuda:0", std::size_t vlen = 1)
{
    return copier<to_host, to_host_config>(memory, vlen);
}

to_device::sptr up(const std::string& memory = "cuda:0", std::size_t vlen = 1)
{
    return copier<to_device, to_device_config>(memory, vlen);
}

// Runs to its end, or the test says that it hung.
void run(const gr::top_block_sptr& top)
{
    top->start();
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> every(std::uint64_t step,
                                                           std::uint64_t total)
{
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tags;
    for (std::uint64_t n = 0; n < total; n += step)
        tags.emplace_back(n, n);
    return tags;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(what_is_on_the_gpu_comes_to_the_host, on_imitated_driver)
{
    auto top = gr::make_top_block("down");
    auto from = make<device_source>(fake, of_total(many));
    auto copy = down();
    recorder_options o;
    auto to = make<recorder>(o);
    top->connect(from, 0, copy, 0);
    top->connect(copy, 0, to, 0);
    run(top);
    BOOST_TEST((to->result().newest == items_up_to(many, 4)));
    BOOST_TEST(copy->memory() == "cuda:0");
}

BOOST_FIXTURE_TEST_CASE(what_is_in_a_host_ring_comes_to_the_gpu, on_imitated_driver)
{
    auto top = gr::make_top_block("up");
    source_options s;
    s.total = many;
    s.type = ring();
    auto from = make<counting_source>(s);
    auto copy = up();
    auto to = make<device_recorder>(fake, device_options());
    top->connect(from, 0, copy, 0);
    top->connect(copy, 0, to, 0);
    run(top);
    BOOST_TEST((to->items == items_up_to(many, 4)));
    BOOST_TEST(to->failure() == "");
    BOOST_TEST(copy->memory() == "cuda:0");
}

BOOST_FIXTURE_TEST_CASE(there_and_back_with_long_items_and_tags, on_imitated_driver)
{
    constexpr std::size_t vlen = 3; // items that parts and rings are no multiple of
    auto top = gr::make_top_block("there and back");
    source_options s;
    s.total = 2000000;
    s.item_bytes = 4 * vlen;
    s.tag_every = 1000;
    auto from = make<counting_source>(s);
    auto there = up("cuda:0", vlen);
    device_options d;
    d.item_bytes = 4 * vlen;
    auto between = make<device_increment>(fake, d);
    auto back = down("cuda:0", vlen);
    recorder_options r;
    r.item_bytes = 4 * vlen;
    auto to = make<recorder>(r);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, between, 0);
    top->connect(between, 0, back, 0);
    top->connect(back, 0, to, 0);
    run(top);
    BOOST_TEST((to->result().newest == items_up_to(s.total, 4 * vlen, 1)));
    BOOST_TEST((to->result().tags == every(1000, s.total)));
}

BOOST_FIXTURE_TEST_CASE(copies_that_wait_for_the_gpu_are_not_produced, on_imitated_driver)
{
    auto top = gr::make_top_block("late");
    auto from = make<device_source>(fake, of_total(1000));
    from->work.set(false); // its kernel, and so the copies behind it
    auto copy = down();
    auto to = make<recorder>(recorder_options());
    top->connect(from, 0, copy, 0);
    top->connect(copy, 0, to, 0);
    top->start();
    from->launched.wait(1000);
    BOOST_TEST(!to->taken().wait_for(1, std::chrono::milliseconds(100)));
    from->work.set(true);
    top->wait();
    BOOST_TEST((to->result().newest == items_up_to(1000, 4)));
}

BOOST_FIXTURE_TEST_CASE(a_second_run_starts_anew, on_imitated_driver)
{
    auto top = gr::make_top_block("twice");
    const std::vector<std::uint8_t> bytes = items_up_to(100000, 4);
    auto from = gr::blocks::vector_source_b::make(bytes, false, 4);
    auto there = up();
    auto back = down();
    auto to = gr::blocks::vector_sink_b::make(4);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, back, 0);
    top->connect(back, 0, to, 0);
    for (int i = 0; i < 2; ++i) {
        from->rewind();
        to->reset();
        run(top);
        BOOST_TEST((to->data() == bytes));
    }
}

BOOST_FIXTURE_TEST_CASE(a_failing_gpu_ends_the_stream, on_imitated_driver)
{
    for (const bool upwards : { true, false }) {
        auto top = gr::make_top_block("fault");
        source_options s;
        s.total = UINT64_MAX;
        auto from = make<counting_source>(s);
        auto there = up();
        auto back = down();
        auto to = make<host_recorder>(4);
        top->connect(from, 0, there, 0);
        top->connect(there, 0, back, 0);
        top->connect(back, 0, to, 0);
        top->start();
        from->produced().wait(upwards ? 1 : 1000000);
        fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
        BOOST_TEST(ends(top));
        BOOST_TEST(has(there->failure(),
                       there->identifier() +
                           " on cuda:0 (Imitation 9000, 0000:17:00.0): the GPU failed "
                           "with CUDA_ERROR_ILLEGAL_ADDRESS (700) in "));
        BOOST_TEST(has(back->failure(), "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
        fake.fault(CUDA_SUCCESS);
    }
}

BOOST_FIXTURE_TEST_CASE(all_is_given_back, on_imitated_driver)
{
    const auto round = [&] {
        auto top = gr::make_top_block("round");
        auto from = make<device_source>(fake, of_total(1000));
        auto copy = down();
        auto again = up();
        auto to = make<device_recorder>(fake, device_options());
        top->connect(from, 0, copy, 0);
        top->connect(copy, 0, again, 0);
        top->connect(again, 0, to, 0);
        run(top);
        BOOST_TEST((to->items == items_up_to(1000, 4)));
    };
    for (int i = 0; i < 3; ++i) {
        round();
        for (const long n : fake.held())
            BOOST_TEST(n == 0);
    }
}

BOOST_FIXTURE_TEST_CASE(auto_follows_a_ring_in_host_memory, on_imitated_driver)
{
    // No kernel runs on the imitated driver: the spectra are the CPU's.
    const std::vector<std::uint8_t> bytes = items_up_to(100000, 4);
    std::vector<float> spectra[2];
    for (const bool by_auto : { false, true }) {
        auto top = gr::make_top_block("auto");
        source_options s;
        s.total = 100000;
        s.type = ring();
        auto from = make<counting_source>(s);
        auto copy = down(by_auto ? "auto" : "host");
        spectrometer_config c;
        c.memory = by_auto ? "auto" : "host";
        auto spectrometer = spectrometer::make(c);
        auto to = gr::blocks::vector_sink_b::make(4);
        auto vectors = gr::blocks::vector_sink_f::make(1024);
        top->connect(from, 0, copy, 0);
        top->connect(copy, 0, to, 0);
        top->connect(from, 0, spectrometer, 0);
        top->connect(spectrometer, 0, vectors, 0);
        run(top);
        BOOST_TEST((to->data() == bytes));
        spectra[by_auto] = vectors->data();
        BOOST_TEST((std::dynamic_pointer_cast<device_block>(copy) != nullptr) == by_auto);
        BOOST_TEST(copy->memory() == "host");
        BOOST_TEST(spectrometer->memory() == "host");
    }
    BOOST_TEST(spectra[1].size() == 97u * 1024);
    BOOST_TEST((spectra[0] == spectra[1]));
}

BOOST_AUTO_TEST_CASE(without_a_gpu_they_copy_in_host_memory)
{
    auto top = gr::make_top_block("host");
    const std::vector<std::uint8_t> bytes = items_up_to(100000, 4);
    auto from = gr::blocks::vector_source_b::make(bytes, false, 4);
    auto there = up("host");
    auto back = down("host");
    auto to = gr::blocks::vector_sink_b::make(4);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, back, 0);
    top->connect(back, 0, to, 0);
    run(top);
    BOOST_TEST((to->data() == bytes));
    BOOST_TEST(there->failure() + back->failure() == "");
    BOOST_TEST(there->memory() == "host");
    BOOST_TEST(back->memory() == "host");
}

BOOST_FIXTURE_TEST_CASE(a_mirror_that_fails_ends_the_stream, on_imitated_driver)
{
    // Of all that this needs, host readers' copies alone wait for an event.
    const auto whole = fake.api().stream_wait_event;
    fake.api().stream_wait_event = [](CUstream, CUevent, unsigned) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    };
    auto top = gr::make_top_block("mirror");
    source_options s;
    s.total = UINT64_MAX;
    auto from = make_source(s, stock());
    auto there = up("cuda:0");
    auto to = make<host_recorder>(4);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, to, 0);
    run(top);
    BOOST_TEST(to->items.size() == 0u);
    // That call alone: nobody's kernel is to blame.
    BOOST_TEST(has(there->failure(),
                   ": showing the readers what was copied failed with "
                   "CUDA_ERROR_OUT_OF_MEMORY (2)"));
    fake.api().stream_wait_event = whole;
    top->start(); // another run knows nothing of it
    for (int i = 0; i < 5000 && there->failure() != ""; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    top->stop();
    top->wait();
    BOOST_TEST(there->failure() == "");
}

BOOST_FIXTURE_TEST_CASE(wrong_parameters_are_refused, on_imitated_driver)
{
    BOOST_CHECK_THROW(down("vram"), config_error);
    BOOST_CHECK_THROW(up("cuda:7"), config_error);
    BOOST_CHECK_THROW(down("cuda:0", 0), config_error);
    to_device_config c;
    c.sample = "sc12";
    BOOST_CHECK_THROW(to_device::make(c), config_error);
}
