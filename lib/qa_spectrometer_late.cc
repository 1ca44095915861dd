/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The spectrometer over an engine whose vectors come late, as a GPU's do: the same
// vectors and the same tags as over the CPU's.
#include "qa_spectrometer.h"
#include "spectrometer_checks.h"
#include "spectrometer_impl.h"

#include <boost/test/unit_test.hpp>
#include <deque>
#include <memory>
#include <random>
#include <vector>

using namespace gr::rdma;

namespace {

// What the test looks at behind the block's back.
struct watch {
    std::size_t waits = 0;
    std::size_t most_pending = 0;
    std::size_t fail_after = 0; // vectors, 0: never
};

// Keeps each vector until so many later calls have been made, or it is waited for.
class late_engine : public spectrum_engine
{
public:
    late_engine(const spectrometer_config& config, std::size_t capacity, watch& w)
        : d_host(make_host_engine(spectrum_config(config))),
          d_length(config.length),
          d_capacity(capacity),
          d_watch(w)
    {
    }
    progress process(const void* samples,
                     std::size_t n,
                     float* out,
                     std::size_t max_out) noexcept override
    {
        std::vector<float> made(d_capacity * d_length);
        const auto done =
            d_host->process(samples, n, made.data(), d_capacity - d_late.size());
        for (std::size_t i = 0; i < done.produced; ++i)
            d_late.push_back({ std::vector<float>(made.begin() + i * d_length,
                                                  made.begin() + (i + 1) * d_length),
                               3 });
        d_made += done.produced;
        d_watch.most_pending = std::max(d_watch.most_pending, d_late.size());
        if (d_watch.fail_after != 0 && d_made >= d_watch.fail_after)
            d_failure = "a kernel failed";
        return { done.consumed, fetch(out, max_out) };
    }
    std::size_t fetch(float* out, std::size_t max_out) noexcept override
    {
        for (auto& late : d_late)
            late.calls -= late.calls > 0;
        std::size_t n = 0;
        for (; n < max_out && !d_late.empty() && d_late.front().calls == 0; ++n) {
            std::copy(d_late.front().vector.begin(),
                      d_late.front().vector.end(),
                      out + n * d_length);
            d_late.pop_front();
        }
        return n;
    }
    bool pending() const noexcept override { return !d_late.empty(); }
    void wait() noexcept override
    {
        ++d_watch.waits;
        d_late.front().calls = 0;
    }
    dropped reset() noexcept override
    {
        d_late.clear();
        return d_host->reset();
    }
    const std::string& failure() const noexcept override { return d_failure; }

private:
    struct late {
        std::vector<float> vector;
        unsigned calls;
    };
    const std::unique_ptr<spectrum_engine> d_host;
    const std::size_t d_length;
    const std::size_t d_capacity;
    watch& d_watch;
    std::deque<late> d_late;
    std::size_t d_made = 0;
    std::string d_failure;
};

result run_late(const spectrometer_config& c,
                const bytes& in,
                const tags& in_tags,
                std::size_t piece,
                std::size_t capacity,
                watch& w)
{
    auto top = gr::make_top_block("qa");
    const std::size_t item = sample_bytes(c.sample) * c.vlen;
    gr::block_sptr source;
    if (piece)
        source = gnuradio::make_block_sptr<piece_source>(in, in_tags, item, piece);
    else
        source = gr::blocks::vector_source<std::uint8_t>::make(
            in, false, static_cast<unsigned>(item), in_tags);
    const auto block = gnuradio::make_block_sptr<spectrometer_impl>(
        c, std::make_unique<late_engine>(c, capacity, w));
    const auto sink =
        gr::blocks::vector_sink<float>::make(static_cast<unsigned>(c.length));
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    top->run();
    return { sink->data(),
             sink->tags(),
             block->spectra(),
             block->samples_dropped(),
             block->frames_dropped() };
}

} // namespace

BOOST_AUTO_TEST_CASE(late_vectors_and_their_tags_are_those_of_the_cpu)
{
    std::mt19937 random(5);
    for (int round = 0; round < 40; ++round) {
        auto c = make_config();
        c.average = 1 + random() % 3;
        c.overlap = random() % 2 ? 0 : random() % length;
        c.vlen = 1 + random() % 2;
        const bytes in = noise(6000 * c.vlen, random());
        const tags in_tags = random_tags(random, 6000);
        const auto want = run(c, in, in_tags);
        watch w;
        const auto got =
            run_late(c, in, in_tags, 1 + random() % 900, 1 + random() % 20, w);
        BOOST_TEST_INFO("round " << round);
        BOOST_TEST((got.spectra == want.spectra));
        BOOST_TEST(same_tags(got.out_tags, want.out_tags));
        BOOST_TEST(got.produced == want.produced);
        BOOST_TEST(got.samples_dropped == want.samples_dropped);
        BOOST_TEST(got.frames_dropped == want.frames_dropped);
    }
}

BOOST_AUTO_TEST_CASE(what_is_pending_at_the_end_of_the_stream_comes_out)
{
    const auto c = make_config();
    const bytes in = noise(length * 10);
    watch w;
    const auto got = run_late(c, in, {}, length * 10, 20, w);
    BOOST_TEST((got.spectra == run(c, in).spectra));
    BOOST_TEST(w.most_pending == 10u); // all of it was under way at once
    BOOST_TEST(w.waits > 0u);
}

BOOST_AUTO_TEST_CASE(a_failing_engine_ends_the_flowgraph)
{
    const auto c = make_config();
    watch w;
    w.fail_after = 5;
    const auto got = run_late(c, noise(length * 1000), {}, 0, 4, w);
    BOOST_TEST(got.produced < 10u); // and run() came back
}
