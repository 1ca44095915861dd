/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "qa_spectrometer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

BOOST_AUTO_TEST_CASE(a_gap_restarts_the_series_at_its_very_item)
{
    for (std::size_t cut : { 1u, 31u, 32u, 33u, 200u, 257u })
        for (std::size_t vlen : { 1u, 4u }) {
            auto c = make_config();
            c.average = 2;
            c.overlap = 8;
            c.vlen = vlen;
            const auto a = noise(cut * vlen, 1);
            const auto b = noise(400, 2);
            const auto got = run(c, a + b, { gap_tag(cut) });
            const auto first = run(c, a).spectra;
            auto want = first;
            const auto second = run(c, b).spectra;
            want.insert(want.end(), second.begin(), second.end());
            BOOST_TEST((got.spectra == want));
            BOOST_TEST((got.at("rx_gap") == offsets{ first.size() / length }));
        }
}

BOOST_AUTO_TEST_CASE(a_gap_on_an_item_of_many_vectors_restarts_once)
{
    auto c = make_config();
    c.vlen = 512;
    const auto in = noise(4 * 512);
    const tags marks = { gap_tag(1), gap_tag(2) };
    const auto whole = run(c, in, marks);
    BOOST_TEST(whole.produced == 4u * 16);
    for (std::size_t piece : { 1u, 2u }) {
        const auto got = run(c, in, marks, piece, 1);
        BOOST_TEST((got.spectra == whole.spectra));
        BOOST_TEST((got.at("rx_gap") == offsets{ 16, 32 }));
    }
}

BOOST_AUTO_TEST_CASE(what_a_gap_cuts_is_counted)
{
    auto c = make_config();
    c.average = 2;
    const auto got = run(c, noise(500), { gap_tag(100), gap_tag(110) });
    BOOST_TEST(got.produced == (1u + 0 + 6));
    BOOST_TEST(got.samples_dropped == (36u + 10));
    BOOST_TEST(got.frames_dropped == (2u + 1));
    BOOST_TEST((got.at("rx_gap") == offsets{ 1 }));
}

BOOST_AUTO_TEST_CASE(padding_behind_a_short_message_is_left_out)
{
    // Slots of 100 items: full, short by 70, short by all, full, full without any tag.
    const auto data = noise(500);
    const auto cut = [&](std::size_t from, std::size_t to) {
        return bytes(data.begin() + 2 * from, data.begin() + 2 * to);
    };
    const auto length_tag = [](std::uint64_t offset, long items) {
        return make_tag(offset, "packet_len", pmt::from_long(items));
    };
    const bytes in = cut(0, 130) + bytes(2 * 70, 0) + bytes(2 * 100, 0) + cut(130, 430);
    const tags marks = { length_tag(100, 30), length_tag(200, 0), length_tag(300, 100) };
    auto c = make_config();
    c.average = 3; // averages span the messages
    const auto want = run(c, cut(0, 430)).spectra;
    BOOST_REQUIRE_EQUAL(want.size(), 4 * length);
    for (std::size_t piece : { 0u, 1u, 7u, 130u }) {
        const auto got = run(c, in, marks, piece);
        BOOST_TEST((got.spectra == want));
        BOOST_TEST(got.samples_dropped == 0u);
    }
    // The mark behind the padding may be another.
    const auto buffer = make_tag(400, "rx_buffer", pmt::make_dict());
    const bytes short_last = cut(0, 330) + bytes(2 * 70, 0) + cut(330, 430);
    BOOST_TEST((run(c, short_last, { length_tag(300, 30), buffer }).spectra == want));
}

BOOST_AUTO_TEST_CASE(a_gap_ends_padding)
{
    auto c = make_config();
    const auto a = noise(100, 1);
    const auto b = noise(100, 2);
    auto want = run(c, a).spectra;
    const auto second = run(c, b).spectra;
    want.insert(want.end(), second.begin(), second.end());
    const tags marks = { make_tag(0, "packet_len", pmt::from_uint64(100)), gap_tag(150) };
    const auto got = run(c, a + bytes(100, 0) + b, marks);
    BOOST_TEST((got.spectra == want));
    BOOST_TEST(got.samples_dropped == 4u);
}

BOOST_AUTO_TEST_CASE(packets_without_padding_are_one_stream)
{
    const auto in = noise(300);
    tags marks;
    std::uint64_t offset = 0;
    for (long items : { 50, 7, 43, 100, 100 }) {
        marks.push_back(make_tag(offset, "packet_len", pmt::from_long(items)));
        offset += items;
    }
    BOOST_TEST((run(make_config(), in, marks).spectra == run(make_config(), in).spectra));
}

BOOST_AUTO_TEST_CASE(each_vector_states_its_time)
{
    auto c = make_config();
    c.average = 200; // 4800 samples to the next vector
    c.overlap = 8;
    const auto rate = make_tag(0, "rx_rate", pmt::from_double(1e6));
    const auto in = noise(50000);
    const auto got = run(c, in, { time_tag(0, 1000, 0.25), rate });
    BOOST_REQUIRE_EQUAL(got.produced, 10u);
    for (std::uint64_t v = 0; v < 10; ++v)
        BOOST_TEST(std::abs(got.time(v) - (1000.25 + 4800e-6 * double(v))) < 1e-9);
    // Stated amid vector 3: holds from vector 4 on.
    const auto again =
        run(c, in, { time_tag(0, 1000, 0.25), rate, time_tag(16000, 2000, 0) });
    BOOST_TEST(std::abs(again.time(3) - (1000.25 + 3 * 4800e-6)) < 1e-9);
    BOOST_TEST(std::abs(again.time(4) - (2000 + 3200e-6)) < 1e-9);
}

BOOST_AUTO_TEST_CASE(short_vectors_state_every_so_many_times)
{
    const auto c = make_config();
    const auto rate = make_tag(0, "rx_rate", pmt::from_double(1e6));
    const auto got =
        run(c, noise(32 * 300), { time_tag(0, 1, 0), rate, time_tag(32 * 20 + 1, 2, 0) });
    // 128 vectors of 32 samples are 4096; a new time is stated at once.
    BOOST_TEST((got.at("rx_time") == offsets{ 0, 21, 149, 277 }));
    BOOST_TEST(std::abs(got.time(149) - (2 + (128 * 32 + 31) * 1e-6)) < 1e-9);
}

BOOST_AUTO_TEST_CASE(time_needs_a_rate_and_is_lost_at_a_gap)
{
    auto c = make_config();
    c.average = 200;
    const auto in = noise(6400 * 4);
    BOOST_TEST((run(c, in, { time_tag(0, 1, 0) }).at("rx_time") == offsets{ 0 }));
    BOOST_TEST((run(c, in, { time_tag(1, 1, 0) }).at("rx_time") == offsets{}));
    c.rate = 6400;
    auto got = run(c, in, { time_tag(1, 1, 0) });
    BOOST_TEST((got.at("rx_time") == offsets{ 1, 2, 3 }));
    BOOST_TEST(std::abs(got.time(1) - (1 + 6399. / 6400)) < 1e-9);
    got = run(c, in, { time_tag(0, 1, 0), gap_tag(6400) });
    BOOST_TEST((got.at("rx_time") == offsets{ 0 }));
    got = run(c, in, { time_tag(0, 1, 0), time_tag(6500, 9, 0.5), gap_tag(6500) });
    BOOST_TEST((got.at("rx_time") == offsets{ 0, 1, 2 }));
    BOOST_TEST(got.time(1) == 9.5);
}

BOOST_AUTO_TEST_CASE(rate_and_frequency_stand_on_the_vector_of_their_sample)
{
    auto c = make_config();
    c.average = 2; // 64 samples a vector
    const auto freq = [](std::uint64_t offset, double hz) {
        return make_tag(offset, "rx_freq", pmt::from_double(hz));
    };
    const auto rate = [](std::uint64_t offset, double hz) {
        return make_tag(offset, "rx_rate", pmt::from_double(hz));
    };
    const auto got = run(c,
                         noise(640),
                         { freq(0, 1e9),
                           rate(0, 640),
                           freq(70, 1e9), // no change
                           freq(127, 2e9),
                           freq(128, 3e9),
                           freq(191, 4e9), // with the one before in vector 2
                           rate(255, 6400) });
    BOOST_TEST((got.at("rx_freq") == offsets{ 0, 1, 2 }));
    BOOST_TEST(pmt::to_double(got.value("rx_freq", 1)) == 2e9);
    BOOST_TEST(pmt::to_double(got.value("rx_freq", 2)) == 4e9);
    BOOST_TEST((got.at("rx_rate") == offsets{ 0, 3 }));
    BOOST_TEST(pmt::to_double(got.value("rx_rate", 0)) == 10);
    BOOST_TEST(pmt::to_double(got.value("rx_rate", 3)) == 100);
    // Of a vector that a gap cuts, they move to the next that comes.
    const auto cut = run(c, noise(640), { freq(70, 5e9), gap_tag(100) });
    BOOST_TEST((cut.at("rx_freq") == offsets{ 1 }));
    // From the parameter, where the stream says nothing.
    c.rate = 128;
    BOOST_TEST(pmt::to_double(run(c, noise(64)).value("rx_rate", 0)) == 2);
}

BOOST_AUTO_TEST_CASE(other_tags_stop_here_and_broken_ones_do_no_harm)
{
    const auto junk = pmt::mp("junk");
    const auto in = noise(320);
    tags marks = { make_tag(3, "rx_time", junk),
                   make_tag(4, "rx_time", pmt::make_tuple(junk, junk)),
                   make_tag(
                       4, "rx_time", pmt::make_tuple(pmt::from_long(-1), pmt::mp(0.5))),
                   make_tag(5, "rx_rate", junk),
                   make_tag(5, "rx_rate", pmt::from_double(-1)),
                   make_tag(5, "rx_rate", pmt::from_double(NAN)),
                   make_tag(6, "packet_len", junk),
                   make_tag(7, "packet_len", pmt::from_long(-5)),
                   make_tag(8, "rx_buffer", junk),
                   make_tag(9, "burst", pmt::PMT_T) };
    const auto got = run(make_config(), in, marks);
    BOOST_TEST((got.spectra == run(make_config(), in).spectra));
    BOOST_TEST(got.out_tags.empty());
}
