/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A recording over softroce into a ring in the GPU's memory, beside one in the host's.
#include "qa_source.h"
#include "testing/needs_gpu.h"
#include "testing/patience.h"
#include "testing/spectra_error.h"

#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/rdma/spectrometer.h>
#include <gnuradio/rdma/to_host.h>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

using bytes = std::vector<std::uint8_t>;
constexpr std::size_t message_bytes = 1 << 16;
constexpr std::size_t bins = 1024;
constexpr std::size_t average = 10;

// cu8 samples that are no noise: the recording, or where there is none a tone in noise.
bytes recorded()
{
    const char* tree = std::getenv("RDMA_SOURCE_DIR");
    std::ifstream file(std::string(tree ? tree : ".") +
                           "/../shared/data/adsb_1090MHz_2MSps_cu8.bin",
                       std::ios::binary);
    if (file)
        return { std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
    std::mt19937 random(5);
    std::normal_distribution<double> noise(0, 4);
    bytes out;
    for (int n = 0; n < 2000000; ++n)
        for (const double shift : { 0.0, std::acos(0.0) })
            out.push_back(static_cast<std::uint8_t>(
                127.5 + 60 * std::cos(0.3 * n - shift) + noise(random)));
    return out;
}

struct received {
    bytes samples;
    std::vector<float> spectra;
};

// What comes out of source, to_host and spectrometer in that memory.
received over_softroce(const std::string& memory, const bytes& sent)
{
    auto p = make_pair_config("softroce", message_bytes);
    p.source.buffers = 8; // on a GPU it is a few more, as its pages are long
    p.source.memory = memory;
    p.source.sample = "cu8";
    std::vector<std::vector<std::byte>> messages;
    for (std::size_t at = 0; at < sent.size(); at += message_bytes) {
        const auto* data = reinterpret_cast<const std::byte*>(sent.data());
        messages.emplace_back(data + at,
                              data + std::min(at + message_bytes, sent.size()));
    }
    to_host_config down;
    down.sample = "cu8";
    down.memory = memory;
    spectrometer_config c;
    c.sample = "cu8";
    c.length = bins;
    c.average = average;
    c.memory = memory;

    auto top = gr::make_top_block("recording");
    auto from = source::make(p.source);
    auto back = to_host::make(down);
    auto spectra = spectrometer::make(c);
    auto samples_sink = gr::blocks::vector_sink_b::make(2);
    auto spectra_sink = gr::blocks::vector_sink_f::make(bins);
    top->connect(from, 0, back, 0);
    top->connect(back, 0, samples_sink, 0);
    top->connect(from, 0, spectra, 0);
    top->connect(spectra, 0, spectra_sink, 0);
    top->start();
    BOOST_TEST_MESSAGE(from->description());
    BOOST_TEST((from->description().find("route staged") != std::string::npos) ==
               (memory != "host"));
    BOOST_TEST(back->memory() == memory);
    sender tx(p.sender);
    tx.send(messages);
    // The rest of the last slot is part of the stream, but of no spectrum.
    const std::size_t items = messages.size() * message_bytes / 2;
    const std::size_t vectors = sent.size() / 2 / (bins * average);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(30 * patience());
    while ((samples_sink->nitems_read(0) < items ||
            spectra_sink->nitems_read(0) < vectors) &&
           std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    tx.stop();
    top->stop();
    top->wait();
    return { samples_sink->data(), spectra_sink->data() };
}

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

BOOST_AUTO_TEST_CASE(a_recording_in_gpu_memory_gives_what_the_host_gives)
{
    const bytes once = recorded();
    bytes sent;
    for (int i = 0; i < 10; ++i) // so that it runs round the GPU's ring
        sent.insert(sent.end(), once.begin(), once.end());
    const received there = over_softroce("cuda:0", sent);
    const received here = over_softroce("host", sent);
    sent.resize((sent.size() + message_bytes - 1) / message_bytes * message_bytes, 0);
    BOOST_TEST((there.samples == sent));
    BOOST_TEST((here.samples == sent));
    BOOST_TEST(here.spectra.size() >= 10 * bins);
    const double worst = worst_error(there.spectra, here.spectra, bins);
    BOOST_TEST_MESSAGE(here.spectra.size() / bins << " spectra, worst error " << worst);
    BOOST_TEST(worst < 1e-4);
}
