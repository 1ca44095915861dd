/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/padding.h"
#include "dsp/sample_clock.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace gr::rdma::dsp;

namespace {

struct answer {
    bool known;
    stream_time time;
    bool fresh;
};

answer ask(sample_clock& clock, std::uint64_t sample)
{
    answer a{};
    a.known = clock.time_at(sample, a.time, a.fresh);
    return a;
}

} // namespace

BOOST_AUTO_TEST_CASE(time_is_unknown_until_it_is_stated)
{
    sample_clock clock(10);
    clock.set_rate(0, 1000);
    BOOST_TEST(!ask(clock, 0).known);
    clock.set_time(5, { 7, 0.5 });
    BOOST_TEST(!ask(clock, 0).known);
    const auto a = ask(clock, 10);
    BOOST_TEST(a.known);
    BOOST_TEST(a.fresh);
    BOOST_TEST(a.time.seconds == 7u);
    BOOST_TEST(a.time.fraction == 0.505, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(!ask(clock, 20).fresh);
}

BOOST_AUTO_TEST_CASE(without_a_rate_only_the_stated_sample_has_a_time)
{
    sample_clock clock(10);
    clock.set_time(0, { 7, 0.5 });
    BOOST_TEST(ask(clock, 0).known);
    BOOST_TEST(!ask(clock, 10).known);
}

BOOST_AUTO_TEST_CASE(seconds_carry_and_hours_keep_nanoseconds)
{
    sample_clock clock(1);
    clock.set_rate(0, 3e9);
    clock.set_time(0, { 1700000000, 0.75 });
    const std::uint64_t hours = 3000000000ULL * 36000 + 2250000000ULL + 3;
    const auto a = ask(clock, hours);
    BOOST_TEST(a.time.seconds == 1700000000ULL + 36001);
    BOOST_TEST(std::abs(a.time.fraction - (0.5 + 1e-9)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_rate_change_bends_the_time_line)
{
    sample_clock clock(100);
    clock.set_rate(0, 100);
    clock.set_time(0, { 0, 0 });
    clock.set_rate(150, 50);
    BOOST_TEST(ask(clock, 100).time.seconds == 1u);
    const auto a = ask(clock, 200); // 1.5 s, then 50 samples at 50/s
    BOOST_TEST(a.time.seconds == 2u);
    BOOST_TEST(a.time.fraction == 0.5);
    BOOST_TEST(!a.fresh);
}

BOOST_AUTO_TEST_CASE(later_statements_do_not_reach_back)
{
    sample_clock clock(10);
    clock.set_rate(0, 10);
    for (std::uint64_t s = 0; s < 100; s += 5)
        clock.set_time(s, { 1000 + s, 0 });
    for (std::uint64_t s = 0; s < 100; s += 10) {
        const auto a = ask(clock, s);
        BOOST_TEST(a.time.seconds == 1000 + s);
        BOOST_TEST(a.fresh);
    }
}

BOOST_AUTO_TEST_CASE(restart_forgets_the_time_and_keeps_the_rate)
{
    sample_clock clock(10);
    clock.set_rate(0, 10);
    clock.set_time(0, { 5, 0 });
    clock.restart();
    BOOST_TEST(!ask(clock, 0).known);
    BOOST_TEST(clock.rate() == 10);
}

BOOST_AUTO_TEST_CASE(padding_runs_to_the_next_mark)
{
    padding p;
    BOOST_TEST(p.begin() == padding::none);
    p.mark(0); // full, no length stated
    BOOST_TEST(p.begin() == padding::none);
    p.mark(100, 30);
    BOOST_TEST(p.begin() == 130u);
    p.mark(200, 100); // as long as the slot: full, and the next may lack its tags
    BOOST_TEST(p.begin() == padding::none);
    p.mark(900, 0);
    BOOST_TEST(p.begin() == 900u);
    p.mark(1000, 99);
    BOOST_TEST(p.begin() == 1099u);
    p.mark(1100); // a gap, say
    BOOST_TEST(p.begin() == padding::none);
}

BOOST_AUTO_TEST_CASE(the_last_short_message_tells_the_slot)
{
    padding p;
    p.mark(0, 50);
    p.mark(100, 30);
    p.mark(300, 150); // the slot is 200 by now
    BOOST_TEST(p.begin() == 450u);
}

BOOST_AUTO_TEST_CASE(packets_without_padding_lose_nothing)
{
    padding p;
    std::uint64_t offset = 0;
    for (std::uint64_t items : { 10u, 5u, 20u, 20u, 1u, 7u }) {
        p.mark(offset, items);
        offset += items;
        BOOST_TEST(p.begin() >= offset);
    }
}

BOOST_AUTO_TEST_CASE(an_absurd_length_pads_nothing)
{
    padding p;
    p.mark(100, padding::none - 50);
    BOOST_TEST(p.begin() == padding::none);
}
