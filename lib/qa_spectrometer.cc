/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/spectrometer.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <complex>
#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/null_source.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/top_block.h>
#include <random>
#include <thread>

using namespace gr::rdma;
using bytes = std::vector<std::uint8_t>;
using tags = std::vector<gr::tag_t>;

namespace {

constexpr std::size_t length = 32;

spectrometer_config make_config()
{
    spectrometer_config c;
    c.sample = "sc8"; // two bytes a sample
    c.length = length;
    return c;
}

bytes noise(std::size_t samples, unsigned seed = 1)
{
    std::mt19937 random(seed);
    bytes out(2 * samples);
    for (auto& b : out)
        b = static_cast<std::uint8_t>(random());
    return out;
}

bytes operator+(bytes a, const bytes& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

gr::tag_t make_tag(std::uint64_t offset, const char* key, pmt::pmt_t value)
{
    gr::tag_t t;
    t.offset = offset;
    t.key = pmt::mp(key);
    t.value = value;
    return t;
}

gr::tag_t time_tag(std::uint64_t offset, std::uint64_t seconds, double fraction)
{
    return make_tag(
        offset,
        "rx_time",
        pmt::make_tuple(pmt::from_uint64(seconds), pmt::from_double(fraction)));
}

gr::tag_t gap_tag(std::uint64_t offset, const char* reason = "loss")
{
    return make_tag(offset,
                    "rx_gap",
                    pmt::dict_add(pmt::make_dict(), pmt::mp("reason"), pmt::mp(reason)));
}

struct result {
    std::vector<float> spectra;
    tags out_tags;
    std::uint64_t produced, samples_dropped, frames_dropped;

    // The tags of a key, as offsets.
    std::vector<std::uint64_t> at(const char* key) const
    {
        std::vector<std::uint64_t> offsets;
        for (const auto& t : out_tags)
            if (t.key == pmt::mp(key))
                offsets.push_back(t.offset);
        std::sort(offsets.begin(), offsets.end());
        return offsets;
    }
    pmt::pmt_t value(const char* key, std::uint64_t offset) const
    {
        for (const auto& t : out_tags)
            if (t.key == pmt::mp(key) && t.offset == offset)
                return t.value;
        return pmt::PMT_NIL;
    }
    double time(std::uint64_t offset) const
    {
        const auto v = value("rx_time", offset);
        return pmt::is_tuple(v)
                   ? static_cast<double>(pmt::to_uint64(pmt::tuple_ref(v, 0))) +
                         pmt::to_double(pmt::tuple_ref(v, 1))
                   : -1;
    }
};

std::size_t sample_bytes(const std::string& sample)
{
    return sample == "byte" ? 1 : sample == "sc16" ? 4 : sample == "fc32" ? 8 : 2;
}

result run(const spectrometer_config& c,
           const bytes& in,
           const tags& in_tags = {},
           int max_noutput = 0)
{
    auto top = gr::make_top_block("qa");
    const auto item = static_cast<unsigned>(sample_bytes(c.sample) * c.vlen);
    auto source = gr::blocks::vector_source<std::uint8_t>::make(in, false, item, in_tags);
    auto block = spectrometer::make(c);
    auto sink = gr::blocks::vector_sink<float>::make(static_cast<unsigned>(c.length));
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    max_noutput ? top->run(max_noutput) : top->run();
    return { sink->data(),
             sink->tags(),
             block->spectra(),
             block->samples_dropped(),
             block->frames_dropped() };
}

using offsets = std::vector<std::uint64_t>;

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
        bytes in(3072 * sample_bytes(sample));
        std::mt19937 random(3);
        for (auto& b : in)
            b = static_cast<std::uint8_t>(random() & 63); // small exponents as floats
        const auto whole = run(c, in);
        BOOST_REQUIRE(!whole.spectra.empty());
        for (int most : { 1, 7, 1000 })
            BOOST_TEST((run(c, in, {}, most).spectra == whole.spectra));
        for (std::size_t vlen : { 3u, 512u }) {
            c.vlen = vlen;
            BOOST_TEST((run(c, in).spectra == whole.spectra));
            BOOST_TEST((run(c, in, {}, 1).spectra == whole.spectra));
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
    for (int most : { 0, 1, 7 }) {
        const auto got = run(c, in, marks, most);
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
    c.overlap = 65535; // a transform per sample
    auto top = gr::make_top_block("qa");
    auto block = spectrometer::make(c);
    top->connect(gr::blocks::null_source::make(2), 0, block, 0);
    top->connect(block, 0, gr::blocks::null_sink::make(65536 * sizeof(float)), 0);
    top->start();
    while (block->spectra() == 0)
        std::this_thread::yield();
    const auto asked = std::chrono::steady_clock::now();
    top->stop();
    top->wait();
    BOOST_TEST((std::chrono::steady_clock::now() - asked < std::chrono::seconds(1)));
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
        with([](config& c) { c.memory = "cuda:0"; }),
        "memory='cuda:0': this build computes spectra on the CPU only; use auto or host");
    refused(with([](config& c) { c.memory = "gpu"; }),
            "memory='gpu' is no memory; use auto or host");
    using gr::fft::window;
    refused(
        with([](config& c) { c.window = static_cast<window::win_type>(99); }),
        "window=99 is no window; use one of gr::fft::window::win_type, such as WIN_HANN");
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
    auto host = with([](config& c) { c.memory = "host"; });
    BOOST_TEST(spectrometer::make(host)->spectra() == 0u);
}
