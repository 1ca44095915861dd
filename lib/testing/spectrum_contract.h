/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_SPECTRUM_CONTRACT_H
#define INCLUDED_RDMA_TESTING_SPECTRUM_CONTRACT_H

#include "dsp/spectrum.h"
#include "testing/patience.h"
#include "testing/spectrum_reference.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

/*!
 * What every dsp::spectrum has to do, wherever it computes. An implementation passes by
 * naming a factory in RDMA_SPECTRUM_CONTRACT(factory) at file scope:
 *
 *     struct my_spectra {
 *         std::unique_ptr<dsp::spectrum> make(const dsp::spectrum_config&);
 *         // Most that a bin may be off, of itself, by worst_error().
 *         static constexpr double tolerance = 1e-5;
 *         // Most that where the input is cut may change a bin, likewise; 0: no bit.
 *         static constexpr double cut_tolerance = 0;
 *     };
 */
namespace gr {
namespace rdma {
namespace testing {

inline std::vector<float> run_in_pieces(dsp::spectrum& s,
                                        const spectrum_config& c,
                                        const std::vector<std::uint8_t>& bytes,
                                        const std::function<std::size_t()>& chunk,
                                        std::size_t room = 1000)
{
    const std::size_t sample_bytes = core::sample_bytes(c.sample);
    const std::size_t samples = bytes.size() / sample_bytes;
    // What is not written is seen: NaN is off by any measure.
    constexpr float poison = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> out, part(room * c.length, poison);
    for (std::size_t pos = 0; pos < samples;) {
        const std::size_t n = std::min(chunk(), samples - pos);
        // A copy of its own size: a sanitizer sees a read past its end.
        const auto* const first = bytes.data() + pos * sample_bytes;
        const std::vector<std::uint8_t> piece(first, first + n * sample_bytes);
        const auto done = s.process(piece.data(), n, part.data(), room);
        out.insert(out.end(), part.begin(), part.begin() + done.produced * c.length);
        std::fill_n(part.begin(), done.produced * c.length, poison);
        BOOST_REQUIRE(done.consumed <= n);
        BOOST_REQUIRE(done.consumed + done.produced > 0);
        pos += done.consumed;
    }
    return out;
}

inline std::size_t whole_input() { return std::size_t(-1); }

template <class Factory>
std::vector<float> run_whole(Factory& factory,
                             const spectrum_config& c,
                             const std::vector<std::uint8_t>& bytes)
{
    return run_in_pieces(*factory.make(c), c, bytes, whole_input);
}

/*
 * Error relative to the bin, or to the mean of all bins times \p floor where that is
 * more. A single-precision transform leaves some 3e-7 of the root mean square in every
 * bin, so bins that one transform leaves nearly empty (noise does) are held to the mean:
 * floor 1. Averaging fills them: floor 0.
 */
template <class Want>
double worst_error(const std::vector<float>& got,
                   const std::vector<Want>& want,
                   std::size_t n,
                   double floor)
{
    BOOST_REQUIRE_EQUAL(got.size(), want.size());
    BOOST_REQUIRE(!got.empty());
    if (got == std::vector<float>(want.begin(), want.end()))
        return 0;
    double worst = 0;
    for (std::size_t v = 0; v < got.size(); v += n) {
        double mean = 0;
        for (std::size_t k = 0; k < n; ++k)
            mean += want[v + k] / static_cast<double>(n);
        for (std::size_t k = v; k < v + n; ++k) {
            const double error =
                std::abs(got[k] - want[k]) / std::max<double>(want[k], floor * mean);
            if (!(error <= std::numeric_limits<double>::max()))
                return std::numeric_limits<double>::infinity(); // NaN comes here, too
            worst = std::max(worst, error);
        }
    }
    return worst;
}

template <class Factory>
void check(Factory& factory, const spectrum_config& c, std::size_t samples)
{
    const auto bytes = make_samples(c.sample, samples);
    const double worst = worst_error(
        run_whole(factory, c, bytes), reference(c, bytes), c.length, c.average < 16);
    BOOST_TEST_MESSAGE(core::to_string(c.sample) << " length " << c.length << " average "
                                                 << c.average << ": " << worst);
    BOOST_TEST(worst < Factory::tolerance);
}

template <class Factory>
void every_length_agrees_with_double_precision()
{
    Factory factory;
    for (std::size_t length = 16; length <= 65536; length *= 2)
        check(factory, make_config(sample_type::sc16, length), 2 * length + 3);
}

template <class Factory>
void every_type_agrees_with_double_precision()
{
    Factory factory;
    for (std::size_t length : { 16u, 32u, 64u, 256u, 1024u, 4096u, 65536u })
        for (sample_type type : all_types)
            check(factory, make_config(type, length), 2 * length + 3);
}

template <class Factory>
void averages_agree_at_each_count()
{
    Factory factory;
    for (unsigned average : { 1u, 3u, 16u, 17u, 1000u })
        for (sample_type type : { sample_type::sc16, sample_type::byte }) {
            auto c = make_config(type, 64);
            c.average = average;
            check(factory, c, 64 * average * 2 + 5);
        }
}

template <class Factory>
void overlaps_agree()
{
    Factory factory;
    for (std::size_t overlap : { 0u, 128u, 255u, 77u, 1u })
        for (unsigned average : { 1u, 5u }) {
            auto c = make_config(sample_type::sc16, 256);
            c.overlap = overlap;
            c.average = average;
            check(factory, c, 2000);
        }
}

template <class Factory>
void density_and_unshifted_order_agree()
{
    Factory factory;
    for (sample_type type : { sample_type::fc32, sample_type::byte }) {
        auto c = make_config(type, 512);
        c.fftshift = false;
        check(factory, c, 2000);
        c.scale = dsp::scaling::density;
        c.rate = 2.4e6;
        check(factory, c, 2000);
        c.fftshift = true;
        check(factory, c, 2000);
    }
}

template <class Factory>
void a_full_scale_tone_reads_one_in_its_bin()
{
    Factory factory;
    auto c = make_config(sample_type::fc32, 64);
    c.window.assign(64, 1);
    std::vector<float> tone(128);
    for (std::size_t i = 0; i < 64; ++i) {
        const double phase = 2 * pi * 5 * static_cast<double>(i) / 64;
        tone[2 * i] = static_cast<float>(std::cos(phase));
        tone[2 * i + 1] = static_cast<float>(std::sin(phase));
    }
    std::vector<float> out(64);
    const auto s = factory.make(c);
    const auto done = s->process(tone.data(), 64, out.data(), 1);
    BOOST_TEST(done.produced == 1u);
    BOOST_TEST(std::abs(out[32 + 5] - 1) < 1e-6);
    BOOST_TEST(out[32 - 5] < 1e-10);
}

// Exactly the same, or as near as the implementation promises.
template <class Factory>
bool same(const std::vector<float>& got, const std::vector<float>& want, std::size_t n)
{
    if (Factory::cut_tolerance == 0)
        return got == want;
    return got.size() == want.size() &&
           (got.empty() || worst_error(got, want, n, 1) < Factory::cut_tolerance);
}

template <class Factory>
void where_the_input_is_cut_does_not_matter(sample_type type)
{
    using sizes = std::vector<std::size_t>;
    Factory factory;
    // A tool that looks at each copy makes this hundreds of times slower, not tens.
    const bool brief = patience() > 1;
    for (std::size_t overlap : brief ? sizes{ 0, 13 } : sizes{ 0, 32, 63, 13 })
        for (std::size_t average : brief ? sizes{ 1, 2 } : sizes{ 1, 3, 40 }) {
            auto c = make_config(type, 64);
            c.overlap = overlap;
            c.average = static_cast<unsigned>(average);
            const std::size_t frames = brief ? 2 : overlap == 63 ? 5 : 45;
            const auto bytes = make_samples(type, 64 * frames + 9);
            const auto whole = run_whole(factory, c, bytes);
            std::mt19937 random(static_cast<unsigned>(overlap + average));
            const std::function<std::size_t()> chunks[] = {
                [] { return 1; },
                [] { return 7; },
                [] { return 64; },
                [&] { return 1 + random() % 300; },
            };
            const auto s = factory.make(c);
            for (const auto& chunk : chunks)
                for (std::size_t room : { 1u, 3u, 1000u }) {
                    s->reset();
                    const auto got = run_in_pieces(*s, c, bytes, chunk, room);
                    BOOST_TEST(same<Factory>(got, whole, 64));
                }
        }
}

template <class Factory>
void a_full_output_stops_one_sample_short_of_the_next_vector()
{
    Factory factory;
    const auto c = make_config(sample_type::sc16, 32);
    const auto bytes = make_samples(c.sample, 100);
    const auto s = factory.make(c);
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

template <class Factory>
void reset_starts_a_new_series_at_the_next_sample()
{
    Factory factory;
    for (sample_type type : all_types) {
        auto c = make_config(type, 64);
        c.average = 2;
        c.overlap = 16;
        const auto bytes = make_samples(type, 1000);
        const std::size_t cut = 400;
        const auto s = factory.make(c);
        std::vector<float> out(64 * 20);
        s->process(bytes.data(), cut, out.data(), 20);
        s->reset();
        const std::vector<std::uint8_t> rest(
            bytes.begin() + cut * core::sample_bytes(type), bytes.end());
        BOOST_TEST(same<Factory>(
            run_in_pieces(*s, c, rest, whole_input), run_whole(factory, c, rest), 64));
    }
}

template <class Factory>
void reset_counts_what_it_drops()
{
    Factory factory;
    const auto lost = [&](std::size_t overlap, unsigned average, std::size_t samples) {
        auto c = make_config(sample_type::sc8, 16);
        c.overlap = overlap;
        c.average = average;
        const auto bytes = make_samples(c.sample, samples);
        const auto s = factory.make(c);
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

} // namespace testing
} // namespace rdma
} // namespace gr

#define RDMA_SPECTRUM_CASE(factory, name) \
    BOOST_AUTO_TEST_CASE(name) { gr::rdma::testing::name<factory>(); }

// One case for each type: they are long.
#define RDMA_SPECTRUM_CUTS(factory, type)                                   \
    BOOST_AUTO_TEST_CASE(where_the_input_is_cut_does_not_matter_to_##type)  \
    {                                                                       \
        gr::rdma::testing::where_the_input_is_cut_does_not_matter<factory>( \
            gr::rdma::testing::sample_type::type);                          \
    }

#define RDMA_SPECTRUM_CONTRACT(factory)                                                  \
    BOOST_AUTO_TEST_SUITE(factory##_contract)                                            \
    RDMA_SPECTRUM_CASE(factory, every_length_agrees_with_double_precision)               \
    RDMA_SPECTRUM_CASE(factory, every_type_agrees_with_double_precision)                 \
    RDMA_SPECTRUM_CASE(factory, averages_agree_at_each_count)                            \
    RDMA_SPECTRUM_CASE(factory, overlaps_agree)                                          \
    RDMA_SPECTRUM_CASE(factory, density_and_unshifted_order_agree)                       \
    RDMA_SPECTRUM_CASE(factory, a_full_scale_tone_reads_one_in_its_bin)                  \
    RDMA_SPECTRUM_CUTS(factory, cu8)                                                     \
    RDMA_SPECTRUM_CUTS(factory, sc8)                                                     \
    RDMA_SPECTRUM_CUTS(factory, sc16)                                                    \
    RDMA_SPECTRUM_CUTS(factory, fc32)                                                    \
    RDMA_SPECTRUM_CUTS(factory, byte)                                                    \
    RDMA_SPECTRUM_CASE(factory, a_full_output_stops_one_sample_short_of_the_next_vector) \
    RDMA_SPECTRUM_CASE(factory, reset_starts_a_new_series_at_the_next_sample)            \
    RDMA_SPECTRUM_CASE(factory, reset_counts_what_it_drops)                              \
    BOOST_AUTO_TEST_SUITE_END()

#endif /* INCLUDED_RDMA_TESTING_SPECTRUM_CONTRACT_H */
