/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What needs no GPU: words for errors, which transforms make which average, and that a
// machine without a driver hears so from every entrance.
#include "cuda/averaging.h"
#include "cuda/cufft_api.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/memory.h"
#include "cuda/spectrum.h"

#include <gnuradio/rdma/error.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cuda_runtime_api.h>
#include <functional>
#include <string>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::cuda;

namespace {

machine_facts facts(int driver)
{
    machine_facts f;
    f.driver_version = driver;
    f.toolkit_version = 13000;
    f.device = "GPU 0 (NVIDIA RTX A6000)";
    f.capability = 86;
    f.built_for = "90, 100";
    return f;
}

bool contains(const std::string& text, const std::string& part)
{
    if (text.find(part) != text.npos)
        return true;
    BOOST_TEST_MESSAGE("'" << text << "' lacks '" << part << "'");
    return false;
}

// Sums what the runs of a stream of batches say, transform by transform.
void sum_up(unsigned average, const std::vector<unsigned>& batches)
{
    std::uint64_t next = 0;      // transform of the stream
    std::uint64_t done = 0;      // averages
    std::uint64_t part_sum = 0;  // of the state, and how many transforms are in it
    std::uint64_t total_sum = 0; // likewise
    unsigned position = 0;
    for (const unsigned frames : batches) {
        const batch_shape shape{ average, position, frames };
        const unsigned parts = shape.parts();
        BOOST_REQUIRE(average <= part_frames || parts <= most_parts(frames));
        BOOST_REQUIRE_EQUAL(total_sum, std::uint64_t(shape.first_part()) * part_frames);
        unsigned finished = 0;
        for (unsigned i = 0; i < parts; ++i) {
            const part_run run = shape.part(i);
            BOOST_REQUIRE_EQUAL(run.continued, part_sum != 0);
            BOOST_REQUIRE_EQUAL(run.average, finished);
            BOOST_REQUIRE_EQUAL(run.part, total_sum / part_frames);
            BOOST_REQUIRE(run.begin < run.end);
            BOOST_REQUIRE_EQUAL(run.begin, next);
            part_sum += run.end - run.begin;
            next = run.end;
            BOOST_REQUIRE(run.completed || i + 1 == parts);
            if (!run.completed)
                continue;
            total_sum += part_sum;
            part_sum = 0;
            BOOST_REQUIRE_EQUAL(run.completes_average, total_sum == average);
            if (run.completes_average) {
                total_sum = 0;
                ++finished;
            }
        }
        BOOST_REQUIRE_EQUAL(next, frames);
        BOOST_REQUIRE_EQUAL(shape.completed_averages(), finished);
        BOOST_REQUIRE_EQUAL(shape.averages(), finished + (total_sum + part_sum != 0));
        done += finished;
        next = 0;
        position = static_cast<unsigned>((std::uint64_t(position) + frames) % average);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_transform_is_in_one_part_of_one_average)
{
    for (unsigned average : { 1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u, 100u, 1000u })
        for (unsigned frames : { 1u, 2u, 7u, 15u, 16u, 17u, 64u, 1000u, 4096u }) {
            sum_up(average, std::vector<unsigned>(20, frames));
            sum_up(average, { frames, 1, frames, 3, frames, 16, frames, 5, frames });
        }
}

BOOST_AUTO_TEST_CASE(the_largest_average_and_batch_do_not_overflow)
{
    const unsigned most = 4294967295u;
    const batch_shape shape{ most, most - 5, 1u << 27 };
    BOOST_TEST(shape.completed_averages() == 1u);
    BOOST_TEST(shape.averages() == 2u);
    BOOST_TEST(shape.parts() <= most_parts(shape.frames));
    const part_run last = shape.part(shape.parts() - 1);
    BOOST_TEST(last.average == 1u);
    BOOST_TEST(last.end == shape.frames);
    BOOST_TEST(shape.part(0).end == 5u);
    BOOST_TEST(shape.part(0).completes_average);
}

BOOST_AUTO_TEST_CASE(no_driver_and_an_old_one_are_told_apart)
{
    const std::string none = advice(cudaErrorInsufficientDriver, facts(0));
    BOOST_TEST(contains(none, "there is no NVIDIA driver"));
    BOOST_TEST(contains(none, "memory='host'"));
    const std::string old = advice(cudaErrorInsufficientDriver, facts(12040));
    BOOST_TEST(contains(old, "supports CUDA 12.4, this build needs 13.0"));
    BOOST_TEST(contains(old, "update the driver"));
    BOOST_TEST(contains(advice(cudaErrorNoDevice, facts(13000)), "sees no GPU"));
    BOOST_TEST(contains(advice(cudaErrorStubLibrary, facts(13000)), "stub"));
}

BOOST_AUTO_TEST_CASE(a_missing_kernel_image_names_the_gpu_and_what_was_built)
{
    const std::string text = advice(cudaErrorNoKernelImageForDevice, facts(13000));
    BOOST_TEST(contains(
        text, "GPU 0 (NVIDIA RTX A6000) is sm_86, this build has code for 90, 100"));
    BOOST_TEST(contains(text, "-DCMAKE_CUDA_ARCHITECTURES=86"));
    BOOST_TEST(!built_architectures().empty());
}

BOOST_AUTO_TEST_CASE(a_description_has_the_call_the_words_and_the_number)
{
    const std::string text = describe(cudaErrorInvalidValue, "cudaMemcpyAsync");
    BOOST_TEST(
        contains(text, "cudaMemcpyAsync: invalid argument (cudaErrorInvalidValue, 1)"));
    BOOST_CHECK_EXCEPTION(
        check(cudaErrorInvalidValue, "cudaX"), cuda_error, [](const cuda_error& e) {
            return e.code() == cudaErrorInvalidValue && contains(e.what(), "cudaX: ");
        });
    BOOST_CHECK_EXCEPTION(
        check_allocation(cudaErrorMemoryAllocation, "cudaMalloc", 3 << 20, "GPU memory"),
        out_of_memory,
        [](const out_of_memory& e) {
            return contains(e.what(), "cudaMalloc: 3 MiB of GPU memory");
        });
    BOOST_CHECK_NO_THROW(check(cudaSuccess, "cudaX"));
}

BOOST_AUTO_TEST_CASE(cufft_is_loaded_or_the_error_says_what_to_install)
{
    try {
        BOOST_TEST(cufft_api::get().exec_c2c != nullptr);
    } catch (const cuda_error& e) {
        BOOST_TEST(contains(e.what(), "cuFFT, which transforms on the GPU"));
        BOOST_TEST(contains(e.what(), "libcufft.so"));
    }
    BOOST_TEST(describe_cufft(CUFFT_INVALID_SIZE, "cufftMakePlanMany") ==
               "cufftMakePlanMany: CUFFT_INVALID_SIZE (8)");
    BOOST_CHECK_THROW(check_cufft(CUFFT_ALLOC_FAILED, "x"), out_of_memory);
    BOOST_CHECK_EXCEPTION(check_cufft(CUFFT_EXEC_FAILED, "x"),
                          cuda_error,
                          [](const cuda_error& e) { return e.code() == -6; });
}

BOOST_AUTO_TEST_CASE(without_a_driver_every_entrance_says_so)
{
    if (device_count() != 0) {
        BOOST_TEST_MESSAGE("this machine has a GPU");
        return;
    }
    dsp::spectrum_config config;
    config.window.assign(config.length, 1.0f);
    const std::function<void()> entrances[] = {
        [] { use_device(0); },
        [] { describe_device(0); },
        [] { try_kernel(0); },
        [] { stream made(0); },
        [] { event made(0); },
        [] { device_memory made(0, 1); },
        [] { pinned_memory made(0, 1); },
        [&] { spectrum made(config, spectrum_settings(), stream_ref()); },
    };
    for (const auto& entrance : entrances)
        BOOST_CHECK_EXCEPTION(entrance(), cuda_error, [](const cuda_error& e) {
            return e.code() != 0 && contains(e.what(), "(cudaError") &&
                   contains(e.what(), "NVIDIA driver");
        });
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused_before_any_device_is_asked)
{
    dsp::spectrum_config config;
    config.window.assign(config.length, 1.0f);
    config.overlap = config.length;
    BOOST_CHECK_THROW(spectrum(config, spectrum_settings(), stream_ref()), config_error);
    config.overlap = 0;
    config.window.pop_back();
    BOOST_CHECK_THROW(spectrum(config, spectrum_settings(), stream_ref()), config_error);
    config.window.push_back(1.0f);
    spectrum_settings settings;
    settings.in_flight = 0;
    BOOST_CHECK_THROW(spectrum(config, settings, stream_ref()), config_error);
}
