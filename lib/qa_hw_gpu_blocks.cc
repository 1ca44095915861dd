/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The blocks on a GPU beside the same blocks on the CPU, in flowgraphs with ordinary
// blocks at both ends.
#include "qa_spectrometer.h"
#include "testing/skip.h"
#include "testing/spectra_error.h"

#include <gnuradio/rdma/convert.h>
#include <gnuradio/rdma/to_device.h>
#include <gnuradio/rdma/to_host.h>

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

using namespace gr::rdma;
using gr::rdma::testing::worst_error;

namespace {

struct needs_gpu {
    needs_gpu()
    {
        try {
            to_host_config c;
            c.memory = "cuda:0";
            to_host::make(c);
        } catch (const std::exception& error) {
            testing::skip("gpu", error.what());
        }
    }
};

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

result on(const char* memory,
          spectrometer_config c,
          const bytes& in,
          const tags& in_tags = {},
          std::size_t piece = 0)
{
    c.memory = memory;
    return run(c, in, in_tags, piece);
}

bytes samples(const std::string& sample, std::size_t n, unsigned seed)
{
    bytes out = noise(n * sample_bytes(sample) / 2 + 1, seed);
    if (sample == "fc32")
        for (std::size_t i = 0; i + 4 <= out.size(); i += 4) {
            const float f = static_cast<float>(out[i]) / 100 - 1;
            std::memcpy(&out[i], &f, 4);
        }
    out.resize(n * sample_bytes(sample));
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(spectra_agree_with_the_cpu)
{
    unsigned seed = 100;
    for (const char* sample : { "cu8", "sc8", "sc16", "fc32", "byte" })
        for (std::size_t bins : { 16u, 1024u, 65536u })
            for (std::size_t vlen : { 1u, 3u }) {
                spectrometer_config c;
                c.sample = sample;
                c.vlen = vlen;
                c.length = bins;
                c.average = 1 + seed % 3 * 20;
                c.overlap = seed % 2 ? bins / 4 : 0;
                c.scaling = seed % 2 ? "density" : "spectrum";
                c.rate = 48000;
                const bytes in =
                    samples(sample, vlen * ((bins * c.average * 2 + 777) / vlen), ++seed);
                const auto want = on("host", c, in);
                const auto got = on("cuda:0", c, in);
                BOOST_TEST_INFO(sample << " length " << bins << " vlen " << vlen);
                BOOST_TEST(!want.spectra.empty());
                BOOST_TEST(worst_error(got.spectra, want.spectra, bins) < 1e-4);
                BOOST_TEST(got.produced == want.produced);
            }
}

BOOST_AUTO_TEST_CASE(tags_and_counts_are_those_of_the_cpu)
{
    std::mt19937 random(6);
    for (int round = 0; round < 30; ++round) {
        auto c = make_config();
        c.average = 1 + random() % 3;
        c.overlap = random() % 2 ? 0 : random() % length;
        const bytes in = noise(6000, random());
        const tags in_tags = random_tags(random, 6000);
        const auto want = on("host", c, in, in_tags);
        const auto got = on("cuda:0", c, in, in_tags, 1 + random() % 900);
        BOOST_TEST_INFO("round " << round);
        BOOST_TEST(worst_error(got.spectra, want.spectra, length) < 1e-4);
        BOOST_TEST(same_tags(got.out_tags, want.out_tags));
        BOOST_TEST(got.samples_dropped == want.samples_dropped);
        BOOST_TEST(got.frames_dropped == want.frames_dropped);
    }
}

BOOST_AUTO_TEST_CASE(a_long_stream_runs_round_the_ring)
{
    spectrometer_config c;
    c.length = 1024;
    c.average = 16;
    const bytes in = samples("sc16", 12000000, 1); // 48 MB through 8 MiB
    const auto want = on("host", c, in);
    const auto got = on("cuda:0", c, in);
    BOOST_TEST(worst_error(got.spectra, want.spectra, 1024) < 1e-4);
}

BOOST_AUTO_TEST_CASE(conversion_has_the_bits_of_the_cpu)
{
    for (const char* sample : { "cu8", "sc8", "sc16", "byte" })
        for (std::size_t vlen : { 1u, 3u }) {
            const bytes in = samples(sample, 3000000 * vlen, 7);
            std::vector<float> floats[2];
            tags out_tags[2];
            for (int gpu : { 0, 1 }) {
                auto top = gr::make_top_block("qa");
                const std::size_t item = sample_bytes(sample) * vlen;
                const std::size_t out = vlen * (std::string(sample) == "byte" ? 1 : 2);
                auto from = gr::blocks::vector_source_b::make(
                    in, false, static_cast<unsigned>(item), { time_tag(12345, 1, 0.5) });
                convert_config c;
                c.sample = sample;
                c.vlen = vlen;
                c.memory = gpu ? "cuda:0" : "host";
                auto block = convert::make(c);
                auto to = gr::blocks::vector_sink_f::make(static_cast<unsigned>(out));
                top->connect(from, 0, block, 0);
                top->connect(block, 0, to, 0);
                top->run();
                floats[gpu] = to->data();
                out_tags[gpu] = to->tags();
            }
            BOOST_TEST(floats[1].size() == in.size() / (sample_bytes(sample)) *
                                               (std::string(sample) == "byte" ? 1 : 2));
            BOOST_TEST((floats[0] == floats[1]));
            BOOST_TEST(same_tags(out_tags[0], out_tags[1]));
            BOOST_TEST(out_tags[1].size() == 1u);
        }
}

BOOST_AUTO_TEST_CASE(a_chain_stays_on_the_gpu)
{
    // host -> to_device -> convert -> {spectrometer, to_host} beside the CPU alone.
    const bytes in = samples("sc16", 3000000, 9);
    auto top = gr::make_top_block("qa");
    auto from = gr::blocks::vector_source_b::make(in, false, 4);
    to_device_config up;
    up.memory = "cuda:0";
    convert_config conversion;
    conversion.memory = "cuda:0";
    spectrometer_config c;
    c.sample = "fc32";
    c.memory = "cuda:0";
    c.average = 10;
    to_host_config down;
    down.sample = "fc32";
    down.memory = "cuda:0";
    auto there = to_device::make(up);
    auto floats = convert::make(conversion);
    auto spectra = spectrometer::make(c);
    auto back = to_host::make(down);
    auto spectra_sink = gr::blocks::vector_sink_f::make(1024);
    auto floats_sink = gr::blocks::vector_sink_f::make(2);
    top->connect(from, 0, there, 0);
    top->connect(there, 0, floats, 0);
    top->connect(floats, 0, spectra, 0);
    top->connect(floats, 0, back, 0);
    top->connect(spectra, 0, spectra_sink, 0);
    top->connect(back, 0, floats_sink, 0);
    for (int i = 0; i < 2; ++i) {
        from->rewind();
        spectra_sink->reset();
        floats_sink->reset();
        top->run();
        c.sample = "sc16";
        const auto want = on("host", c, in);
        BOOST_TEST(worst_error(spectra_sink->data(), want.spectra, 1024) < 1e-4);
        const auto& got = floats_sink->data();
        BOOST_REQUIRE_EQUAL(got.size(), in.size() / 2);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < got.size(); ++k) {
            std::int16_t s;
            std::memcpy(&s, &in[2 * k], 2);
            wrong += got[k] != static_cast<float>(s) / 32768;
        }
        BOOST_TEST(wrong == 0u);
    }
}
