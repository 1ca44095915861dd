/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Long file: cases of one suite, which share their few helpers.
// Flowgraphs of device blocks on the imitated driver: whose samples are where, and when a
// span may be written again.
#include "qa_device_blocks.h"
#include "testing/has_text.h"
#include "testing/process_resources.h"

#include <gnuradio/blocks/copy.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t many = 5000000; // items of 4 bytes: over twice round a ring

// Runs to its end, or the test says what hung.
void run(const gr::top_block_sptr& top)
{
    top->start();
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
}

source_options host_source(std::uint64_t total)
{
    source_options o;
    o.total = total;
    return o;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(device_blocks_pass_on_device_memory, on_imitated_driver)
{
    auto top = gr::make_top_block("chain");
    auto from = make<device_source>(fake, of_total(many));
    auto more = make<device_increment>(fake, device_options());
    auto to = make<device_recorder>(fake, device_options());
    top->connect(from, 0, more, 0);
    top->connect(more, 0, to, 0);
    run(top);
    BOOST_TEST((to->items == items_up_to(many, 4, 1)));
    BOOST_TEST(from->failure() == "");
    BOOST_TEST(from->device() == "cuda:0");
    // No mirror, and nobody waited on the CPU but stop().
    BOOST_TEST(fake.calls_of("cuMemcpyAsync") == 0);
    BOOST_TEST(fake.calls_of("cuEventSynchronize") == 0);
    BOOST_TEST(fake.held().back() == 1); // the page that tells whose kernel failed
}

BOOST_FIXTURE_TEST_CASE(a_span_stays_until_its_kernel_is_done, on_imitated_driver)
{
    // Two slots, of half a ring each: the reader is past both at once, its kernels are
    // not.
    auto top = gr::make_top_block("slow");
    device_options o = of_total(0);
    o.item_bytes = 1 << 20;
    o.total = 100;
    auto from = make<device_source>(fake, o);
    from->set_max_output_buffer(4);
    from->set_output_multiple(2);
    auto to = make<device_recorder>(fake, o);
    to->work.set(false);
    top->connect(from, 0, to, 0);
    top->start();
    to->launched.wait(4);
    // Both are consumed, and neither is free: nothing more may come.
    BOOST_TEST(!from->launched.wait_for(5, std::chrono::milliseconds(300)));
    BOOST_TEST(from->launched.now() == 4u);
    // Opened, the kernel's end has to wake the writer: nobody else calls it.
    to->work.set(true);
    from->launched.wait(100);
    top->wait();
    BOOST_TEST(!to->changed);
    BOOST_TEST((to->items == items_up_to(100, 1 << 20)));
}

BOOST_FIXTURE_TEST_CASE(many_batches_are_in_flight_and_are_freed_in_order,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("flight");
    device_options o = of_total(400);
    o.item_bytes = 4096;
    o.chunk = 1;
    auto from = make<device_source>(fake, o);
    auto to = make<device_recorder>(fake, o);
    to->work.set(false);
    top->connect(from, 0, to, 0);
    top->start();
    to->launched.wait(3 * pending_work::depth);
    to->work.set(true);
    top->wait();
    BOOST_TEST(!to->changed);
    BOOST_TEST((to->items == items_up_to(400, 4096)));
}

BOOST_FIXTURE_TEST_CASE(all_kinds_of_readers_share_one_ring, on_imitated_driver)
{
    auto top = gr::make_top_block("mixed");
    auto from = make<device_source>(fake, of_total(many));
    auto on_device = make<device_recorder>(fake, device_options());
    auto on_host = make<host_recorder>(4);
    auto on_ring = make<host_recorder>(4, ring()); // a host block that likes rings
    top->connect(from, 0, on_device, 0);
    top->connect(from, 0, on_host, 0);
    top->connect(from, 0, on_ring, 0);
    run(top);
    BOOST_TEST((on_device->items == items_up_to(many, 4)));
    BOOST_TEST((on_host->items == items_up_to(many, 4)));
    BOOST_TEST((on_ring->items == items_up_to(many, 4)));
    BOOST_TEST(on_host->strays == 0);
    BOOST_TEST(on_ring->strays == 0);
    BOOST_TEST(fake.calls_of("cuMemHostRegister") ==
               2); // one mirror; kernel_log.h's page
}

BOOST_FIXTURE_TEST_CASE(a_host_block_that_likes_rings_reads_the_mirror_alone,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("ring reader");
    auto from = make<device_source>(fake, of_total(many));
    auto to = make<host_recorder>(4, ring());
    top->connect(from, 0, to, 0);
    run(top);
    BOOST_TEST((to->items == items_up_to(many, 4)));
    BOOST_TEST(to->strays == 0);
}

BOOST_FIXTURE_TEST_CASE(an_ordinary_block_may_write_for_device_blocks, on_imitated_driver)
{
    for (const int device_readers : { 1, 2 })
        for (const int host_readers : { 0, 2 }) {
            BOOST_TEST_CONTEXT(device_readers << " and " << host_readers)
            {
                auto top = gr::make_top_block("host writer");
                auto from = make_source(host_source(many), stock());
                std::vector<std::shared_ptr<device_recorder>> devices;
                std::vector<std::shared_ptr<host_recorder>> hosts;
                for (int i = 0; i < device_readers; ++i) {
                    devices.push_back(make<device_recorder>(fake, device_options()));
                    top->connect(from, 0, devices.back(), 0);
                }
                for (int i = 0; i < host_readers; ++i) {
                    hosts.push_back(make<host_recorder>(4));
                    top->connect(from, 0, hosts.back(), 0);
                }
                run(top);
                for (const auto& reader : devices)
                    BOOST_TEST((reader->items == items_up_to(many, 4)));
                for (const auto& reader : hosts) {
                    BOOST_TEST((reader->items == items_up_to(many, 4)));
                    BOOST_TEST(reader->strays == 0);
                }
            }
        }
}

BOOST_FIXTURE_TEST_CASE(a_slow_copy_up_holds_its_span, on_imitated_driver)
{
    // The kernel of the reader is stuck, and its stream waits for the copies' event; the
    // host writer fills what it may and then waits for both.
    auto top = gr::make_top_block("slow copies");
    source_options o = host_source(100);
    o.item_bytes = 1 << 20;
    auto from = make_source(o, stock());
    from->set_max_output_buffer(4);
    device_options d;
    d.item_bytes = 1 << 20;
    auto to = make<device_recorder>(fake, d);
    to->work.set(false);
    top->connect(from, 0, to, 0);
    top->start();
    to->launched.wait(4);
    BOOST_TEST(!from->produced().wait_for(5, std::chrono::milliseconds(300)));
    to->work.set(true);
    top->wait();
    BOOST_TEST(!to->changed);
    BOOST_TEST((to->items == items_up_to(100, 1 << 20)));
}

BOOST_FIXTURE_TEST_CASE(history_is_seen_on_the_device, on_imitated_driver)
{
    for (const unsigned history : { 2, 100, 4096 })
        for (const bool host_writer : { false, true }) {
            auto top = gr::make_top_block("history");
            device_options o;
            o.history = history;
            auto to = make<device_recorder>(fake, o);
            if (host_writer)
                top->connect(make_source(host_source(many), stock()), 0, to, 0);
            else
                top->connect(make<device_source>(fake, of_total(many)), 0, to, 0);
            run(top);
            BOOST_TEST((to->items == items_up_to(many, 4)));
            const auto all = items_up_to(many, 4);
            std::vector<std::uint8_t> shifted((history - 1) * 4, 0);
            shifted.insert(shifted.end(), all.begin(), all.end() - (history - 1) * 4);
            BOOST_TEST((to->oldest == shifted));
        }
}

BOOST_FIXTURE_TEST_CASE(the_devices_of_threads_and_builder_stay_apart, on_imitated_driver)
{
    on_imitated_driver two(2);
    auto top = gr::make_top_block("second");
    device_options o = of_total(1000);
    o.memory = "cuda:1";
    auto from = make<device_source>(two.fake, o);
    auto to = make<device_recorder>(two.fake, o);
    top->connect(from, 0, to, 0);
    run(top);
    BOOST_TEST((to->items == items_up_to(1000, 4)));
    BOOST_TEST(from->device_seen == 1);
    BOOST_TEST(two.fake.current_device() == -1);
    BOOST_TEST(two.fake.used_bytes(0) == 0u);
}

BOOST_FIXTURE_TEST_CASE(no_gpu_of_that_name_is_refused_by_the_constructor,
                        on_imitated_driver)
{
    device_options o;
    o.memory = "cuda:7";
    BOOST_CHECK_EXCEPTION(
        make<device_recorder>(fake, o), config_error, [](const auto& e) {
            return has(e.what(), "cuda:7") && has(e.what(), "cuda:0 = 0000:17:00.0");
        });
    o.memory = "host";
    BOOST_CHECK_EXCEPTION(
        make<device_recorder>(fake, o), config_error, [](const auto& e) {
            return has(e.what(), "memory='host'") && has(e.what(), "needs a GPU");
        });
}

BOOST_FIXTURE_TEST_CASE(a_fault_on_the_gpu_ends_the_flowgraph_with_a_name,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("fault");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    auto to = make<device_recorder>(fake, device_options());
    top->connect(from, 0, to, 0);
    top->start();
    to->launched.wait(1000);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    top->wait();
    const std::string why = from->failure() + to->failure();
    BOOST_TEST(has(why, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
    BOOST_TEST(has(why, "device_"));
    BOOST_TEST(has(why, "cuda:0 (Imitation 9000"));
}

BOOST_AUTO_TEST_CASE(a_fault_frees_a_writer_that_waits_for_the_kernel)
{
    for (const bool calls_back : { true, false }) {
        on_imitated_driver one;
        auto top = gr::make_top_block("fault in a full ring");
        device_options o = of_total(UINT64_MAX);
        o.item_bytes = 1 << 20;
        auto from = make<device_source>(one.fake, o);
        from->set_max_output_buffer(4);
        auto to = make<device_recorder>(one.fake, o);
        to->work.set(false);
        top->connect(from, 0, to, 0);
        top->start();
        to->launched.wait(4);
        // The writer sleeps until the reader's first event; the reader until input comes.
        while (one.fake.calls_of("cuStreamAddCallback") == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        one.fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS, calls_back);
        to->work.set(true);
        top->wait();
        BOOST_TEST(has(from->failure() + to->failure(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
}

BOOST_FIXTURE_TEST_CASE(an_exception_in_device_work_ends_the_flowgraph,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("exception");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    device_options o;
    o.fail_at = 100000;
    auto to = make<device_recorder>(fake, o);
    top->connect(from, 0, to, 0);
    run(top);
    BOOST_TEST(has(to->failure(), to->identifier()));
    BOOST_TEST(has(to->failure(), "the test says so"));
    BOOST_TEST(from->failure() == "");
}

BOOST_FIXTURE_TEST_CASE(stop_and_start_again_goes_on, on_imitated_driver)
{
    auto top = gr::make_top_block("again");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    auto to = make<device_recorder>(fake, device_options());
    auto host = make<host_recorder>(4);
    top->connect(from, 0, to, 0);
    top->connect(from, 0, host, 0);
    for (int round = 0; round < 5; ++round) {
        const std::uint64_t before = to->launched.now();
        top->start();
        to->launched.wait(before + 100000);
        top->stop();
        top->wait();
    }
    top->start();
    top->lock();
    top->unlock();
    to->launched.wait(to->launched.now() + 100000);
    top->stop();
    top->wait();
    BOOST_TEST(to->failure() == "");
    BOOST_TEST(host->strays == 0);
    BOOST_TEST(!to->changed);
}

BOOST_FIXTURE_TEST_CASE(a_hundred_flowgraphs_leave_nothing_behind, on_imitated_driver)
{
    std::vector<long> held;
    long descriptors = 0;
    long threads = 0;
    for (int round = 0; round < 100; ++round) {
        {
            auto top = gr::make_top_block("round");
            auto from = make<device_source>(fake, of_total(10000));
            auto host = make_source(host_source(10000), stock());
            auto to = make<device_recorder>(fake, device_options());
            auto second = make<device_recorder>(fake, device_options());
            top->connect(from, 0, to, 0);
            top->connect(host, 0, second, 0);
            top->connect(from, 0, make<host_recorder>(4), 0);
            run(top);
        }
        if (round == 0) {
            held = fake.held();
            descriptors = count_descriptors();
            threads = count_threads();
        }
    }
    BOOST_TEST(held == std::vector<long>(7), boost::test_tools::per_element());
    BOOST_TEST(fake.held() == held, boost::test_tools::per_element());
    BOOST_TEST(count_descriptors() == descriptors);
    // The imitated driver's threads end behind its streams.
    for (int i = 0; i < 500 && count_threads() > threads; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    BOOST_TEST(count_threads() <= threads);
}
