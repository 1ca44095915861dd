/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Long file: cases of one suite, which share their blocks.
// How device blocks wait for input: wait=busy gives the same streams as wait=event, does
// not sleep, and hinders nobody.
#include "input_spin.h"
#include "qa_device_blocks.h"
#include "ring_client.h"
#include "testing/has_text.h"

#include <gnuradio/rdma/convert.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/spectrometer.h>
#include <gnuradio/rdma/to_host.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <ctime>
#include <pthread.h>
#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t many = 3000000; // items of 4 bytes: over once round a ring

device_options busy(std::uint64_t total = 0)
{
    device_options o;
    o.total = total;
    o.wait = "busy";
    return o;
}

source_sptr host_source(std::uint64_t total, std::uint64_t allowed, int chunk = 0)
{
    source_options o;
    o.total = total;
    o.allowed = allowed;
    o.tag_every = 1000;
    o.chunk = chunk;
    return make_source(o, stock());
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> tags_up_to(std::uint64_t total)
{
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tags;
    for (std::uint64_t n = 0; n < total; n += 1000)
        tags.emplace_back(n, n);
    return tags;
}

// A device sink that knows how much CPU its thread has used, and takes messages.
class timed_sink : public device_block
{
public:
    explicit timed_sink(const device_options& o)
        : gr::block("timed_sink",
                    gr::io_signature::make(1, 1, 4, ring_buffer::type),
                    gr::io_signature::make(0, 0, 0, ring_buffer::type)),
          device_block(o.memory, o.wait)
    {
        message_port_register_in(pmt::mp("call"));
        set_msg_handler(pmt::mp("call"), [this](const pmt::pmt_t&) { called.reach(1); });
    }
    bool has_msg_handler(pmt::pmt_t which_port) override
    {
        rounds += pmt::eq(which_port, pmt::mp("call")) ? 1 : 0;
        return device_block::has_msg_handler(which_port);
    }
    int device_work(int noutput_items,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star&) override
    {
        pthread_getcpuclockid(pthread_self(), &d_clock);
        consume_each(noutput_items);
        taken.reach(taken.now() + static_cast<std::uint64_t>(noutput_items));
        return 0;
    }
    // While it runs, after it has taken something.
    std::int64_t cpu_ns() const
    {
        timespec t{};
        clock_gettime(d_clock, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
    }

    milestone taken;
    milestone called;
    std::atomic<std::int64_t> rounds{ 0 }; // of the scheduler

private:
    clockid_t d_clock = 0;
};

// Two items, as a NIC writes them into GPU memory: they are there when it says so.
class direct_source : public gr::block, public ring_client
{
public:
    direct_source()
        : gr::block("direct_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(1, 1, 4, ring_buffer::type)),
          d_gpu(mem::open_gpu("cuda:0"))
    {
    }
    std::shared_ptr<mem::ring_memory>
    output_ring(int, std::size_t item_bytes, std::size_t) override
    {
        mem::gpu_ring_config config;
        config.min_bytes = 1 << 20;
        config.unit_bytes = item_bytes;
        if (!d_ring)
            d_ring = d_gpu->make_ring(config);
        return d_ring;
    }
    std::shared_ptr<mem::gpu> output_gpu() const override { return d_gpu; }
    int general_work(int,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star&) override
    {
        if (nitems_written(0) == 2)
            return WORK_DONE;
        const auto next = nitems_written(0) + 1;
        return allowed.wait_for(next, std::chrono::milliseconds(20)) ? 1 : 0;
    }

    milestone allowed;

private:
    const std::shared_ptr<mem::gpu> d_gpu;
    std::shared_ptr<mem::ring_memory> d_ring;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_busy_chain_passes_on_what_a_sleeping_one_does,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("chain");
    auto from = host_source(many, UINT64_MAX, 10000);
    auto first = make<device_increment>(fake, busy());
    auto second = make<device_increment>(fake, busy());
    auto to = make<device_recorder>(fake, busy());
    auto sleeper = make<device_recorder>(fake, device_options());
    auto host = make<host_recorder>(4);
    top->connect(from, 0, first, 0);
    top->connect(first, 0, second, 0);
    top->connect(second, 0, to, 0);
    top->connect(second, 0, host, 0);
    top->connect(second, 0, sleeper, 0);
    top->start();
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
    BOOST_TEST((to->items == items_up_to(many, 4, 2)));
    BOOST_TEST((sleeper->items == to->items));
    BOOST_TEST((host->items == to->items));
    BOOST_TEST((to->tags == tags_up_to(many)));
    BOOST_TEST((sleeper->tags == to->tags));
    BOOST_TEST(first->failure() + second->failure() + to->failure() == "");
}

BOOST_FIXTURE_TEST_CASE(busy_blocks_take_single_items_with_history, on_imitated_driver)
{
    // One at a time, each behind an idle while: what too little input is, history and
    // output multiple decide.
    auto top = gr::make_top_block("singles");
    auto from = host_source(40, 0);
    device_options o = busy();
    o.history = 3;
    auto to = make<device_recorder>(fake, o);
    to->set_output_multiple(4);
    top->connect(from, 0, to, 0);
    top->start();
    const auto buffer = to->detail()->input(0)->buffer();
    const auto* const ring = dynamic_cast<const ring_buffer*>(buffer.get());
    BOOST_REQUIRE(ring);
    for (std::uint64_t n = 4; n <= 40; n += 4) {
        const unsigned writes = ring->writes(); // what the reader looks at
        for (std::uint64_t single = n - 3; single <= n; ++single) {
            from->allow(single);
            from->produced().wait(single);
        }
        to->launched.wait(n);
        BOOST_TEST(ring->writes() != writes);
    }
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(20)), "the flowgraph hangs");
    BOOST_TEST((to->items == items_up_to(40, 4)));
}

BOOST_FIXTURE_TEST_CASE(a_busy_block_spins_and_an_idle_one_sleeps, on_imitated_driver)
{
    auto top = gr::make_top_block("idle");
    auto from = host_source(1000, 100);
    auto spins = make<timed_sink>(busy());
    auto sleeps = make<timed_sink>(device_options());
    top->connect(from, 0, spins, 0);
    top->connect(from, 0, sleeps, 0);
    top->start();
    spins->taken.wait(100);
    sleeps->taken.wait(100);
    const std::int64_t asleep = sleeps->cpu_ns();
    const std::int64_t awake = spins->cpu_ns();
    constexpr std::int64_t spun = 200000000;
    const std::int64_t before = spins->rounds;
    const auto since = std::chrono::steady_clock::now();
    for (int i = 0; i < 20000 && spins->cpu_ns() < awake + spun; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    BOOST_TEST(spins->cpu_ns() >= awake + spun);
    BOOST_TEST(sleeps->cpu_ns() - asleep < spun / 4);
    // Between rounds, which take the buffer's mutex, and not by them.
    const std::int64_t rounds = spins->rounds - before;
    const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - since;
    BOOST_TEST(rounds <= wall.count() / input_spin::round_ns + 10);
    top->stop();
    top->wait();
    // A block that is run again by itself waits as it did before.
    BOOST_TEST(spins->blkd_input_timer_value() == sleeps->blkd_input_timer_value());
}

BOOST_FIXTURE_TEST_CASE(a_busy_block_serves_messages_and_stops_while_it_waits,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("messages");
    auto from = host_source(UINT64_MAX, 100);
    auto to = make<timed_sink>(busy());
    top->connect(from, 0, to, 0);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        from->allow(round * 100);
        top->start();
        to->taken.wait(round * 100);
        to->called.reach(0);
        to->_post(pmt::mp("call"), pmt::PMT_T);
        to->called.wait(1);
        top->lock();
        top->unlock();
        top->stop();
        BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(10)), "the flowgraph hangs");
    }
    BOOST_TEST(to->failure() == "");
}

BOOST_FIXTURE_TEST_CASE(a_busy_reader_holds_its_spans_and_its_writer, on_imitated_driver)
{
    auto top = gr::make_top_block("slow");
    device_options o = busy(100);
    o.item_bytes = 1 << 20;
    auto from = make<device_source>(fake, o);
    from->set_max_output_buffer(4);
    auto more = make<device_increment>(fake, o);
    more->set_max_output_buffer(4);
    auto to = make<device_recorder>(fake, o);
    to->work.set(false);
    top->connect(from, 0, more, 0);
    top->connect(more, 0, to, 0);
    top->start();
    to->launched.wait(4);
    BOOST_TEST(!to->launched.wait_for(5, std::chrono::milliseconds(300)));
    BOOST_TEST(from->launched.now() <= 8u);
    to->work.set(true);
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
    BOOST_TEST(!to->changed);
    BOOST_TEST((to->items == items_up_to(100, 1 << 20, 1)));
}

BOOST_FIXTURE_TEST_CASE(a_fault_ends_busy_blocks, on_imitated_driver)
{
    auto top = gr::make_top_block("fault");
    auto from = make<device_source>(fake, busy(UINT64_MAX));
    auto more = make<device_increment>(fake, busy());
    auto to = make<device_recorder>(fake, busy());
    top->connect(from, 0, more, 0);
    top->connect(more, 0, to, 0);
    top->start();
    to->launched.wait(1000);
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
    BOOST_TEST(has(from->failure() + more->failure() + to->failure(),
                   "CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

BOOST_FIXTURE_TEST_CASE(an_exception_in_a_busy_block_ends_the_flowgraph,
                        on_imitated_driver)
{
    auto top = gr::make_top_block("exception");
    device_options o = busy();
    o.fail_at = 100000;
    auto to = make<device_recorder>(fake, o);
    top->connect(make<device_source>(fake, busy(UINT64_MAX)), 0, to, 0);
    top->start();
    BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(50)), "the flowgraph hangs");
    BOOST_TEST(has(to->failure(), "the test says so"));
}

BOOST_FIXTURE_TEST_CASE(a_stream_waits_for_each_write_once, on_imitated_driver)
{
    // What is in front of a kernel's launch delays it: nothing is asked of the driver
    // that it has been asked before.
    ring_on_gpu on(ring_device::writer::device);
    ring_device& ring = on.ring;
    const int reader = 0;
    ring.attach(&reader, on.stream.get(), 0);
    bool asked = false;
    const int before = fake.calls_of("cuStreamWaitEvent");
    BOOST_TEST(ring.begin_work(&reader, 0, asked) == 0);
    BOOST_TEST(fake.calls_of("cuStreamWaitEvent") == before);
    BOOST_TEST(!asked);
    BOOST_TEST(ring.end_work(&reader, 0) == 0);
    ring.wrote(0, 100, 100);
    const int queries = fake.calls_of("cuEventQuery");
    BOOST_TEST(ring.begin_work(&reader, 0, asked) == 0);
    BOOST_TEST(fake.calls_of("cuStreamWaitEvent") == before + 1);
    BOOST_TEST(fake.calls_of("cuEventQuery") == queries);
    BOOST_TEST(asked);
    BOOST_TEST(ring.end_work(&reader, 50) == 0);
    BOOST_TEST(ring.begin_work(&reader, 50, asked) == 0);
    BOOST_TEST(ring.end_work(&reader, 100) == 0);
    BOOST_TEST(fake.calls_of("cuStreamWaitEvent") == before + 1);
    ring.wrote(100, 100, 200);
    BOOST_TEST(ring.begin_work(&reader, 100, asked) == 0);
    BOOST_TEST(fake.calls_of("cuStreamWaitEvent") == before + 2);
    BOOST_TEST(ring.end_work(&reader, 200) == 0);
    BOOST_TEST(on.stream->synchronize() == 0);
    BOOST_TEST(ring.held(&reader, 200) == 0u);
    ring.detach(&reader);
}

BOOST_FIXTURE_TEST_CASE(the_gpu_itself_tells_the_writer_what_is_done, on_imitated_driver)
{
    // By a number in host memory: a call of the driver's, under the mutex that the reader
    // needs for what the writer has just written, delays that.
    ring_on_gpu on(ring_device::writer::direct);
    ring_device& ring = on.ring;
    const auto log = std::make_shared<kernel_log>(kernel_board::of(on.gpu), "reader");
    const int reader = 0;
    ring.attach(&reader, on.stream.get(), 0, log);
    gate work(false);
    bool asked = false;
    BOOST_TEST(ring.begin_work(&reader, 0, asked) == 0);
    log->begin(nullptr);
    fake.launch(on.stream->native(), [&] { work.pass(); });
    BOOST_TEST(log->end(*on.stream) == 0);
    BOOST_TEST(ring.end_work(&reader, 100) == 0);
    BOOST_TEST(ring.held(&reader, 100) == 100u);
    BOOST_TEST(!log->has_done(1));
    work.set(true);
    BOOST_TEST(on.stream->synchronize() == 0);
    BOOST_TEST(log->has_done(1));
    const int queries = fake.calls_of("cuEventQuery");
    BOOST_TEST(ring.held(&reader, 100) == 0u);
    BOOST_TEST(fake.calls_of("cuEventQuery") == queries);
    // A driver without such numbers is asked.
    fake.api().stream_write_value32 = nullptr;
    BOOST_TEST(ring.begin_work(&reader, 100, asked) == 0);
    log->begin(nullptr);
    BOOST_TEST(log->end(*on.stream) == 0);
    BOOST_TEST(ring.end_work(&reader, 200) == 0);
    BOOST_TEST(on.stream->synchronize() == 0);
    BOOST_TEST(!log->has_done(2));
    BOOST_TEST(ring.held(&reader, 200) == 0u);
    ring.detach(&reader);
}

BOOST_AUTO_TEST_CASE(a_fault_before_its_launch_is_not_the_block_s)
{
    for (const char* wait : { "event", "busy" }) {
        on_imitated_driver one;
        auto top = gr::make_top_block("fault");
        device_options o;
        o.wait = wait;
        auto from = make<direct_source>();
        auto to = make<device_recorder>(one.fake, o);
        top->connect(from, 0, to, 0);
        from->allowed.reach(1);
        top->start();
        to->launched.wait(1);
        // The first round is all in the stream, and done.
        while (one.fake.calls_of("cuEventRecord") == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        to->synchronize();
        one.fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
        from->allowed.reach(2);
        BOOST_REQUIRE_MESSAGE(ends(top, std::chrono::seconds(20)), "the flowgraph hangs");
        BOOST_TEST(to->launched.now() == 1u);
        BOOST_TEST(has(to->failure(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
        BOOST_TEST(!has(to->failure(), "in a kernel of"));
    }
}

BOOST_FIXTURE_TEST_CASE(a_wrong_wait_is_refused_with_what_is_right, on_imitated_driver)
{
    device_options o;
    o.wait = "spin";
    BOOST_CHECK_EXCEPTION(
        make<device_recorder>(fake, o), config_error, [](const auto& e) {
            return has(e.what(), "wait='spin'") && has(e.what(), "event") &&
                   has(e.what(), "busy");
        });
}

namespace {

template <typename Block, typename Config>
void check_words(const std::string& memory)
{
    Config c;
    c.memory = memory;
    c.wait = "hybrid";
    BOOST_CHECK_EXCEPTION(Block::make(c), config_error, [](const auto& e) {
        return has(e.what(), "wait='hybrid'") && has(e.what(), "use event");
    });
    c.wait = "busy";
    if (memory == "host")
        BOOST_CHECK_EXCEPTION(Block::make(c), config_error, [](const auto& e) {
            return has(e.what(), "wait='busy'") && has(e.what(), "memory='host'");
        });
    else
        Block::make(c);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(blocks_take_wait_as_device_blocks_do, on_imitated_driver)
{
    for (const char* memory : { "auto", "host" }) {
        check_words<convert, convert_config>(memory);
        check_words<spectrometer, spectrometer_config>(memory);
        check_words<to_host, to_host_config>(memory);
    }
}
