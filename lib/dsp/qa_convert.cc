/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/convert.h"
#include "dsp/sample_format.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace gr::rdma;
using core::sample_type;

namespace {

// Every element that the type has, with what it means by the manual's words.
template <class Element>
void every_element(sample_type type, double zero, double full_scale)
{
    std::vector<Element> all;
    for (int e = std::numeric_limits<Element>::min();
         e <= std::numeric_limits<Element>::max();
         ++e)
        all.push_back(static_cast<Element>(e));
    const unsigned elements = dsp::float_elements(type);
    std::vector<float> out(all.size(), 999.0f);
    dsp::convert(type, all.data(), all.size() / elements, out.data());
    for (std::size_t i = 0; i < all.size(); ++i)
        BOOST_REQUIRE_EQUAL(static_cast<double>(out[i]), (all[i] - zero) / full_scale);
    // What a kernel computes for the element is the same function.
    dsp::with_format(type, [&](auto format) {
        using format_type = decltype(format);
        for (std::size_t i = 0; i < all.size(); ++i) {
            typename format_type::element e;
            std::memcpy(&e, &all[i], sizeof e);
            BOOST_REQUIRE_EQUAL(format_type::level(e) * format_type::unit, out[i]);
        }
        BOOST_TEST(format_type::elements * sizeof(Element) == core::sample_bytes(type));
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(every_element_has_its_exact_value)
{
    every_element<std::uint8_t>(sample_type::cu8, 127.5, 128);
    every_element<std::int8_t>(sample_type::sc8, 0, 128);
    every_element<std::int8_t>(sample_type::byte, 0, 128);
    every_element<std::int16_t>(sample_type::sc16, 0, 32768);
}

BOOST_AUTO_TEST_CASE(floats_stay_as_they_are)
{
    const std::vector<float> in = { 1.5f, -0.0f, 1e-42f, 3e38f, 0.1f, -7.0f };
    std::vector<float> out(in.size(), 999.0f);
    dsp::convert(sample_type::fc32, in.data(), 3, out.data());
    BOOST_TEST(std::memcmp(in.data(), out.data(), in.size() * sizeof(float)) == 0);
}

BOOST_AUTO_TEST_CASE(writes_exactly_the_samples_of_the_span)
{
    std::mt19937 random(2);
    for (sample_type type : { sample_type::cu8,
                              sample_type::sc8,
                              sample_type::sc16,
                              sample_type::fc32,
                              sample_type::byte }) {
        const std::size_t bytes = core::sample_bytes(type);
        const unsigned elements = dsp::float_elements(type);
        std::vector<float> source(100 * bytes);
        for (auto& f : source)
            f = static_cast<float>(random() % 1000);
        std::vector<float> whole(100 * elements);
        dsp::convert(type, source.data(), 100, whole.data());
        for (std::size_t n : { 0u, 1u, 2u, 3u, 31u, 33u, 100u }) {
            // A copy of its own size: a sanitizer sees a read past its end.
            std::vector<std::uint8_t> in(n * bytes);
            if (n)
                std::memcpy(in.data(), source.data(), in.size());
            std::vector<float> out(n * elements + 1, 999.0f);
            dsp::convert(type, in.data(), n, out.data());
            BOOST_TEST(out.back() == 999.0f);
            BOOST_TEST(std::equal(out.begin(), out.end() - 1, whole.begin()));
        }
    }
}
