/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// When does a span count as done? By the number that the GPU writes behind a round, by
// its event where there is none, and never before the round is.
#include "qa_device_blocks.h"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

// A reader's rounds of work, each with a kernel that waits for its gate.
struct rounds {
    explicit rounds(fake_cuda& f, std::uint32_t first = 0)
        : fake(f),
          gpu(mem::open_gpu("cuda:0")),
          stream(gpu->make_stream()),
          log(std::make_shared<kernel_log>(kernel_board::of(gpu), "reader", first)),
          work(std::make_unique<pending_work>(*gpu, log))
    {
    }
    void round(std::uint64_t end, gate& kernel)
    {
        log->begin(nullptr);
        fake.launch(stream->native(), [&kernel] { kernel.pass(); });
        BOOST_TEST(log->end(*stream) == 0);
        BOOST_TEST(work->push(end, *stream) == 0);
    }
    void done() { BOOST_TEST(stream->synchronize() == 0); }

    fake_cuda& fake;
    const std::shared_ptr<mem::gpu> gpu;
    const std::unique_ptr<mem::gpu_stream> stream;
    std::shared_ptr<kernel_log> log;
    std::unique_ptr<pending_work> work;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_numbers_go_round, on_imitated_driver)
{
    rounds r(fake, UINT32_MAX - 2);
    BOOST_TEST(r.log->has_done(UINT32_MAX - 2));
    BOOST_TEST(!r.log->has_done(UINT32_MAX - 1));
    const int queries = fake.calls_of("cuEventQuery");
    for (std::uint64_t n = 1; n <= 6; ++n) { // the third one is number 0
        gate kernel(false);
        r.round(n, kernel);
        BOOST_TEST(r.log->begun() == static_cast<std::uint32_t>(UINT32_MAX - 2 + n));
        BOOST_TEST(!r.log->has_done(r.log->begun()));
        BOOST_TEST(r.work->released() == n - 1);
        kernel.set(true);
        r.done();
        BOOST_TEST(r.log->has_done(r.log->begun()));
        BOOST_TEST(!r.log->has_done(r.log->begun() + 1));
        BOOST_TEST(r.work->released() == n);
    }
    // Each was asked about once, while it was under way.
    BOOST_TEST(fake.calls_of("cuEventQuery") == queries + 6);
}

BOOST_FIXTURE_TEST_CASE(spans_that_join_are_done_with_the_last_of_them,
                        on_imitated_driver)
{
    rounds r(fake);
    constexpr std::uint64_t few = pending_work::depth;
    gate early(false), late(false);
    for (std::uint64_t n = 1; n <= few; ++n)
        r.round(n, early);
    for (std::uint64_t n = few + 1; n <= 2 * few; ++n) // all in one entry
        r.round(n, late);
    BOOST_TEST(r.work->released() == 0u);
    early.set(true);
    while (!r.log->has_done(few))
        std::this_thread::yield();
    BOOST_TEST(r.work->released() == few - 1);
    BOOST_TEST(!r.work->idle());
    late.set(true);
    r.done();
    BOOST_TEST(r.work->released() == 2 * few);
    BOOST_TEST(r.work->idle());
}

BOOST_FIXTURE_TEST_CASE(a_driver_that_writes_no_numbers_is_asked_for_events,
                        on_imitated_driver)
{
    rounds r(fake);
    gate first(false), second(false);
    r.round(1, first);
    fake.api().stream_write_value32 = nullptr; // from now on
    r.round(2, second);
    BOOST_TEST(r.work->released() == 0u);
    first.set(true);
    while (r.work->released() != 1)
        std::this_thread::yield();
    // The number stays at 1, and half way round that would be ahead of all to come.
    for (const std::uint32_t ahead : { 2u, 1u << 30, 1u << 31, UINT32_MAX, 0u })
        BOOST_TEST(!r.log->has_done(r.log->begun() + ahead));
    BOOST_TEST(r.work->released() == 1u);
    second.set(true);
    r.done();
    BOOST_TEST(r.work->released() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_log_beyond_the_page_is_asked_for_events, on_imitated_driver)
{
    const auto gpu = mem::open_gpu("cuda:0");
    std::vector<std::unique_ptr<kernel_log>> logs;
    for (int i = 0; i < 1024; ++i)
        logs.push_back(
            std::make_unique<kernel_log>(kernel_board::of(gpu), "one of many"));
    rounds r(fake);
    gate kernel(false);
    r.round(1, kernel);
    BOOST_TEST(r.work->released() == 0u);
    kernel.set(true);
    r.done();
    BOOST_TEST(!r.log->has_done(1));
    BOOST_TEST(!r.log->has_done(1u << 31));
    BOOST_TEST(r.work->released() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_writer_without_a_number_does_not_excuse_its_reader,
                        on_imitated_driver)
{
    const auto gpu = mem::open_gpu("cuda:0");
    const auto board = kernel_board::of(gpu);
    const auto stream = gpu->make_stream();
    std::vector<std::unique_ptr<kernel_log>> logs;
    for (int i = 0; i < 1024; ++i)
        logs.push_back(std::make_unique<kernel_log>(board, "one of many"));
    const auto writer = std::make_shared<kernel_log>(board, "writer");
    logs.pop_back();
    kernel_log reader(board, "reader");
    reader.reads_from(writer);
    writer->begin(nullptr);
    BOOST_TEST(writer->end(*stream) == 0);
    const std::uint32_t needs = writer->begun();
    reader.begin(&needs);
    BOOST_TEST(board->verdict() == "in a kernel of reader");
}

BOOST_FIXTURE_TEST_CASE(work_keeps_the_number_that_it_goes_by, on_imitated_driver)
{
    // A reader's block may be gone before the ring lets go of it. Its number is nobody
    // else's until then.
    rounds r(fake);
    gate kernel(false);
    r.round(1, kernel);
    auto work = std::move(r.work);
    std::weak_ptr<const kernel_log> log = r.log;
    r.log.reset();
    rounds next(fake);
    gate open(true);
    for (std::uint64_t n = 1; n <= 5; ++n)
        next.round(n, open);
    next.done();
    BOOST_TEST(next.work->released() == 5u);
    BOOST_TEST(work->released() == 0u);
    kernel.set(true);
    r.done();
    BOOST_TEST(work->released() == 1u);
    BOOST_TEST(!log.expired());
    work.reset();
    BOOST_TEST(log.expired());
    // And then it begins again.
    rounds again(fake);
    BOOST_TEST(!again.log->has_done(1));
}

BOOST_FIXTURE_TEST_CASE(a_round_without_a_launch_is_done_with_those_before_it,
                        on_imitated_driver)
{
    rounds r(fake);
    gate kernel(false);
    r.round(10, kernel);
    r.log->begin(nullptr); // device_work() found too little
    BOOST_TEST(r.log->end(*r.stream) == 0);
    BOOST_TEST(r.work->push(10, *r.stream) == 0);
    // And one that did not come to it: begin_work() was refused.
    BOOST_TEST(r.work->push(10, *r.stream) == 0);
    BOOST_TEST(r.work->released() == 0u);
    kernel.set(true);
    r.done();
    BOOST_TEST(r.work->released() == 10u);
    BOOST_TEST(r.work->idle());
}

BOOST_FIXTURE_TEST_CASE(an_error_ends_what_was_not_done, on_imitated_driver)
{
    rounds r(fake);
    gate open(true), stuck(false);
    r.round(1, open);
    r.done();
    r.round(2, stuck);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    stuck.set(true);
    // Whoever waits for the second one is let go, and told.
    BOOST_TEST(r.work->released() == 2u);
    BOOST_TEST(r.work->error() == CUDA_ERROR_ILLEGAL_ADDRESS);
    BOOST_TEST(r.work->idle());
}
