/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrum_options.h"
#include "usage_error.h"

#include <boost/test/unit_test.hpp>

using namespace gr::rdma::apps;

namespace {

spectrum_options parsed(const std::vector<std::string>& more)
{
    spectrum_options o;
    flags f("gr-rdma spectrum", "", "");
    o.declare(f);
    std::vector<std::string> words = { "--listen", "127.0.0.1", "--rate", "2M" };
    words.insert(words.end(), more.begin(), more.end());
    f.parse(words);
    o.sort_outs();
    o.check(f);
    return o;
}

} // namespace

BOOST_AUTO_TEST_CASE(busy_waiting_reaches_the_block_on_a_gpu_and_no_other_does)
{
    for (const char* memory : { "auto", "cuda:0", "cuda:GPU-6f1c" })
        BOOST_TEST(parsed({ "--wait", "busy", "--memory", memory }).spectrometer().wait ==
                   "busy");
    BOOST_TEST(parsed({ "--wait", "busy" }).spectrometer().wait == "busy");
    BOOST_TEST(parsed({ "--wait", "busy", "--memory", "host" }).spectrometer().wait ==
               "event");
    for (const char* wait : { "hybrid", "event" })
        for (const char* memory : { "auto", "host", "cuda:0" })
            BOOST_TEST(
                parsed({ "--wait", wait, "--memory", memory }).spectrometer().wait ==
                "event");
    BOOST_TEST(parsed({ "--wait", "busy", "--memory", "host" }).connection.wait ==
               "busy");
    BOOST_TEST(parsed({ "--wait", "hybrid" }).connection.wait == "hybrid");
}

BOOST_AUTO_TEST_CASE(windows_go_by_the_names_of_program_and_python)
{
    for (const char* name : { "blackman-harris", "blackman_harris" })
        BOOST_TEST((parsed({ "--window", name }).spectrometer().window ==
                    gr::fft::window::WIN_BLACKMAN_HARRIS));
}

BOOST_AUTO_TEST_CASE(flags_reach_the_block)
{
    const auto c = parsed({ "--sample",
                            "cu8",
                            "--fft-length",
                            "256",
                            "--average",
                            "3",
                            "--overlap",
                            "128",
                            "--window",
                            "kaiser",
                            "--window-parameter",
                            "2",
                            "--scaling",
                            "density",
                            "--memory",
                            "host" })
                       .spectrometer();
    BOOST_TEST(c.sample == "cu8");
    BOOST_TEST(c.length == 256u);
    BOOST_TEST(c.average == 3u);
    BOOST_TEST(c.overlap == 128u);
    BOOST_TEST((c.window == gr::fft::window::WIN_KAISER));
    BOOST_TEST(c.window_parameter == 2);
    BOOST_TEST(c.scaling == "density");
    BOOST_TEST(c.rate == 2e6);
    BOOST_TEST(c.memory == "host");
}
