/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A kernel that faults takes all blocks of its GPU with it: whose name do they give?
#include "qa_faulty_blocks.h"
#include "testing/has_text.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::testing;

BOOST_FIXTURE_TEST_CASE(the_block_whose_kernel_ran_is_named_by_all, on_imitated_driver)
{
    auto top = gr::make_top_block("middle");
    auto from = make<device_source>(fake, of_total(1000));
    auto middle = make<copier>(fake);
    auto to = make<device_recorder>(fake, device_options());
    middle->work.set(false);
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, to, 0);
    top->start();
    middle->entered.wait(1);
    from->ended.wait(1);
    // The reader's kernel waits in its stream for the one that is stuck.
    to->launched.wait(1);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    middle->work.set(true);
    top->wait();
    const std::string told = "the GPU failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) in a "
                             "kernel of " +
                             middle->identifier();
    BOOST_TEST(from->failure() == "");
    BOOST_TEST(middle->failure() ==
               middle->identifier() +
                   " on cuda:0 (Imitation 9000, 0000:17:00.0): " + told);
    BOOST_TEST(has(to->failure(), told)); // though its own work was under way too
}

BOOST_FIXTURE_TEST_CASE(kernels_that_ran_side_by_side_are_all_named, on_imitated_driver)
{
    auto top = gr::make_top_block("side by side");
    auto from = make<device_source>(fake, of_total(1000));
    auto one = make<copier>(fake);
    auto two = make<copier>(fake);
    for (const auto& copy : { one, two }) {
        copy->work.set(false);
        top->connect(from, 0, copy, 0);
        top->connect(copy, 0, make<device_recorder>(fake, device_options()), 0);
    }
    top->start();
    one->entered.wait(1);
    two->entered.wait(1);
    from->ended.wait(1);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    one->work.set(true);
    two->work.set(true);
    top->wait();
    for (const auto& copy : { one, two }) {
        const std::string why = copy->failure();
        BOOST_TEST_CONTEXT(why)
        {
            BOOST_TEST((has(why, one->identifier() + " or " + two->identifier()) ||
                        has(why, two->identifier() + " or " + one->identifier())));
            BOOST_TEST(has(why, "RDMA_CHECK_KERNELS=1"));
            BOOST_TEST(!has(why, "device_"));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_block_that_faults_at_full_rate_is_among_the_named,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("full rate");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    auto middle = make<copier>(fake);
    auto to = make<device_recorder>(fake, device_options());
    middle->fault_at = 1000000;
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, to, 0);
    top->run();
    BOOST_TEST(
        has(from->failure() + middle->failure() + to->failure(), middle->identifier()));
}

BOOST_FIXTURE_TEST_CASE(in_turns_it_is_named_alone, on_imitated_driver)
{
    const turns one_at_a_time;
    auto top = gr::make_top_block("turns");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    auto middle = make<copier>(fake);
    auto to = make<device_recorder>(fake, device_options());
    middle->fault_at = 1000000;
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, to, 0);
    top->run();
    const std::string told = "in a kernel of " + middle->identifier();
    BOOST_TEST(has(middle->failure(), told));
    for (const std::string& why : { from->failure(), middle->failure(), to->failure() })
        if (!why.empty())
            BOOST_TEST(why.substr(why.find("in a kernel")) == told);
}

BOOST_FIXTURE_TEST_CASE(in_turns_the_samples_are_the_same, on_imitated_driver)
{
    const turns one_at_a_time;
    auto top = gr::make_top_block("same");
    auto from = make<device_source>(fake, of_total(3000000));
    auto middle = make<copier>(fake);
    auto to = make<device_recorder>(fake, device_options());
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, to, 0);
    top->run();
    BOOST_TEST((to->items == items_up_to(3000000, 4)));
    BOOST_TEST(from->failure() + middle->failure() + to->failure() == "");
}

BOOST_FIXTURE_TEST_CASE(a_refused_launch_tells_whose_kernel_it_was, on_imitated_driver)
{
    auto top = gr::make_top_block("refused");
    auto from = make<device_source>(fake, of_total(1000));
    auto middle = make<copier>(fake);
    middle->throws = true;
    middle->work.set(false);
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, make<device_recorder>(fake, device_options()), 0);
    top->run();
    BOOST_TEST_CONTEXT(middle->failure())
    {
        BOOST_TEST(
            has(middle->failure(),
                "launch_copy failed with CUDA_ERROR_ILLEGAL_ADDRESS (700); the GPU "
                "failed in a kernel of "));
        const std::string why = middle->failure();
        BOOST_TEST(has(why.substr(why.find("in a kernel of")), middle->identifier()));
    }
}

BOOST_FIXTURE_TEST_CASE(a_fault_outside_the_blocks_kernels_is_told_as_such,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("outside");
    auto from = make<device_source>(fake, of_total(1000));
    auto to = make<device_recorder>(fake, device_options());
    auto idle = make<copier>(fake);
    top->connect(from, 0, to, 0);
    top->run();
    BOOST_TEST(from->failure() + to->failure() == "");
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    auto again = gr::make_top_block("again");
    auto late = make<device_source>(fake, of_total(1000));
    again->connect(late, 0, idle, 0);
    again->connect(idle, 0, to, 0);
    again->run();
    BOOST_TEST_CONTEXT(late->failure())
    BOOST_TEST(has(late->failure(), "in no kernel of these blocks"));
}

BOOST_FIXTURE_TEST_CASE(a_call_that_fails_alone_is_no_kernel_s_fault, on_imitated_driver)
{
    const auto record = fake.api().event_record;
    fake.api().event_record = [](CUevent, CUstream) { return CUDA_ERROR_OUT_OF_MEMORY; };
    auto top = gr::make_top_block("no memory");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    from->work.set(false); // with a kernel under way
    auto middle = make<copier>(fake);
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, make<device_recorder>(fake, device_options()), 0);
    top->start();
    from->launched.wait(1);
    from->work.set(true);
    top->wait();
    BOOST_TEST(from->failure() == from->identifier() +
                                      " on cuda:0 (Imitation 9000, 0000:17:00.0): a call "
                                      "of the driver failed with "
                                      "CUDA_ERROR_OUT_OF_MEMORY (2)");
    // A reader's kernel would not have waited for what the source's is to write.
    BOOST_TEST(middle->entered.now() == 0u);
    // Nor is the source to blame for what comes later.
    fake.api().event_record = record;
    middle->fault_at = 0;
    top->start();
    top->wait();
    const std::string why = middle->failure();
    BOOST_TEST(has(why.substr(why.find("in a kernel of")), middle->identifier()));
}

BOOST_FIXTURE_TEST_CASE(host_blocks_get_nothing_that_a_fault_kept_from_coming,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("tail");
    auto from = make<device_source>(fake, of_total(UINT64_MAX));
    from->work.set(false);
    auto to = make<host_recorder>(4);
    top->connect(from, 0, to, 0);
    top->start();
    // The copy to host memory is waited for: it is behind the kernel.
    while (fake.calls_of("cuStreamSynchronize") == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    from->work.set(true);
    top->wait();
    BOOST_TEST(has(from->failure(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    BOOST_TEST(from->launched.now() != 0u);
    BOOST_TEST(to->items.size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_driver_without_the_numbers_names_all_that_had_work,
                        on_imitated_driver)
{
    fake.api().stream_write_value32 = nullptr;
    auto top = gr::make_top_block("older");
    auto from = make<device_source>(fake, of_total(1000));
    auto middle = make<copier>(fake);
    middle->work.set(false);
    top->connect(from, 0, middle, 0);
    top->connect(middle, 0, make<device_recorder>(fake, device_options()), 0);
    top->start();
    middle->entered.wait(1);
    from->ended.wait(1);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    middle->work.set(true);
    top->wait();
    BOOST_TEST(has(middle->failure(), middle->identifier()));
    BOOST_TEST(has(middle->failure(), from->identifier()));
}

BOOST_FIXTURE_TEST_CASE(a_launch_without_code_for_the_gpu_says_how_to_build,
                        on_imitated_driver)
{
    for (const int code : { 209, 222 }) {
        auto top = gr::make_top_block("no code");
        auto from = make<device_source>(fake, of_total(1000));
        auto middle = make<copier>(fake);
        middle->launch_error = code;
        top->connect(from, 0, middle, 0);
        top->connect(middle, 0, make<device_recorder>(fake, device_options()), 0);
        top->run();
        BOOST_TEST_CONTEXT(middle->failure())
        {
            BOOST_TEST(has(middle->failure(), middle->identifier() + " on cuda:0"));
            BOOST_TEST(has(middle->failure(), "-DCMAKE_CUDA_ARCHITECTURES=90"));
            BOOST_TEST(has(middle->failure(), "update the driver") == (code == 222));
            BOOST_TEST(!has(middle->failure(), "in a kernel")); // the GPU is well
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_reader_that_leaves_after_a_fault_lets_the_writer_go,
                        on_imitated_driver)
{
    ring_on_gpu on(ring_device::writer::device);
    ring_device& ring = on.ring;
    const int leaves = 0;
    ring.attach(&leaves, on.stream.get(), 0);
    gate work(false);
    fake.launch(on.stream->native(), [&] { work.pass(); });
    bool asked = false;
    BOOST_TEST(ring.begin_work(&leaves, 0, asked) == 0);
    BOOST_TEST(ring.end_work(&leaves, 100) == 0);
    BOOST_TEST(ring.held(&leaves, 100) == 100u);
    ring.wake_when_free(&leaves);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS, false);
    work.set(true);
    ring.finish_wakes();
    ring.detach(&leaves);
    BOOST_TEST(ring.error() == CUDA_ERROR_ILLEGAL_ADDRESS);
    // What another reader does has nothing to ask about.
    const int queries = fake.calls_of("cuEventQuery");
    ring.look_after_writer();
    BOOST_TEST(fake.calls_of("cuEventQuery") == queries);
}
