/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "qa_spectrometer.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <complex>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/null_source.h>
#include <thread>

using gr::rdma::config_error;

namespace {

void refused(spectrometer_config c, const std::string& text)
{
    BOOST_CHECK_EXCEPTION(
        spectrometer::make(c), config_error, [&](const config_error& e) {
            BOOST_TEST(e.what() == text);
            return true;
        });
}

} // namespace

BOOST_AUTO_TEST_CASE(spectra_agree_with_the_definition)
{
    auto c = make_config();
    c.window = gr::fft::window::WIN_RECTANGULAR;
    const auto in = noise(length);
    const auto got = run(c, in);
    BOOST_REQUIRE_EQUAL(got.spectra.size(), length);
    BOOST_TEST(got.produced == 1u);
    for (std::size_t k = 0; k < length; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < length; ++i)
            sum += std::complex<double>(static_cast<std::int8_t>(in[2 * i]) / 128.0,
                                        static_cast<std::int8_t>(in[2 * i + 1]) / 128.0) *
                   std::polar(
                       1.0, -2 * std::acos(-1) * double(i) * double(k) / double(length));
        const double want = std::norm(sum) / double(length * length);
        BOOST_TEST(got.spectra[(k + length / 2) % length] == want,
                   boost::test_tools::tolerance(1e-5));
    }
}

BOOST_AUTO_TEST_CASE(the_window_is_the_periodic_form)
{
    // The transform of a periodic Hann window has three bins; the symmetric one leaks.
    spectrometer_config c;
    c.sample = "byte";
    c.length = 64;
    const auto got = run(c, bytes(64, 64));
    BOOST_REQUIRE_EQUAL(got.spectra.size(), 64u);
    for (std::size_t k = 0; k < 64; ++k) {
        const double want = k == 32 ? 0.25 : k == 31 || k == 33 ? 0.0625 : 0;
        BOOST_TEST(std::abs(got.spectra[k] - want) < 1e-7);
    }
}

BOOST_AUTO_TEST_CASE(each_window_type_works)
{
    using gr::fft::window;
    auto c = make_config();
    c.window_parameter = 0.5;
    const auto in = noise(length);
    std::vector<std::vector<float>> seen;
    for (int type = window::WIN_NONE; type <= window::WIN_TUKEY; ++type) {
        c.window = static_cast<window::win_type>(type);
        const auto got = run(c, in).spectra;
        BOOST_REQUIRE_EQUAL(got.size(), length);
        for (float v : got)
            BOOST_TEST((std::isfinite(v) && v >= 0));
        if (type == window::WIN_RECTANGULAR)
            BOOST_TEST((got == seen[0])); // what WIN_NONE gives
        else
            BOOST_TEST((std::find(seen.begin(), seen.end(), got) == seen.end()));
        seen.push_back(got);
    }
}

BOOST_AUTO_TEST_CASE(pieces_and_vlen_change_no_bit)
{
    for (const char* sample : { "cu8", "sc8", "sc16", "fc32", "byte" }) {
        auto c = make_config();
        c.sample = sample;
        c.average = 3;
        c.overlap = 5;
        bytes in(1536 * sample_bytes(sample));
        std::mt19937 random(3);
        for (auto& b : in)
            b = static_cast<std::uint8_t>(random() & 63); // small exponents as floats
        const auto whole = run(c, in);
        BOOST_REQUIRE(!whole.spectra.empty());
        for (std::size_t piece : { 1u, 7u, 600u })
            for (int room : { 0, 1 })
                BOOST_TEST((run(c, in, {}, piece, room).spectra == whole.spectra));
        for (std::size_t vlen : { 3u, 512u }) {
            c.vlen = vlen;
            for (std::size_t piece : { 0u, 1u })
                for (int room : { 0, 1 })
                    BOOST_TEST((run(c, in, {}, piece, room).spectra == whole.spectra));
        }
    }
}

BOOST_AUTO_TEST_CASE(averages_longer_than_any_buffer_run_through)
{
    auto c = make_config();
    c.length = 65536;
    c.average = 5;
    BOOST_TEST(run(c, bytes(2 * 65536 * 11)).produced == 2u);
    c.length = 16;
    c.average = 1000000;
    c.overlap = 15;
    BOOST_TEST(run(c, bytes(2 * 2000015)).produced == 2u);
}

BOOST_AUTO_TEST_CASE(a_second_run_is_a_new_series)
{
    auto c = make_config();
    const auto in = noise(330);
    const tags marks = { time_tag(0, 5, 0),
                         make_tag(0, "packet_len", pmt::from_long(300)) };
    const auto once = run(c, in, marks);
    auto top = gr::make_top_block("qa");
    auto source = gr::blocks::vector_source<std::uint8_t>::make(in, false, 2, marks);
    auto block = spectrometer::make(c);
    auto sink = gr::blocks::vector_sink<float>::make(length);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    for (unsigned round = 1; round <= 3; ++round) {
        top->run();
        BOOST_TEST((sink->data() == once.spectra));
        BOOST_TEST(block->spectra() == round * once.produced);
        BOOST_TEST(block->samples_dropped() == (round - 1) * (300 % length));
        BOOST_TEST(sink->tags().size() == once.out_tags.size());
        source->rewind();
        sink->reset();
    }
}

BOOST_AUTO_TEST_CASE(stop_is_prompt_amid_heavy_work)
{
    auto c = make_config();
    c.length = 65536;
    c.overlap = 65535; // from sample 65536 on a transform per sample
    c.average = 1000000;
    for (std::uint64_t reached : { 49000u, 66000u }) {
        auto top = gr::make_top_block("qa");
        auto block = spectrometer::make(c);
        top->connect(gr::blocks::null_source::make(2), 0, block, 0);
        top->connect(block, 0, gr::blocks::null_sink::make(65536 * sizeof(float)), 0);
        top->start();
        while (block->nitems_read(0) < reached)
            std::this_thread::yield();
        const auto asked = std::chrono::steady_clock::now();
        top->stop();
        top->wait();
        const auto took = std::chrono::steady_clock::now() - asked;
        BOOST_TEST((took < std::chrono::seconds(1)));
    }
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused_with_what_would_be_right)
{
    const auto with = [](auto change) {
        spectrometer_config c;
        change(c);
        return c;
    };
    using config = spectrometer_config;
    refused(with([](config& c) { c.length = 1000; }),
            "length=1000 is not a power of two from 16 to 65536; use 512 or 1024");
    refused(with([](config& c) { c.length = 1ULL << 40; }),
            "length=1099511627776 is not a power of two from 16 to 65536; use 65536");
    refused(with([](config& c) { c.overlap = 1024; }),
            "overlap=1024 is not below length=1024; use 0 to 1023");
    refused(with([](config& c) { c.average = 0; }),
            "average=0 is no number of transforms; use 1 or more");
    refused(with([](config& c) { c.scaling = "power"; }),
            "scaling='power' is no scaling; use spectrum or density");
    refused(with([](config& c) { c.sample = "cs16"; }),
            "sample='cs16' is no sample type; use cu8, sc8, sc16, fc32 or byte");
    refused(with([](config& c) { c.rate = NAN; }),
            "rate=nan is no sample rate; use samples per second, above 0");
    refused(with([](config& c) { c.vlen = 0; }),
            "vlen=0 is no number of samples per item; use 1 to 536870911");
    refused(with([](config& c) { c.vlen = 1ULL << 40; }),
            "vlen=1099511627776 is no number of samples per item; use 1 to 536870911");
    refused(
        with([](config& c) { c.memory = "gpu"; }),
        "memory='gpu': auto, host, or cuda: with a GPU's number, UUID or PCI address, "
        "such as cuda:0");
    BOOST_CHECK_EXCEPTION( // why, depends on the machine
        spectrometer::make(with([](config& c) { c.memory = "cuda:GPU-00000000"; })),
        config_error,
        [](const config_error& e) {
            return std::string(e.what()).rfind("memory='cuda:GPU-00000000': ", 0) == 0;
        });
    using gr::fft::window;
    refused(
        with([](config& c) { c.window = static_cast<window::win_type>(-2); }),
        "window=-2 is no window; use one of gr::fft::window::win_type, such as WIN_HANN");
    refused(
        with([](config& c) { c.window = window::WIN_TUKEY; }),
        "window_parameter=6.76 does not suit the window: window::tukey: alpha must be "
        "between 0 and 1");
    refused(with([](config& c) {
                c.window = window::WIN_KAISER;
                c.window_parameter = -1;
            }),
            "window_parameter=-1 does not suit the window: window::kaiser: beta must be "
            ">= 0");
    refused(
        with([](config& c) { c.window_parameter = NAN, c.window = window::WIN_KAISER; }),
        "window_parameter=nan does not suit the window: its taps add up to nan; use "
        "another");
    for (const char* beta : { "700.5", "1000", "1e+09", "inf" }) // it would not end
        refused(with([beta](config& c) {
                    c.window_parameter = std::stod(beta);
                    c.window = window::WIN_KAISER;
                }),
                std::string("window_parameter=") + beta +
                    " does not suit the window: use a beta of 0 to 700");
    spectrometer::make(with([](config& c) {
        c.window_parameter = 700;
        c.window = window::WIN_KAISER;
    }));
    const auto host = with([](config& c) { c.memory = "host"; });
    BOOST_TEST(spectrometer::make(host)->spectra() == 0u);
}
