/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What memory= means where the build has no code for the GPU that is there.
#include "gpu_choice.h"
#include "qa_device_blocks.h"
#include "testing/has_text.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

struct counted_trial {
    int code = 0; // what the kernel's launch fails with
    int calls = 0;
    void operator()(int ordinal)
    {
        ++calls;
        BOOST_TEST(ordinal == 0);
        if (code != 0)
            throw cuda_error(code, "no code: build with -DCMAKE_CUDA_ARCHITECTURES=61");
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(auto_takes_a_gpu_that_runs_our_kernels, on_imitated_driver)
{
    counted_trial trial;
    const gpu_choice choice = choose_gpu("auto", std::ref(trial));
    BOOST_REQUIRE(choice.gpu);
    BOOST_TEST(choice.gpu->info().ordinal == 0);
    BOOST_TEST(!choice.unusable);
    BOOST_TEST(trial.calls == 1);
}

BOOST_FIXTURE_TEST_CASE(auto_is_the_host_where_the_build_has_no_code, on_imitated_driver)
{
    for (const int code : { 209, 221, 222, 223 }) {
        counted_trial trial;
        trial.code = code;
        const gpu_choice choice = choose_gpu("auto", std::ref(trial));
        BOOST_TEST(!choice.gpu);
        BOOST_TEST(choice.unusable);
        BOOST_TEST(has(choice.reason, "cuda:0 ("));
        BOOST_TEST(has(choice.reason, "-DCMAKE_CUDA_ARCHITECTURES=61"));
    }
}

BOOST_AUTO_TEST_CASE(auto_tells_what_is_wrong_with_a_gpu_that_cannot_be_used)
{
    std::vector<fake_cuda::device> devices(1);
    devices[0].attributes[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 0;
    const on_imitated_driver one(devices);
    counted_trial trial;
    const gpu_choice choice = choose_gpu("auto", std::ref(trial));
    BOOST_TEST(!choice.gpu);
    BOOST_TEST(choice.unusable);
    BOOST_TEST(has(choice.reason, "has no virtual memory management"));
    BOOST_TEST(trial.calls == 0);
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_gpu_is_ordinary)
{
    if (mem::has_cuda())
        return;
    counted_trial trial;
    const gpu_choice choice = choose_gpu("auto", std::ref(trial));
    BOOST_TEST(!choice.gpu);
    BOOST_TEST(choice.unusable ==
               (mem::state_of_gpus().absence == mem::gpu_absence::stub_library));
    BOOST_TEST(has(choice.reason, mem::state_of_gpus().reason));
}

BOOST_FIXTURE_TEST_CASE(another_failure_is_for_the_block_to_tell, on_imitated_driver)
{
    for (const int code : { 2, 35, 700, 999 }) {
        counted_trial trial;
        trial.code = code;
        const gpu_choice choice = choose_gpu("auto", std::ref(trial));
        BOOST_TEST(choice.gpu != nullptr);
        BOOST_TEST(!choice.unusable);
    }
}

BOOST_FIXTURE_TEST_CASE(what_is_named_is_not_tried, on_imitated_driver)
{
    counted_trial trial;
    trial.code = 209;
    BOOST_TEST(choose_gpu("cuda:0", std::ref(trial)).gpu != nullptr);
    const gpu_choice host = choose_gpu("host", std::ref(trial));
    BOOST_TEST(!host.gpu);
    BOOST_TEST(host.reason == "");
    BOOST_CHECK_THROW(choose_gpu("vram", std::ref(trial)), config_error);
    BOOST_TEST(trial.calls == 0);
}
