/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_RING_CONTRACT_H
#define INCLUDED_RDMA_TESTING_RING_CONTRACT_H

#include "mem/region.h"
#include "mem/ring_cursor.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/*!
 * What every ring_memory has to do, whatever its memory. A ring passes by naming a
 * factory in RDMA_RING_CONTRACT(factory) at file scope:
 *
 *     struct my_rings : ring_shapes {
 *         // A ring of at least min_bytes, a whole number of unit_bytes.
 *         std::shared_ptr<mem::ring_memory> make(std::uint64_t min_bytes,
 *                                                std::uint64_t unit_bytes);
 *         // Store and load bytes at an offset in [0, 2 * bytes), done on return.
 *         void write(mem::ring_memory&, std::uint64_t offset, const void*, std::size_t);
 *         void read(mem::ring_memory&, std::uint64_t offset, void*, std::size_t);
 *         // Whatever must come back to the same number when all rings are gone.
 *         std::vector<long> held();
 *     };
 *
 * Device memory passes the same cases with a read and write that copy. Each case makes
 * its own factory. Sizes are bytes.
 */
namespace gr {
namespace rdma {
namespace testing {

//! The units and the slots that a ring is tried with; a factory whose memory comes in
//! large pages names others, since a ring is a whole number of both.
struct ring_shapes {
    std::vector<std::uint64_t> units{ 1, 2, 3, 4, 8, 20, 4095, 4096, 8192, 100000 };
    std::uint64_t slot_bytes = 1000;
};

//! Bytes that tell their place: the same seed gives the same bytes.
inline std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint32_t seed)
{
    std::vector<std::uint8_t> p(bytes);
    std::uint32_t x = seed * 2654435761u + 1;
    for (auto& b : p) {
        x = x * 1664525u + 1013904223u;
        b = static_cast<std::uint8_t>(x >> 24);
    }
    return p;
}

template <class Factory>
std::vector<std::uint8_t>
load(Factory& factory, mem::ring_memory& ring, std::uint64_t offset, std::size_t bytes)
{
    std::vector<std::uint8_t> p(bytes);
    factory.read(ring, offset, p.data(), bytes);
    return p;
}

template <class Factory>
void store(Factory& factory,
           mem::ring_memory& ring,
           std::uint64_t offset,
           const std::vector<std::uint8_t>& p)
{
    factory.write(ring, offset, p.data(), p.size());
}

template <class Factory>
void length_is_whole_units_and_granules()
{
    Factory factory;
    for (const std::uint64_t unit : factory.units)
        for (const std::uint64_t wanted : { 1, 4096, 65536, 70001, 1 << 20 }) {
            const auto ring = factory.make(wanted, unit);
            const std::uint64_t bytes = ring->first_mapping().bytes;
            BOOST_TEST(bytes >= wanted);
            BOOST_TEST(bytes % unit == 0u);
            BOOST_TEST(bytes % ring->granularity() == 0u);
            BOOST_TEST(bytes - wanted < ring->granularity());
        }
}

template <class Factory>
void description_names_the_memory()
{
    Factory factory;
    const auto ring = factory.make(65536, 8);
    const mem::region r = ring->first_mapping();
    BOOST_TEST(r.address != 0u);
    BOOST_TEST((r.kind == mem::memory_kind::cuda) == (r.device >= 0));
    if (r.host != nullptr)
        BOOST_TEST(r.address == reinterpret_cast<std::uintptr_t>(r.host));
    BOOST_TEST(ring->first_mapping().address == r.address);
}

template <class Factory>
void second_mapping_is_the_same_memory()
{
    Factory factory;
    const auto ring = factory.make(3 * 65536, 12);
    const std::uint64_t bytes = ring->first_mapping().bytes;
    const std::uint64_t step = bytes / 61 + 1;
    for (std::uint64_t at = 0; at + 16 <= bytes; at += step) {
        const auto low = pattern(16, static_cast<std::uint32_t>(at));
        store(factory, *ring, at, low);
        BOOST_REQUIRE(load(factory, *ring, at + bytes, 16) == low);
        const auto high = pattern(16, static_cast<std::uint32_t>(at) + 1);
        store(factory, *ring, at + bytes, high);
        BOOST_REQUIRE(load(factory, *ring, at, 16) == high);
    }
}

template <class Factory>
void span_runs_over_the_end()
{
    Factory factory;
    const auto ring = factory.make(65536, 5);
    const std::uint64_t bytes = ring->first_mapping().bytes;
    for (const std::uint64_t start :
         { std::uint64_t(0), std::uint64_t(1), bytes / 2, bytes - 5, bytes - 1 }) {
        const auto all = pattern(bytes, static_cast<std::uint32_t>(start));
        store(factory, *ring, start, all);
        BOOST_REQUIRE(load(factory, *ring, start, bytes) == all);
        // The part behind the end lies at the front.
        const std::vector<std::uint8_t> wrapped(all.end() - static_cast<long>(start),
                                                all.end());
        BOOST_REQUIRE(load(factory, *ring, 0, start) == wrapped);
    }
}

template <class Factory>
void zero_clears_its_span_and_no_more()
{
    Factory factory;
    const auto ring = factory.make(65536, 4);
    const std::uint64_t bytes = ring->first_mapping().bytes;
    struct {
        std::uint64_t offset, bytes;
    } const spans[] = {
        { 0, 0 },         { 0, 1 },           { 100, 396 },        { 0, bytes },
        { bytes - 8, 8 }, { bytes - 8, 100 }, { bytes - 1, bytes }
    };
    for (const auto& span : spans) {
        auto expected = pattern(bytes, 7);
        store(factory, *ring, 0, expected);
        ring->zero(span.offset, span.bytes);
        for (std::uint64_t i = 0; i < span.bytes; ++i)
            expected[(span.offset + i) % bytes] = 0;
        BOOST_REQUIRE(load(factory, *ring, 0, bytes) == expected);
    }
    BOOST_CHECK_THROW(ring->zero(bytes, 1), config_error);
    BOOST_CHECK_THROW(ring->zero(0, bytes + 1), config_error);
}

template <class Factory>
void rings_are_apart()
{
    Factory factory;
    const auto a = factory.make(65536, 4096);
    const auto b = factory.make(65536, 4096);
    const std::uint64_t bytes = a->first_mapping().bytes;
    const auto in_a = pattern(bytes, 1);
    const auto in_b = pattern(b->first_mapping().bytes, 2);
    store(factory, *a, 0, in_a);
    store(factory, *b, 0, in_b);
    BOOST_TEST((load(factory, *a, bytes, bytes) == in_a));
    BOOST_TEST((load(factory, *b, 0, in_b.size()) == in_b));
}

template <class Factory>
void impossible_sizes_are_refused_with_the_numbers()
{
    Factory factory;
    BOOST_CHECK_THROW(factory.make(65536, 0), config_error);
    // An odd prime and a page have nothing in common.
    BOOST_CHECK_EXCEPTION(
        factory.make(2000006, 1000003), config_error, [](const auto& e) {
            return std::string(e.what()).find("1000003") != std::string::npos;
        });
    BOOST_CHECK_THROW(factory.make(UINT64_MAX, 1), out_of_memory);
    BOOST_CHECK_THROW(factory.make(std::uint64_t(1) << 60, 4096), out_of_memory);
}

template <class Factory>
void a_hundred_rings_leave_nothing_behind()
{
    Factory factory;
    factory.make(65536, 4); // what the process keeps for good, it keeps now
    const std::vector<long> before = factory.held();
    for (int round = 0; round < 100; ++round) {
        const auto ring = factory.make(65536, 4);
        store(factory, *ring, ring->first_mapping().bytes - 2, pattern(4, 1));
    }
    BOOST_TEST(factory.held() == before, boost::test_tools::per_element());
}

//! Two threads, slots in order, through the cursor that the receiver uses.
template <class Factory>
void slots_go_round_between_two_threads()
{
    constexpr std::uint64_t rounds = 7;
    Factory factory;
    const std::uint64_t slot_bytes = factory.slot_bytes;
    const auto ring = factory.make(16 * slot_bytes, slot_bytes);
    const std::uint64_t slots = ring->first_mapping().bytes / slot_bytes;
    const std::uint64_t total = rounds * slots + 3;
    std::atomic<std::uint64_t> produced{ 0 };
    std::atomic<std::uint64_t> consumed{ 0 };
    std::thread producer([&] {
        Factory own;
        mem::ring_cursor cursor(slots);
        while (cursor.tail() < total) {
            const std::uint64_t unread = cursor.tail() - consumed.load();
            if (cursor.claimable(slots - unread) == 0) {
                std::this_thread::yield();
                continue;
            }
            const std::uint64_t slot = cursor.claim();
            store(own,
                  *ring,
                  slot * slot_bytes,
                  pattern(slot_bytes, static_cast<std::uint32_t>(cursor.tail())));
            cursor.retire();
            produced.store(cursor.tail());
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t n = 0; n < total; ++n) {
        while (produced.load() <= n)
            std::this_thread::yield();
        wrong += load(factory, *ring, n % slots * slot_bytes, slot_bytes) !=
                 pattern(slot_bytes, static_cast<std::uint32_t>(n));
        consumed.store(n + 1);
    }
    producer.join();
    BOOST_TEST(wrong == 0u);
}

} // namespace testing
} // namespace rdma
} // namespace gr

//! One Boost.Test case per promise, in a suite called as the factory.
#define RDMA_RING_CASE(factory, promise) \
    BOOST_AUTO_TEST_CASE(promise) { gr::rdma::testing::promise<factory>(); }
#define RDMA_RING_CONTRACT(factory)                                        \
    BOOST_AUTO_TEST_SUITE(factory##_contract)                              \
    RDMA_RING_CASE(factory, length_is_whole_units_and_granules)            \
    RDMA_RING_CASE(factory, description_names_the_memory)                  \
    RDMA_RING_CASE(factory, second_mapping_is_the_same_memory)             \
    RDMA_RING_CASE(factory, span_runs_over_the_end)                        \
    RDMA_RING_CASE(factory, zero_clears_its_span_and_no_more)              \
    RDMA_RING_CASE(factory, rings_are_apart)                               \
    RDMA_RING_CASE(factory, impossible_sizes_are_refused_with_the_numbers) \
    RDMA_RING_CASE(factory, a_hundred_rings_leave_nothing_behind)          \
    RDMA_RING_CASE(factory, slots_go_round_between_two_threads)            \
    BOOST_AUTO_TEST_SUITE_END()

#endif /* INCLUDED_RDMA_TESTING_RING_CONTRACT_H */
