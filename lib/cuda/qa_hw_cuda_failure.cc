/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A kernel that fails takes the process's GPU context with it, so it has a program of its
// own.
#include "cuda/device.h"
#include "cuda/spectrum.h"
#include "testing/needs_gpu.h"
#include "testing/patience.h"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::cuda;
using gr::rdma::testing::needs_gpu;

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

BOOST_AUTO_TEST_CASE(a_failing_kernel_is_told_and_ends_the_work)
{
    dsp::spectrum_config config;
    config.window.assign(config.length, 1.0f);
    use_device(0);
    stream work(0);
    const std::size_t samples = 4 * config.length;
    spectrum under_test(config, spectrum_settings(), work.ref());
    // No memory of the GPU's: the window kernel reads it and faults.
    const auto* const nowhere = reinterpret_cast<const void*>(std::uintptr_t(64));
    // None where a tool makes launches wait for their kernels.
    const std::size_t taken = under_test.submit(nowhere, samples);
    BOOST_TEST((taken == samples || (taken == 0 && testing::patience() > 1)));
    std::vector<float> out(4 * config.length, 1234.5f);
    under_test.wait();
    BOOST_TEST(under_test.poll(out.data(), 4) == 0u);
    BOOST_TEST_MESSAGE(under_test.failure());
    BOOST_TEST((under_test.failure().find("a kernel of the spectrum: ") == 0u) ==
               (taken != 0));
    BOOST_TEST(under_test.failure().find("cudaError") != std::string::npos);
    BOOST_TEST(out.front() == 1234.5f);
    // What was told first stays, and nothing hangs or throws from here on.
    const std::string first = under_test.failure();
    BOOST_TEST(under_test.submit(nowhere, samples) == 0u);
    under_test.wait();
    under_test.reset();
    BOOST_TEST(under_test.failure() == first);
}
