/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/convert.h"
#include "cuda/device.h"
#include "dsp/convert.h"
#include "testing/needs_gpu.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <cuda_runtime_api.h>
#include <random>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::cuda;
using core::sample_type;
using gr::rdma::testing::needs_gpu;

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

namespace {

constexpr sample_type all_types[] = { sample_type::cu8,
                                      sample_type::sc8,
                                      sample_type::sc16,
                                      sample_type::fc32,
                                      sample_type::byte };
constexpr std::size_t most = 100003; // samples
constexpr float poison = 1234.5f;

struct device_buffers {
    device_buffers() : work(0), in(0, most * 8 + 64), out(0, (most + 16) * 8) {}
    stream work;
    device_memory in;
    device_memory out;
};

std::vector<std::uint8_t> random_bytes(sample_type type, std::size_t samples)
{
    static std::mt19937 random(7);
    std::vector<std::uint8_t> bytes(samples * core::sample_bytes(type));
    for (auto& b : bytes)
        b = static_cast<std::uint8_t>(random());
    return bytes;
}

// Of the output, `shift` floats lie in front of the first; input begins `skew` elements
// in.
void same_as_host(
    device_buffers& gpu, sample_type type, std::size_t n, unsigned skew, unsigned shift)
{
    const auto bytes = random_bytes(type, n);
    const std::size_t floats = n * dsp::float_elements(type);
    std::vector<float> want(shift + floats + 9, poison);
    dsp::convert(type, bytes.data(), n, want.data() + shift);

    const std::size_t element =
        core::sample_bytes(type) / dsp::float_elements(type) * skew;
    std::vector<float> got(want.size(), poison);
    auto* const in = gpu.in.as<std::uint8_t>() + element;
    auto* const out = gpu.out.as<float>();
    const auto s = gpu.work.ref();
    const std::size_t got_bytes = got.size() * sizeof(float);
    BOOST_REQUIRE_EQUAL(copy_async(in, bytes.data(), bytes.size(), s), 0);
    BOOST_REQUIRE_EQUAL(copy_async(out, got.data(), got_bytes, s), 0);
    BOOST_REQUIRE_EQUAL(
        launch_convert(type, { in, bytes.size() }, { out + shift, floats }, s), 0);
    BOOST_REQUIRE_EQUAL(copy_async(got.data(), out, got_bytes, s), 0);
    BOOST_REQUIRE_EQUAL(s.wait(), 0);
    BOOST_TEST_INFO(core::to_string(type)
                    << " n " << n << " skew " << skew << " shift " << shift);
    BOOST_TEST(std::memcmp(got.data(), want.data(), got_bytes) == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_bits_are_those_of_the_host)
{
    device_buffers gpu;
    for (sample_type type : all_types)
        for (std::size_t n :
             { 1u, 2u, 3u, 4u, 5u, 7u, 8u, 15u, 16u, 17u, 1023u, 4096u, 4099u, 100003u })
            same_as_host(gpu, type, n, 0, 0);
}

BOOST_AUTO_TEST_CASE(any_alignment_of_elements_will_do)
{
    device_buffers gpu;
    for (sample_type type : all_types)
        for (unsigned skew : { 0u, 1u, 2u, 3u, 4u })
            for (unsigned shift : { 0u, 1u, 2u, 3u, 4u })
                for (std::size_t n : { 1u, 2u, 9u, 5000u })
                    same_as_host(gpu, type, n, skew, shift);
}

BOOST_AUTO_TEST_CASE(no_samples_are_no_work)
{
    device_buffers gpu;
    for (sample_type type : all_types)
        BOOST_TEST(launch_convert(type, { nullptr, 0 }, { nullptr, 0 }, gpu.work.ref()) ==
                   0);
}

BOOST_AUTO_TEST_CASE(spans_that_do_not_go_together_are_refused)
{
    device_buffers gpu;
    const void* const in = gpu.in.data();
    float* const out = gpu.out.as<float>();
    const auto refused = [&](sample_type type, std::size_t bytes, std::size_t floats) {
        return launch_convert(type, { in, bytes }, { out, floats }, gpu.work.ref()) ==
               cudaErrorInvalidValue;
    };
    BOOST_TEST(refused(sample_type::sc16, 6, 100)); // one sample and a half
    BOOST_TEST(refused(sample_type::sc16, 8, 3));
    BOOST_TEST(!refused(sample_type::sc16, 8, 4));
    const auto* const odd = gpu.in.as<std::uint8_t>() + 1;
    BOOST_TEST(
        launch_convert(sample_type::sc16, { odd, 8 }, { out, 4 }, gpu.work.ref()) ==
        cudaErrorInvalidValue);
    BOOST_TEST(gpu.work.ref().wait() == 0);
}
