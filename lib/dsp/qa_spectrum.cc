/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/spectrum.h"
#include "testing/spectrum_contract.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <mutex>
#include <string>

using namespace gr::rdma;
using namespace gr::rdma::dsp;
using namespace gr::rdma::testing;

namespace {

std::mutex& planner()
{
    static std::mutex mutex;
    return mutex;
}

struct host_spectra {
    std::unique_ptr<dsp::spectrum> make(const spectrum_config& config)
    {
        return make_host_spectrum(config, planner());
    }
    static constexpr double tolerance = 1e-5;
    static constexpr double cut_tolerance = 0;
};

} // namespace

RDMA_SPECTRUM_CONTRACT(host_spectra)

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
