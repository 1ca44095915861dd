/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/bench_kernels.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "testing/needs_gpu.h"
#include "testing/shared_gpu.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <cuda_runtime_api.h>
#include <string>
#include <thread>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::cuda;

using gr::rdma::testing::needs_gpu;

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

BOOST_AUTO_TEST_CASE(a_kernel_of_this_build_runs)
{
    try_kernel(0); // what it throws is printed
    const device_info info = describe_device(0);
    BOOST_TEST_MESSAGE(info.name << " at " << info.pci << ", sm_" << info.capability);
    BOOST_TEST(!info.name.empty());
    BOOST_TEST(info.pci.find(':') != std::string::npos);
    BOOST_TEST(info.capability >= 50);
    BOOST_TEST(info.bytes > std::size_t(1) << 28);
    const machine_facts facts = current_facts();
    BOOST_TEST(facts.capability == info.capability);
    BOOST_TEST(facts.driver_version >= 11000);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_refused)
{
    for (int device : { -1, device_count() })
        BOOST_CHECK_EXCEPTION(use_device(device), cuda_error, [](const cuda_error& e) {
            return e.code() == cudaErrorInvalidDevice &&
                   std::string(e.what()).find("nvidia-smi -L") != std::string::npos;
        });
    // Nothing stays behind for the next call of this thread.
    BOOST_TEST(cudaPeekAtLastError() == cudaSuccess);
    BOOST_CHECK_THROW(stream{ device_count() }, cuda_error);
}

BOOST_AUTO_TEST_CASE(a_guard_leaves_the_thread_as_it_was)
{
    // Of a thread that has used no device, no device becomes current.
    std::thread([] {
        {
            const device_guard guard(device_count() - 1);
            int device = -1;
            BOOST_TEST(cudaGetDevice(&device) == cudaSuccess);
            BOOST_TEST(device == device_count() - 1);
        }
        use_device(0);
        {
            const device_guard guard(device_count() - 1);
        }
        int device = -1;
        BOOST_TEST(cudaGetDevice(&device) == cudaSuccess);
        BOOST_TEST(device == 0);
    }).join();
}

BOOST_AUTO_TEST_CASE(copies_run_in_the_order_of_their_stream)
{
    constexpr std::size_t bytes = 32 << 20;
    use_device(0);
    stream first(0), second(0);
    const device_memory device(0, bytes);
    const pinned_memory up(0, bytes), down(0, bytes);
    std::memset(up.data(), 0x5a, bytes);
    std::memset(down.data(), 0, bytes);
    const event copied(0), fetched(0, event::blocking);
    BOOST_TEST((copied.query() == event_state::done)); // nothing recorded
    BOOST_REQUIRE_EQUAL(copy_async(device.data(), up.data(), bytes, first.ref()), 0);
    BOOST_REQUIRE_EQUAL(first.ref().record(copied), 0);
    BOOST_REQUIRE_EQUAL(second.ref().wait_for(copied), 0);
    BOOST_REQUIRE_EQUAL(copy_async(down.data(), device.data(), bytes, second.ref()), 0);
    BOOST_REQUIRE_EQUAL(second.ref().record(fetched), 0);
    BOOST_REQUIRE_EQUAL(fetched.wait(), 0);
    BOOST_TEST((fetched.query() == event_state::done));
    BOOST_TEST((copied.query() == event_state::done));
    BOOST_TEST(std::memcmp(up.data(), down.data(), bytes) == 0);
}

BOOST_AUTO_TEST_CASE(timing_events_measure)
{
    stream work(0);
    const device_memory a(0, 64 << 20), b(0, 64 << 20);
    const event begin(0, event::timing), end(0, event::timing), plain(0);
    BOOST_REQUIRE_EQUAL(work.ref().record(begin), 0);
    BOOST_REQUIRE_EQUAL(copy_async(b.data(), a.data(), a.bytes(), work.ref()), 0);
    BOOST_REQUIRE_EQUAL(work.ref().record(end), 0);
    BOOST_REQUIRE_EQUAL(end.wait(), 0);
    BOOST_TEST(end.elapsed_ms(begin) > 0);
    BOOST_TEST(plain.elapsed_ms(begin) < 0);
    BOOST_TEST(cudaPeekAtLastError() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(more_memory_than_there_is_is_refused_in_words)
{
    const std::size_t bytes = 4 * describe_device(0).bytes;
    BOOST_CHECK_EXCEPTION(
        device_memory(0, bytes), out_of_memory, [](const out_of_memory& e) {
            return std::string(e.what()).find("memory of GPU 0") != std::string::npos;
        });
    BOOST_TEST(cudaPeekAtLastError() == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(read_all_reads_each_word_once)
{
    stream work(0);
    for (std::size_t n : { 4u, 8u, 4096u, 4100u, 1u << 20 }) {
        std::vector<std::uint32_t> words(n);
        std::uint32_t want = 5;
        for (std::size_t i = 0; i < n; ++i) {
            words[i] = static_cast<std::uint32_t>(i * 2654435761u + n);
            want ^= words[i];
        }
        const device_memory data(0, n * 4), sum(0, 4);
        std::uint32_t got = 5; // what is there stays in the sum
        const auto s = work.ref();
        BOOST_REQUIRE_EQUAL(copy_async(data.data(), words.data(), n * 4, s), 0);
        BOOST_REQUIRE_EQUAL(copy_async(sum.data(), &got, 4, s), 0);
        BOOST_REQUIRE_EQUAL(
            launch_read_all({ data.as<std::uint32_t>(), n }, sum.as<std::uint32_t>(), s),
            0);
        BOOST_REQUIRE_EQUAL(copy_async(&got, sum.data(), 4, s), 0);
        BOOST_REQUIRE_EQUAL(s.wait(), 0);
        BOOST_TEST(got == want);
        BOOST_TEST(launch_read_all({ data.as<std::uint32_t>(), 3 },
                                   sum.as<std::uint32_t>(),
                                   s) == cudaErrorInvalidValue);
    }
}

BOOST_AUTO_TEST_CASE(objects_move_and_leave_memory_level)
{
    const auto free_bytes = [] {
        std::size_t free = 0, total = 0;
        BOOST_REQUIRE_EQUAL(cudaMemGetInfo(&free, &total), cudaSuccess);
        return free;
    };
    use_device(0);
    const auto round = [] {
        stream work(0);
        std::vector<device_memory> kept;
        kept.emplace_back(0, 8 << 20);
        kept.emplace_back(0, 8 << 20); // moves the first
        std::vector<event> events;
        for (int i = 0; i < 10; ++i)
            events.emplace_back(0);
        const pinned_memory host(0, 8 << 20);
        BOOST_REQUIRE_EQUAL(
            copy_async(host.data(), kept[0].data(), host.bytes(), work.ref()), 0);
        BOOST_REQUIRE_EQUAL(work.ref().wait(), 0);
    };
    for (int i = 0; i < 3; ++i)
        round();
    const auto before = free_bytes();
    for (int i = 0; i < 100; ++i)
        round();
    BOOST_TEST((free_bytes() == before || testing::gpu_is_shared()));
}
