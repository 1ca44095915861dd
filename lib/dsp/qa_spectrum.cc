/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/qa_spectrum_reference.h"
#include "dsp/spectrum.h"

#include <gnuradio/rdma/error.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <random>

using namespace gr::rdma;
using namespace gr::rdma::dsp;

namespace {

std::mutex& planner()
{
    static std::mutex mutex;
    return mutex;
}

std::vector<float> run(spectrum& s,
                       const spectrum_config& c,
                       const std::vector<std::uint8_t>& bytes,
                       const std::function<std::size_t()>& chunk,
                       std::size_t room = 1000)
{
    const std::size_t sample_bytes = core::sample_bytes(c.sample);
    const std::size_t samples = bytes.size() / sample_bytes;
    std::vector<float> out, part(room * c.length);
    for (std::size_t pos = 0; pos < samples;) {
        const std::size_t n = std::min(chunk(), samples - pos);
        // A copy of its own size: a sanitizer sees a read past its end.
        const auto* const first = bytes.data() + pos * sample_bytes;
        const std::vector<std::uint8_t> piece(first, first + n * sample_bytes);
        const auto done = s.process(piece.data(), n, part.data(), room);
        out.insert(out.end(), part.begin(), part.begin() + done.produced * c.length);
        BOOST_REQUIRE(done.consumed <= n);
        BOOST_REQUIRE(done.consumed + done.produced > 0);
        pos += done.consumed;
    }
    return out;
}

std::size_t all() { return std::size_t(-1); }

std::vector<float> run_whole(const spectrum_config& c,
                             const std::vector<std::uint8_t>& bytes)
{
    return run(*make_host_spectrum(c, planner()), c, bytes, all);
}

/*
 * Error relative to the bin, or to the mean of all bins times \p floor where that is
 * more. A single-precision transform leaves some 3e-7 of the root mean square in every
 * bin, so bins that one transform leaves nearly empty (noise does) are held to the mean:
 * floor 1. Averaging fills them: floor 0.
 */
double worst_error(const std::vector<float>& got,
                   const std::vector<double>& want,
                   std::size_t n,
                   double floor)
{
    BOOST_REQUIRE_EQUAL(got.size(), want.size());
    BOOST_REQUIRE(!got.empty());
    double worst = 0;
    for (std::size_t v = 0; v < got.size(); v += n) {
        double mean = 0;
        for (std::size_t k = 0; k < n; ++k)
            mean += want[v + k] / static_cast<double>(n);
        for (std::size_t k = v; k < v + n; ++k)
            worst = std::max(
                worst, std::abs(got[k] - want[k]) / std::max(want[k], floor * mean));
    }
    return worst;
}

void check(const spectrum_config& c, std::size_t samples)
{
    const auto bytes = make_samples(c.sample, samples);
    const double worst =
        worst_error(run_whole(c, bytes), reference(c, bytes), c.length, c.average < 16);
    BOOST_TEST_MESSAGE(core::to_string(c.sample) << " length " << c.length << " average "
                                                 << c.average << ": " << worst);
    BOOST_TEST(worst < 1e-5);
}

} // namespace

BOOST_AUTO_TEST_CASE(reference_transform_is_the_definition)
{
    std::vector<complex> x(32);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = { std::sin(3.0 * static_cast<double>(i)), static_cast<double>(i % 7) };
    const auto fast = reference_dft(x);
    for (std::size_t k = 0; k < x.size(); ++k) {
        complex sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            sum += x[i] * std::polar(1.0, -2 * pi * static_cast<double>(i * k) / 32);
        BOOST_TEST(std::abs(sum - fast[k]) < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(every_length_agrees_with_double_precision)
{
    for (std::size_t length = 16; length <= 65536; length *= 2)
        check(make_config(sample_type::sc16, length), 2 * length + 3);
}

BOOST_AUTO_TEST_CASE(every_type_agrees_with_double_precision)
{
    for (std::size_t length : { 16u, 32u, 64u, 256u, 1024u, 4096u, 65536u })
        for (sample_type type : all_types)
            check(make_config(type, length), 2 * length + 3);
}

BOOST_AUTO_TEST_CASE(averages_agree_at_each_count)
{
    for (unsigned average : { 1u, 3u, 16u, 17u, 1000u })
        for (sample_type type : { sample_type::sc16, sample_type::byte }) {
            auto c = make_config(type, 64);
            c.average = average;
            check(c, 64 * average * 2 + 5);
        }
}

BOOST_AUTO_TEST_CASE(overlaps_agree)
{
    for (std::size_t overlap : { 0u, 128u, 255u, 77u, 1u })
        for (unsigned average : { 1u, 5u }) {
            auto c = make_config(sample_type::sc16, 256);
            c.overlap = overlap;
            c.average = average;
            check(c, 2000);
        }
}

BOOST_AUTO_TEST_CASE(density_and_unshifted_order_agree)
{
    for (sample_type type : { sample_type::fc32, sample_type::byte }) {
        auto c = make_config(type, 512);
        c.fftshift = false;
        check(c, 2000);
        c.scale = scaling::density;
        c.rate = 2.4e6;
        check(c, 2000);
        c.fftshift = true;
        check(c, 2000);
    }
}

BOOST_AUTO_TEST_CASE(a_full_scale_tone_reads_one_in_its_bin)
{
    auto c = make_config(sample_type::fc32, 64);
    c.window.assign(64, 1);
    std::vector<float> tone(128);
    for (std::size_t i = 0; i < 64; ++i) {
        const double phase = 2 * pi * 5 * static_cast<double>(i) / 64;
        tone[2 * i] = static_cast<float>(std::cos(phase));
        tone[2 * i + 1] = static_cast<float>(std::sin(phase));
    }
    std::vector<float> out(64);
    const auto s = make_host_spectrum(c, planner());
    const auto done = s->process(tone.data(), 64, out.data(), 1);
    BOOST_TEST(done.produced == 1u);
    BOOST_TEST(std::abs(out[32 + 5] - 1) < 1e-6);
    BOOST_TEST(out[32 - 5] < 1e-10);
}

BOOST_AUTO_TEST_CASE(a_million_transforms_keep_the_precision)
{
    // The same frame over and over: its average is itself.
    auto c = make_config(sample_type::sc16, 16);
    c.average = 1000000;
    const auto frame = make_samples(c.sample, 16);
    std::vector<std::uint8_t> block;
    for (int i = 0; i < 1000; ++i)
        block.insert(block.end(), frame.begin(), frame.end());
    const auto s = make_host_spectrum(c, planner());
    std::vector<float> out(16);
    std::size_t produced = 0;
    for (int i = 0; i < 1000; ++i)
        produced += s->process(block.data(), 16000, out.data(), 1).produced;
    BOOST_TEST(produced == 1u);
    c.average = 1;
    BOOST_TEST(worst_error(out, reference(c, frame), 16, 0) < 1e-5);
}

BOOST_AUTO_TEST_CASE(where_the_input_is_cut_changes_no_bit)
{
    for (sample_type type : all_types)
        for (std::size_t overlap : { 0u, 32u, 63u, 13u })
            for (unsigned average : { 1u, 3u, 40u }) {
                auto c = make_config(type, 64);
                c.overlap = overlap;
                c.average = average;
                const auto bytes = make_samples(type, 64 * (overlap == 63 ? 5 : 45) + 9);
                const auto whole = run_whole(c, bytes);
                std::mt19937 random(static_cast<unsigned>(overlap) + average);
                const std::function<std::size_t()> chunks[] = {
                    [] { return 1; },
                    [] { return 7; },
                    [] { return 64; },
                    [&] { return 1 + random() % 300; },
                };
                const auto s = make_host_spectrum(c, planner());
                for (const auto& chunk : chunks)
                    for (std::size_t room : { 1u, 3u, 1000u }) {
                        s->reset();
                        BOOST_TEST((run(*s, c, bytes, chunk, room) == whole));
                    }
            }
}

BOOST_AUTO_TEST_CASE(a_full_output_stops_one_sample_short_of_the_next_vector)
{
    const auto c = make_config(sample_type::sc16, 32);
    const auto bytes = make_samples(c.sample, 100);
    const auto s = make_host_spectrum(c, planner());
    std::vector<float> out(64);
    auto done = s->process(bytes.data(), 100, out.data(), 1);
    BOOST_TEST(done.produced == 1u);
    BOOST_TEST(done.consumed == 63u);
    done = s->process(bytes.data() + 4 * 63, 37, out.data(), 0);
    BOOST_TEST(done.produced == 0u);
    BOOST_TEST(done.consumed == 0u);
    done = s->process(bytes.data() + 4 * 63, 37, out.data(), 2);
    BOOST_TEST(done.produced == 2u);
    BOOST_TEST(done.consumed == 37u);
}

BOOST_AUTO_TEST_CASE(reset_starts_a_new_series_at_the_next_sample)
{
    for (sample_type type : all_types) {
        auto c = make_config(type, 64);
        c.average = 2;
        c.overlap = 16;
        const auto bytes = make_samples(type, 1000);
        const std::size_t cut = 400;
        const auto s = make_host_spectrum(c, planner());
        std::vector<float> out(64 * 20);
        s->process(bytes.data(), cut, out.data(), 20);
        s->reset();
        const std::vector<std::uint8_t> rest(
            bytes.begin() + cut * core::sample_bytes(type), bytes.end());
        BOOST_TEST((run(*s, c, rest, all) == run_whole(c, rest)));
    }
}

BOOST_AUTO_TEST_CASE(reset_counts_what_it_drops)
{
    const auto lost = [](std::size_t overlap, unsigned average, std::size_t samples) {
        auto c = make_config(sample_type::sc8, 16);
        c.overlap = overlap;
        c.average = average;
        const auto bytes = make_samples(c.sample, samples);
        const auto s = make_host_spectrum(c, planner());
        std::vector<float> out(16 * 100);
        s->process(bytes.data(), samples, out.data(), 100);
        const auto d = s->reset();
        const auto again = s->reset();
        BOOST_TEST(again.frames == 0u);
        BOOST_TEST(again.samples == 0u);
        return std::make_pair(d.frames, d.samples);
    };
    using counts = std::pair<std::uint64_t, std::uint64_t>;
    BOOST_TEST((lost(0, 1, 0) == counts(0, 0)));
    BOOST_TEST((lost(0, 1, 160) == counts(0, 0)));          // ends with a vector
    BOOST_TEST((lost(0, 1, 165) == counts(1, 5)));          // a frame is cut
    BOOST_TEST((lost(0, 4, 64 + 16 + 5) == counts(2, 21))); // one frame whole, one cut
    BOOST_TEST((lost(8, 1, 16 + 8) == counts(0, 0)));       // the overlap was in a vector
    BOOST_TEST((lost(8, 1, 16 + 8 + 3) == counts(1, 3)));
    BOOST_TEST((lost(0, 1000, 160) == counts(10, 160)));
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused_with_what_would_be_right)
{
    const auto refused = [](auto change, const std::string& text) {
        auto c = make_config(sample_type::sc16, 1024);
        change(c);
        BOOST_CHECK_EXCEPTION(
            make_host_spectrum(c, planner()), config_error, [&](const config_error& e) {
                BOOST_TEST(e.what() == text);
                return true;
            });
    };
    using config = spectrum_config;
    const std::string range = " is not a power of two from 16 to 65536; use ";
    refused([](config& c) { c.length = 1000; }, "length=1000" + range + "512 or 1024");
    refused([](config& c) { c.length = 0; }, "length=0" + range + "16");
    refused([](config& c) { c.length = 8; }, "length=8" + range + "16");
    refused([](config& c) { c.length = 17; }, "length=17" + range + "16 or 32");
    refused([](config& c) { c.length = 131072; }, "length=131072" + range + "65536");
    refused([](config& c) { c.overlap = 1024; },
            "overlap=1024 is not below length=1024; use 0 to 1023");
    refused([](config& c) { c.average = 0; },
            "average=0 is no number of transforms; use 1 or more");
    const std::string no_rate = " is no sample rate; use samples per second, above 0";
    refused([](config& c) { c.rate = 0; }, "rate=0" + no_rate);
    refused([](config& c) { c.rate = -1; }, "rate=-1" + no_rate);
    refused([](config& c) { c.rate = std::nan(""); }, "rate=nan" + no_rate);
    refused([](config& c) { c.rate = INFINITY; }, "rate=inf" + no_rate);
    refused([](config& c) { c.window.pop_back(); },
            "window has 1023 taps; length=1024 needs as many");
    refused([](config& c) { c.window.assign(1024, 0); },
            "window taps add up to 0; they have to be finite, and not cancel out");
    BOOST_CHECK_EXCEPTION(
        parse_scaling("power"), config_error, [](const config_error& e) {
            BOOST_TEST(
                e.what() ==
                std::string("scaling='power' is no scaling; use spectrum or density"));
            return true;
        });
    BOOST_TEST((parse_scaling("spectrum") == scaling::spectrum));
    BOOST_TEST((parse_scaling("density") == scaling::density));
}
