/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/ring_cursor.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <random>

using gr::rdma::mem::ring_cursor;
using gr::rdma::mem::ring_index;

namespace {
// Sizes around powers of two, none of them special to the code.
constexpr std::uint32_t sizes[] = { 1, 2, 3, 5, 7, 8, 9, 1000, 4095, 4096, 4097 };
} // namespace

BOOST_AUTO_TEST_CASE(index_tells_full_from_empty)
{
    for (const std::uint32_t n : sizes) {
        const ring_index index(n);
        for (const std::uint32_t start : { 0u, n - 1, n, 2 * n - 1 }) {
            BOOST_TEST(index.sub(start, start) == 0u);
            const std::uint32_t full = index.add(start, n);
            BOOST_TEST(index.sub(full, start) == n);
            BOOST_TEST(index.offset(full) == index.offset(start));
        }
    }
}

BOOST_AUTO_TEST_CASE(index_agrees_with_wide_arithmetic)
{
    std::mt19937 random(1);
    for (const std::uint32_t n : sizes) {
        const ring_index index(n);
        std::uint64_t written = 0;
        std::uint64_t read = 0;
        std::uint32_t w = 0;
        std::uint32_t r = 0;
        for (int i = 0; i < 1000; ++i) {
            const std::uint32_t in = random() % (n - (written - read) + 1);
            w = index.add(w, in);
            written += in;
            const std::uint32_t out = random() % (written - read + 1);
            r = index.add(r, out);
            read += out;
            BOOST_REQUIRE(w == written % (2 * std::uint64_t(n)));
            BOOST_REQUIRE(index.sub(w, r) == written - read);
            BOOST_REQUIRE(index.offset(w) == written % n);
            BOOST_REQUIRE(index.offset(r) == read % n);
        }
    }
}

BOOST_AUTO_TEST_CASE(index_takes_the_largest_ring)
{
    const std::uint32_t n = static_cast<std::uint32_t>(ring_index::max_size);
    const ring_index index(n);
    BOOST_TEST(index.add(2 * n - 1, 1) == 0u);
    BOOST_TEST(index.add(2 * n - 1, 2 * n - 1) == 2 * n - 2);
    BOOST_TEST(index.sub(0, 1) == 2 * n - 1);
    BOOST_TEST(index.sub(n, 0) == n);
    BOOST_TEST(index.offset(2 * n - 1) == n - 1);
}

BOOST_AUTO_TEST_CASE(index_goes_in_front_of_the_first_item)
{
    // What buffer_add_reader() does for a history of 100 on a fresh ring.
    const ring_index index(4096);
    const std::uint32_t r = index.sub(0, 99);
    BOOST_TEST(index.offset(r) == 4096u - 99);
    BOOST_TEST(index.sub(0, r) == 99u);
}

BOOST_AUTO_TEST_CASE(cursor_claims_and_retires_in_order)
{
    for (const std::uint64_t slots : { 1, 2, 3, 5, 16, 1000 }) {
        ring_cursor cursor(slots);
        std::mt19937 random(2);
        std::deque<std::uint64_t> model;
        std::uint64_t claimed = 0;
        std::uint64_t retired = 0;
        for (int i = 0; i < 5000; ++i) {
            if (random() % 2 != 0 && !cursor.full()) {
                BOOST_REQUIRE(cursor.head_slot() == claimed % slots);
                model.push_back(cursor.claim());
                BOOST_REQUIRE(model.back() == claimed % slots);
                ++claimed;
            } else if (!cursor.empty()) {
                BOOST_REQUIRE(cursor.tail_slot() == model.front());
                BOOST_REQUIRE(cursor.retire() == model.front());
                model.pop_front();
                ++retired;
            }
            BOOST_REQUIRE(cursor.head() == claimed);
            BOOST_REQUIRE(cursor.tail() == retired);
            BOOST_REQUIRE(cursor.outstanding() == model.size());
            BOOST_REQUIRE(cursor.full() == (model.size() == slots));
            BOOST_REQUIRE(cursor.empty() == model.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(cursor_never_claims_what_a_reader_holds)
{
    ring_cursor cursor(5);
    BOOST_TEST(cursor.claimable(5) == 5u);
    BOOST_TEST(cursor.claimable(99) == 5u);
    BOOST_TEST(cursor.claimable(3) == 3u);
    BOOST_TEST(cursor.claimable(0) == 0u);
    for (int i = 0; i < 3; ++i)
        cursor.claim();
    BOOST_TEST(cursor.claimable(5) == 2u);
    BOOST_TEST(cursor.claimable(3) == 0u);
    BOOST_TEST(cursor.claimable(1) == 0u);
    cursor.retire(); // its reader has it now: one free slot less, one outstanding less
    BOOST_TEST(cursor.claimable(4) == 2u);
}

BOOST_AUTO_TEST_CASE(cursor_starts_again_anywhere)
{
    ring_cursor cursor(3);
    cursor.claim();
    cursor.claim();
    cursor.reset(2);
    BOOST_TEST(cursor.empty());
    BOOST_TEST(cursor.head() == 0u);
    BOOST_TEST(cursor.claim() == 2u);
    BOOST_TEST(cursor.claim() == 0u);
    BOOST_TEST(cursor.retire() == 2u);
    BOOST_TEST(cursor.tail_slot() == 0u);
}
