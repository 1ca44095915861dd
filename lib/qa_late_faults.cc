/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Faults that nobody asks for, and what blocks without kernels tell of them.
#include "qa_faulty_blocks.h"
#include "testing/has_text.h"

#include <gnuradio/logger.h>
#include <gnuradio/rdma/to_device.h>
#include <gnuradio/rdma/to_host.h>

#include <boost/test/unit_test.hpp>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <future>
#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

to_device::sptr upwards()
{
    to_device_config c;
    c.memory = "cuda:0";
    return to_device::make(c);
}

thread_local bool starts_here = false;

//! A copier whose thread does not get at its GPU.
class locked_out : public copier
{
public:
    explicit locked_out(fake_cuda& fake)
        : gr::block("locked_out",
                    gr::io_signature::make(1, 1, 4, ring_buffer::type),
                    gr::io_signature::make(1, 1, 4, ring_buffer::type)),
          copier(fake)
    {
    }
    bool start() override
    {
        starts_here = true;
        const bool started = copier::start();
        starts_here = false;
        return started;
    }
    int device_work(int room,
                    gr_vector_int& there,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star& out) override
    {
        ++works;
        return copier::device_work(room, there, in, out);
    }
    std::atomic<int> works{ 0 };
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_block_that_failed_at_its_start_does_no_work, on_imitated_driver)
{
    static const auto set_current = fake.api().ctx_set_current;
    fake.api().ctx_set_current = [](CUcontext context) {
        return starts_here ? CUDA_ERROR_INVALID_CONTEXT : set_current(context);
    };
    auto top = gr::make_top_block("start");
    auto from = make<counting_source>(quiet_after(1000));
    auto block = make<locked_out>(fake);
    top->connect(from, 0, block, 0);
    top->connect(block, 0, make<device_recorder>(fake, device_options()), 0);
    top->start();
    BOOST_TEST(ends(top));
    BOOST_TEST(has(block->failure(), "cuCtxSetCurrent failed with"));
    BOOST_TEST(block->works == 0);
}

BOOST_FIXTURE_TEST_CASE(a_fault_is_told_though_nothing_more_comes, on_imitated_driver)
{
    static std::atomic<int> looks{ 0 };
    static const auto query = fake.api().stream_query;
    fake.api().stream_query = [](CUstream stream) {
        ++looks;
        return query(stream);
    };
    for (const char* const wait : { "event", "busy" }) {
        auto top = gr::make_top_block("idle");
        auto from = make<counting_source>(quiet_after(1000));
        auto copy = make<copier>(fake, wait);
        copy->work.set(false);
        top->connect(from, 0, copy, 0);
        top->connect(copy, 0, make<device_recorder>(fake, device_options()), 0);
        top->start();
        copy->entered.wait(1);
        // The blocks' threads find nothing to do, and nothing wrong, meanwhile.
        for (const int before = looks; looks < before + 6;)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        BOOST_TEST(copy->failure() == "");
        fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
        copy->work.set(true);
        BOOST_TEST(ends(top));
        BOOST_TEST(has(copy->failure(), "in a kernel of " + copy->identifier()));
        fake.fault(CUDA_SUCCESS);
    }
}

BOOST_FIXTURE_TEST_CASE(a_mirror_that_fails_is_told_though_nothing_more_comes,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("idle");
    auto from = make<counting_source>(quiet_after(1000));
    auto copy = make<copier>(fake);
    top->connect(from, 0, copy, 0);
    top->connect(copy, 0, make<host_recorder>(4), 0);
    static fake_cuda* const driver = &fake;
    static const auto whole = fake.api().memcpy_async;
    fake.api().memcpy_async =
        [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
            return driver->maps(reinterpret_cast<void*>(to))
                       ? whole(to, from, bytes, stream)
                       : CUDA_ERROR_OUT_OF_MEMORY; // to the mirror
        };
    top->start();
    BOOST_TEST(ends(top));
    BOOST_TEST(has(copy->failure(), "CUDA_ERROR_OUT_OF_MEMORY"));
    BOOST_TEST(!has(copy->failure(), "in a kernel"));
}

BOOST_FIXTURE_TEST_CASE(a_writer_without_kernels_tells_whose_it_was, on_imitated_driver)
{
    auto top = gr::make_top_block("to_device");
    source_options s;
    s.total = UINT64_MAX;
    auto from = make<counting_source>(s);
    auto up = upwards();
    auto copy = make<copier>(fake);
    copy->fault_at = 1000;
    top->connect(from, 0, up, 0);
    top->connect(up, 0, copy, 0);
    top->connect(copy, 0, make<device_recorder>(fake, device_options()), 0);
    top->run();
    for (const std::string& why : { up->failure(), copy->failure() })
        BOOST_TEST(has(why, " in a kernel of " + copy->identifier()));
}

BOOST_FIXTURE_TEST_CASE(what_nobody_asked_for_comes_out_at_the_stop, on_imitated_driver)
{
    auto top = gr::make_top_block("stop");
    auto from = make<counting_source>(quiet_after(1000));
    auto up = upwards();
    auto to = make<device_recorder>(fake, device_options());
    top->connect(from, 0, up, 0);
    top->connect(up, 0, to, 0);
    top->start();
    to->launched.wait(1000);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    top->stop();
    top->wait();
    for (const std::string& why : { up->failure(), to->failure() })
        BOOST_TEST(has(why, "CUDA_ERROR_ILLEGAL_ADDRESS (700) in "));
}

BOOST_FIXTURE_TEST_CASE(a_query_that_failed_once_is_not_held_against_the_next_run,
                        on_imitated_driver)
{
    const auto whole = fake.api().event_query;
    fake.api().event_query = [](CUevent) { return CUDA_ERROR_OUT_OF_MEMORY; };
    auto top = gr::make_top_block("once");
    auto from = make<counting_source>(quiet_after(UINT64_MAX));
    auto up = upwards();
    to_host_config c;
    c.memory = "cuda:0";
    auto down = to_host::make(c);
    auto to = make<host_recorder>(4);
    top->connect(from, 0, up, 0);
    top->connect(up, 0, down, 0);
    top->connect(down, 0, to, 0);
    top->start();
    BOOST_TEST(ends(top));
    BOOST_TEST(has(up->failure(), "a copy failed with CUDA_ERROR_OUT_OF_MEMORY (2)"));
    fake.api().event_query = whole;
    const std::uint64_t before = to->nitems_read(0);
    top->start();
    for (int i = 0; i < 20000 && to->nitems_read(0) == before; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    BOOST_TEST(to->nitems_read(0) > 0u);
    BOOST_TEST(up->failure() + down->failure() == "");
    top->stop();
    BOOST_TEST(ends(top));
}

BOOST_FIXTURE_TEST_CASE(a_log_may_ask_what_it_is_told, on_imitated_driver)
{
    // From another thread, as a window's: with a lock held both would wait for ever.
    struct asking : spdlog::sinks::base_sink<std::mutex> {
        void sink_it_(const spdlog::details::log_msg& message) override
        {
            if (message.level < spdlog::level::err || !ask)
                return;
            auto text = std::async(std::launch::async, ask);
            if (text.wait_for(std::chrono::seconds(20)) != std::future_status::ready)
                std::_Exit(1); // stuck for good
            answered = answered || !text.get().empty();
        }
        void flush_() override {}
        std::function<std::string()> ask;
        std::atomic<bool> answered{ false };
    };
    auto top = gr::make_top_block("log");
    auto from = make<counting_source>(quiet_after(UINT64_MAX));
    auto up = upwards();
    top->connect(from, 0, up, 0);
    top->connect(up, 0, make<device_recorder>(fake, device_options()), 0);
    auto log = std::make_shared<asking>();
    log->ask = [&] { return up->failure(); };
    gr::logging::singleton().add_default_sink(log);
    fake.api().event_query = [](CUevent) { return CUDA_ERROR_OUT_OF_MEMORY; };
    top->start();
    BOOST_TEST(ends(top));
    BOOST_TEST(log->answered);
    log->ask = nullptr;
}
