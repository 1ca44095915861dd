/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Blocks with memory=auto that found a ring in host memory: what the GPU does is none of
// their business then.
#include "qa_faulty_blocks.h"
#include "testing/has_text.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/rdma/convert.h>
#include <gnuradio/rdma/spectrometer.h>
#include <gnuradio/rdma/to_device.h>
#include <gnuradio/rdma/to_host.h>

#include <boost/test/unit_test.hpp>

#include <optional>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

//! Behind a ring in host memory, for ever.
struct on_the_host {
    on_the_host()
    {
        source_options s;
        s.total = UINT64_MAX;
        s.type = ring();
        from = make<counting_source>(s);
        copy = to_host::make({});
        spectra = spectrometer::make({});
        top->connect(from, 0, copy, 0);
        top->connect(copy, 0, gr::blocks::null_sink::make(4), 0);
        top->connect(from, 0, spectra, 0);
        top->connect(spectra, 0, gr::blocks::null_sink::make(4096), 0);
        top->start();
        from->produced().wait(1000000);
    }
    ~on_the_host()
    {
        top->stop();
        top->wait();
    }
    gr::top_block_sptr top = gr::make_top_block("host");
    std::shared_ptr<counting_source> from;
    to_host::sptr copy;
    spectrometer::sptr spectra;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_fault_elsewhere_neither_ends_nor_names_them, on_imitated_driver)
{
    for (const bool in_turns : { false, true }) {
        std::optional<turns> one_at_a_time;
        if (in_turns)
            one_at_a_time.emplace();
        on_the_host host;
        BOOST_TEST(host.copy->memory() == "host");
        BOOST_TEST(host.spectra->memory() == "host");
        auto top = gr::make_top_block("fault");
        auto from = make<device_source>(fake, of_total(1000));
        auto copy = make<copier>(fake);
        copy->fault_at = 0;
        top->connect(from, 0, copy, 0);
        top->connect(copy, 0, make<device_recorder>(fake, device_options()), 0);
        top->start();
        BOOST_TEST(ends(top));
        BOOST_TEST(has(copy->failure(), "in a kernel of "));
        BOOST_TEST(!has(copy->failure(), host.copy->identifier()));
        BOOST_TEST(!has(copy->failure(), host.spectra->identifier()));
        const std::uint64_t before = host.from->produced().now();
        host.from->produced().wait(before + 1000000);
        BOOST_TEST(host.copy->failure() + host.spectra->failure() == "");
        fake.fault(CUDA_SUCCESS);
    }
}

BOOST_FIXTURE_TEST_CASE(before_a_start_auto_is_the_gpu, on_imitated_driver)
{
    BOOST_TEST(to_host::make({})->memory() == "cuda:0");
    BOOST_TEST(to_device::make({})->memory() == "cuda:0");
    BOOST_TEST(spectrometer::make({})->memory() == "cuda:0");
    BOOST_TEST(convert::make({})->memory() == "cuda:0");
    BOOST_TEST(convert::make({})->failure() == "");
}

BOOST_FIXTURE_TEST_CASE(nothing_is_asked_of_the_driver, on_imitated_driver)
{
    on_the_host host;
    fake.fail(-1, CUDA_SUCCESS); // counts from here
    const std::uint64_t before = host.from->produced().now();
    host.from->produced().wait(before + 1000000);
    BOOST_TEST(fake.calls() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_failure_of_the_gpu_is_forgotten, on_imitated_driver)
{
    auto copy = to_host::make({});
    {
        const auto whole = fake.api().memcpy_async;
        fake.api().memcpy_async = [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        };
        auto top = gr::make_top_block("on the GPU");
        top->connect(make<device_source>(fake, of_total(1000)), 0, copy, 0);
        top->connect(copy, 0, gr::blocks::null_sink::make(4), 0);
        top->start();
        BOOST_TEST(ends(top));
        fake.api().memcpy_async = whole;
        BOOST_TEST(has(copy->failure(), "on cuda:0"));
    }
    auto top = gr::make_top_block("on the host");
    source_options s;
    s.total = 10000;
    s.type = ring();
    auto sink = gr::blocks::vector_sink_b::make(4);
    top->connect(make<counting_source>(s), 0, copy, 0);
    top->connect(copy, 0, sink, 0);
    top->start();
    BOOST_TEST(ends(top));
    BOOST_TEST(copy->memory() == "host");
    BOOST_TEST(copy->failure() == "");
    BOOST_TEST(sink->data().size() == 40000u);
}
