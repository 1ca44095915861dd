/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/device.h"
#include "cuda/spectrum.h"
#include "testing/needs_gpu.h"
#include "testing/shared_gpu.h"
#include "testing/spectrum_contract.h"

#include <boost/test/unit_test.hpp>
#include <cuda_runtime_api.h>
#include <mutex>
#include <optional>
#include <random>

using namespace gr::rdma;
using namespace gr::rdma::testing;
using cuda::spectrum_settings;

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

namespace {

// The GPU's spectrum as dsp::spectrum: input copied up, every vector waited for. The span
// is overwritten behind submit(), on the same stream, as a ring's writer would.
class waited_for : public dsp::spectrum
{
public:
    waited_for(const spectrum_config& config, const spectrum_settings& settings)
        : d_sample_bytes(core::sample_bytes(config.sample)),
          d_length(config.length),
          d_work(settings.device),
          d_spectrum(config, settings, d_work.ref())
    {
    }
    progress process(const void* samples,
                     std::size_t n,
                     float* out,
                     std::size_t max_out) noexcept override
    {
        const std::size_t bytes = n * d_sample_bytes;
        if (!d_input || d_input->bytes() < bytes)
            d_input.emplace(0, bytes);
        progress done{ 0, 0 };
        BOOST_TEST(cuda::copy_async(d_input->data(), samples, bytes, d_work.ref()) == 0);
        for (;;) {
            const auto* const next =
                d_input->as<std::uint8_t>() + done.consumed * d_sample_bytes;
            const std::size_t used =
                d_spectrum.submit(next, n - done.consumed, max_out - done.produced);
            done.consumed += used;
            while (d_spectrum.pending()) {
                d_spectrum.wait();
                done.produced += d_spectrum.poll(out + done.produced * d_length,
                                                 max_out - done.produced);
                BOOST_REQUIRE_EQUAL(d_spectrum.failure(), "");
            }
            if (used == 0 || done.consumed == n)
                break;
        }
        BOOST_TEST(cudaMemsetAsync(d_input->data(), 0xff, bytes, d_work.ref().get()) ==
                   cudaSuccess);
        return done;
    }
    dropped reset() noexcept override { return d_spectrum.reset(); }

private:
    const std::size_t d_sample_bytes;
    const std::size_t d_length;
    cuda::stream d_work;
    cuda::spectrum d_spectrum;
    std::optional<cuda::device_memory> d_input;
};

spectrum_settings small_batches()
{
    spectrum_settings settings;
    settings.batch_samples = 4096; // so that ordinary inputs take several
    settings.in_flight = 2;
    return settings;
}

struct gpu_spectra {
    std::unique_ptr<dsp::spectrum> make(const spectrum_config& config)
    {
        return std::make_unique<waited_for>(config, small_batches());
    }
    static constexpr double tolerance = 1e-5;
    static constexpr double cut_tolerance = 1e-6;
};

std::vector<float> on_host(const spectrum_config& c,
                           const std::vector<std::uint8_t>& bytes)
{
    static std::mutex planner;
    return run_in_pieces(*dsp::make_host_spectrum(c, planner), c, bytes, whole_input);
}

struct gpu_input {
    gpu_input(const std::vector<std::uint8_t>& bytes, cuda::stream_ref s)
        : memory(0, bytes.size())
    {
        BOOST_REQUIRE_EQUAL(
            cuda::copy_async(memory.data(), bytes.data(), bytes.size(), s), 0);
        BOOST_REQUIRE_EQUAL(s.wait(), 0);
    }
    cuda::device_memory memory;
};

// Default settings, input at random cuts, vectors fetched as they come.
void agrees_with_host(const spectrum_config& c, std::size_t samples)
{
    static std::mt19937 random(11);
    const auto bytes = make_samples(c.sample, samples);
    const auto want = on_host(c, bytes);
    cuda::stream work(0);
    const gpu_input input(bytes, work.ref());
    cuda::spectrum s(c, spectrum_settings(), work.ref());
    std::vector<float> got(want.size() + c.length,
                           std::numeric_limits<float>::quiet_NaN());
    std::size_t vectors = 0, pos = 0;
    while (pos < samples || s.pending()) {
        const std::size_t n =
            std::min<std::size_t>(samples - pos, 1 + random() % (samples / 2 + 1));
        pos += s.submit(
            input.memory.as<std::uint8_t>() + pos * core::sample_bytes(c.sample), n);
        vectors +=
            s.poll(got.data() + vectors * c.length, got.size() / c.length - vectors);
        BOOST_REQUIRE_EQUAL(s.failure(), "");
        if (pos == samples && s.pending())
            s.wait();
    }
    got.resize(vectors * c.length);
    const double worst = worst_error(got, want, c.length, c.average < 16);
    BOOST_TEST_MESSAGE(core::to_string(c.sample)
                       << " length " << c.length << " average " << c.average
                       << " overlap " << c.overlap << ": " << worst);
    BOOST_TEST(worst < 1e-4);
}

} // namespace

RDMA_SPECTRUM_CONTRACT(gpu_spectra)

BOOST_AUTO_TEST_CASE(every_length_and_type_agrees_with_the_host)
{
    for (std::size_t length = 16; length <= 65536; length *= 2)
        for (sample_type type : all_types) {
            auto c = make_config(type, length);
            agrees_with_host(c, 9 * length + 5);
            c.average = 20;
            c.overlap = length / 2 + 1;
            agrees_with_host(c, 45 * (length - c.overlap) + length + 5);
        }
}

BOOST_AUTO_TEST_CASE(averages_over_many_batches_agree_with_the_host)
{
    for (unsigned average : { 15u, 16u, 17u, 1000u, 5000u })
        for (std::size_t length : { 64u, 1024u }) {
            auto c = make_config(sample_type::sc8, length);
            c.average = average;
            c.scale = dsp::scaling::density;
            c.rate = 1e6;
            agrees_with_host(c, length * (average * 2 + 3) + 1);
        }
}

BOOST_AUTO_TEST_CASE(the_same_pieces_give_the_same_bits)
{
    auto c = make_config(sample_type::sc16, 256);
    c.average = 40;
    c.overlap = 100;
    const auto bytes = make_samples(c.sample, 300000);
    gpu_spectra factory;
    const auto s = factory.make(c);
    const auto pieces = [] { return std::size_t(7001); };
    const auto first = run_in_pieces(*s, c, bytes, pieces);
    for (int i = 0; i < 5; ++i) {
        s->reset();
        BOOST_TEST((run_in_pieces(*s, c, bytes, pieces) == first));
    }
}

BOOST_AUTO_TEST_CASE(vectors_in_flight_are_bounded_and_come_in_order)
{
    const auto c = make_config(sample_type::sc16, 64);
    const auto bytes = make_samples(c.sample, 64 * 1000);
    const auto want = on_host(c, bytes);
    cuda::stream work(0);
    const gpu_input input(bytes, work.ref());
    cuda::spectrum s(c, small_batches(), work.ref());
    const auto* const in = input.memory.as<std::uint8_t>();

    // Two launches of 64 vectors, then it stops one sample short of the next.
    std::size_t pos = s.submit(in, 64000);
    BOOST_TEST(pos == 128u * 64 + 63);
    BOOST_TEST(s.pending() == 128u);
    BOOST_TEST(s.submit(in + 4 * pos, 64000 - pos) == 0u);
    std::vector<float> got(want.size(), std::numeric_limits<float>::quiet_NaN());
    std::size_t vectors = 0;
    s.wait();
    vectors += s.poll(got.data(), 1); // a part of a launch
    BOOST_TEST(vectors == 1u);
    BOOST_TEST(s.pending() == 127u);
    while (vectors < 1000) {
        if (s.pending())
            s.wait();
        vectors +=
            s.poll(got.data() + vectors * 64, std::min<std::size_t>(3, 1000 - vectors));
        pos += s.submit(in + 4 * pos, 64000 - pos);
        BOOST_REQUIRE_EQUAL(s.failure(), "");
    }
    BOOST_TEST(s.pending() == 0u);
    BOOST_TEST(s.poll(got.data(), 1) == 0u);
    BOOST_TEST(worst_error(got, want, 64, 1) < 1e-4);
}

BOOST_AUTO_TEST_CASE(a_reset_leaves_what_is_pending)
{
    auto c = make_config(sample_type::fc32, 128);
    c.average = 2;
    const auto bytes = make_samples(c.sample, 128 * 7);
    const auto want = on_host(c, bytes);
    cuda::stream work(0);
    const gpu_input input(bytes, work.ref());
    cuda::spectrum s(c, spectrum_settings(), work.ref());
    const auto* const in = input.memory.data();
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(s.submit(in, 128 * 7) == 128u * 7);
        const auto lost = s.reset();
        BOOST_TEST(lost.frames == 1u);
        BOOST_TEST(lost.samples == 128u);
    }
    BOOST_TEST(s.pending() == 6u);
    std::vector<float> got(6 * 128, std::numeric_limits<float>::quiet_NaN());
    std::size_t vectors = 0;
    while (s.pending()) {
        s.wait();
        vectors += s.poll(got.data() + vectors * 128, 6 - vectors);
    }
    std::vector<float> twice = want;
    twice.insert(twice.end(), want.begin(), want.end());
    BOOST_TEST(worst_error(got, twice, 128, 1) < 1e-4);
}

BOOST_AUTO_TEST_CASE(a_hundred_rounds_leave_memory_level)
{
    const auto free_bytes = [] {
        std::size_t free = 0, total = 0;
        BOOST_REQUIRE_EQUAL(cudaMemGetInfo(&free, &total), cudaSuccess);
        return free;
    };
    auto c = make_config(sample_type::sc16, 1024);
    c.average = 4;
    const auto bytes = make_samples(c.sample, 1024 * 64);
    cuda::use_device(0);
    cuda::stream work(0);
    const gpu_input input(bytes, work.ref());
    const auto round = [&] {
        cuda::spectrum s(c, small_batches(), work.ref());
        s.submit(input.memory.data(), 1024 * 64);
        BOOST_TEST(s.pending() > 0u);
        // Destroyed with work under way.
    };
    for (int i = 0; i < 3; ++i)
        round();
    const auto before = free_bytes();
    for (int i = 0; i < 100; ++i)
        round();
    BOOST_TEST((free_bytes() == before || gpu_is_shared()));
}
