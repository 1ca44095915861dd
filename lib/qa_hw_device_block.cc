/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Device blocks, the release rule and the staged source on the machine's GPU.
#include "mem/gpu.h"
#include "qa_source.h"
#include "testing/pattern_kernels.h"
#include "testing/process_resources.h"
#include "testing/skip.h"

#include <gnuradio/rdma/device_block.h>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <future>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

struct needs_gpu {
    needs_gpu()
    {
        if (!mem::has_cuda())
            skip("gpu", mem::state_of_gpus().reason);
        std::setvbuf(stdout, nullptr, _IOLBF, 0); // a hang shows where
    }
};

const auto on_ring = std::cref<const gr::buffer_type_base>(ring_buffer::type);

class pattern_source : public device_block
{
public:
    explicit pattern_source(std::uint64_t total)
        : gr::block("pattern_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(1, 1, 4, on_ring)),
          d_total(total)
    {
    }
    int device_work(int room,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star& out) override
    {
        if (d_n == d_total)
            return WORK_DONE;
        const auto n =
            std::min<std::uint64_t>(static_cast<std::uint64_t>(room), d_total - d_n);
        check(launch_pattern(static_cast<std::uint32_t*>(out[0]), d_n, n, stream()),
              "launch_pattern");
        d_n += n;
        return static_cast<int>(n);
    }

private:
    const std::uint64_t d_total;
    std::uint64_t d_n = 0;
};

// Counts what differs from the pattern, on the GPU. Reads each span twice if it is slow,
// and stalls on the CPU now and then.
class pattern_check : public device_block
{
public:
    explicit pattern_check(bool slow,
                           std::uint64_t fault_at = UINT64_MAX,
                           const std::string& wait = "event")
        : gr::block("pattern_check",
                    gr::io_signature::make(1, 1, 4, on_ring),
                    gr::io_signature::make(0, 0, 0, on_ring)),
          device_block("auto", wait),
          d_slow(slow),
          d_fault_at(fault_at)
    {
    }
    bool start() override
    {
        const bool started = device_block::start();
        d_wrong = make_count();
        return started;
    }
    bool stop() override
    {
        if (d_wrong)
            wrong = take_count(d_wrong, stream());
        d_wrong = nullptr;
        return device_block::stop();
    }
    int device_work(int n,
                    gr_vector_int&,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star&) override
    {
        if (d_slow && d_random() % 50 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(d_random() % 3000));
        check(launch_check(static_cast<const std::uint32_t*>(in[0]),
                           items,
                           static_cast<std::uint64_t>(n),
                           d_slow ? 2 : 1,
                           100000,
                           d_wrong,
                           stream()),
              "launch_check");
        items += static_cast<std::uint64_t>(n);
        if (items >= d_fault_at)
            check(launch_fault(stream()), "launch_fault");
        consume_each(n);
        return 0;
    }

    std::atomic<std::uint64_t> items{ 0 };
    unsigned long long wrong = ~0ULL;

private:
    const bool d_slow;
    const std::uint64_t d_fault_at;
    std::minstd_rand d_random;
    unsigned long long* d_wrong = nullptr;
};

// The same on the CPU, and the pattern from the CPU.
class host_check : public gr::sync_block
{
public:
    host_check()
        : gr::sync_block("host_check",
                         gr::io_signature::make(1, 1, 4),
                         gr::io_signature::make(0, 0, 0))
    {
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        const auto* from = static_cast<const std::uint32_t*>(in[0]);
        for (int i = 0; i < n; ++i)
            wrong += from[i] != pattern_item(items++);
        return n;
    }
    std::atomic<std::uint64_t> items{ 0 };
    std::uint64_t wrong = 0;
};

class host_source : public gr::sync_block
{
public:
    explicit host_source(std::uint64_t total)
        : gr::sync_block("host_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, 4)),
          d_total(total)
    {
    }
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        if (d_n == d_total)
            return WORK_DONE;
        const auto n =
            std::min<std::uint64_t>(static_cast<std::uint64_t>(room), d_total - d_n);
        for (std::uint64_t i = 0; i < n; ++i)
            static_cast<std::uint32_t*>(out[0])[i] = pattern_item(d_n++);
        return static_cast<int>(n);
    }

private:
    const std::uint64_t d_total;
    std::uint64_t d_n = 0;
};

template <typename Block, typename... Arguments>
std::shared_ptr<Block> make(Arguments&&... arguments)
{
    return gnuradio::make_block_sptr<Block>(std::forward<Arguments>(arguments)...);
}

void run(const gr::top_block_sptr& top)
{
    const auto begin = std::chrono::steady_clock::now();
    top->start();
    auto ended = std::async(std::launch::async, [&] { top->wait(); });
    if (ended.wait_for(std::chrono::seconds(50)) != std::future_status::ready) {
        top->stop();
        BOOST_FAIL("the flowgraph hangs");
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %.3f s\n", top->name().c_str(), took.count());
}

constexpr std::uint64_t many = 1ULL << 28; // items: 1 GiB

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
        auto fast = make<pattern_check>(false, UINT64_MAX, "busy");
        auto slow = make<pattern_check>(true, UINT64_MAX, "busy");
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
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
    std::uint64_t free = 0;
    long descriptors = 0;
    long threads = 0;
    for (int round = 0; round < 100; ++round) {
        {
            auto top = gr::make_top_block("round");
            auto from = make<pattern_source>(10000);
            top->connect(from, 0, make<pattern_check>(false), 0);
            top->connect(from, 0, make<host_check>(), 0);
            top->start();
            top->wait();
        }
        if (round == 2) {
            free = gpu->free_bytes();
            descriptors = count_descriptors();
            threads = count_threads();
        }
    }
    BOOST_TEST(gpu->free_bytes() == free);
    BOOST_TEST(count_descriptors() == descriptors);
    BOOST_TEST(count_threads_down_to(threads) <= threads);
}

// Last: the GPU is of no more use to this process.
BOOST_AUTO_TEST_CASE(zz_a_fault_in_a_kernel_ends_the_flowgraph_with_a_name)
{
    auto top = gr::make_top_block("fault");
    auto from = make<pattern_source>(UINT64_MAX);
    auto to = make<pattern_check>(false, 1000000);
    top->connect(from, 0, to, 0);
    run(top);
    std::printf("%s\n%s\n", from->failure().c_str(), to->failure().c_str());
    BOOST_TEST((from->failure() + to->failure()).find("pattern_") != std::string::npos);
    BOOST_TEST((from->failure() + to->failure()).find("CUDA_ERROR") != std::string::npos);
}
