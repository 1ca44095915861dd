/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/log.h"
#include "core/sample.h"
#include "core/sizes.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma::core;

BOOST_AUTO_TEST_CASE(human_bytes_picks_the_unit)
{
    BOOST_TEST(human_bytes(0) == "0 bytes");
    BOOST_TEST(human_bytes(1023) == "1023 bytes");
    BOOST_TEST(human_bytes(1024) == "1 KiB");
    BOOST_TEST(human_bytes(3ULL << 29) == "1.5 GiB");
}

BOOST_AUTO_TEST_CASE(rate_limit_lets_one_line_a_second_through)
{
    rate_limit limit;
    BOOST_TEST(limit.pass(1));
    for (int i = 0; i < 1000; ++i)
        BOOST_TEST(!limit.pass(2));
    BOOST_TEST(limit.pass(1000000001));
    BOOST_TEST(limit.suppressed() == 1000u);
}

BOOST_AUTO_TEST_CASE(round_up_keeps_multiples)
{
    BOOST_TEST(round_up(0, 4096) == 0u);
    BOOST_TEST(round_up(4096, 4096) == 4096u);
    BOOST_TEST(round_up(4097, 4096) == 8192u);
}

BOOST_AUTO_TEST_CASE(sample_types_go_there_and_back)
{
    for (const char* name : { "cu8", "sc8", "sc16", "fc32", "byte" })
        BOOST_TEST(std::string(to_string(parse_sample(name))) == name);
    BOOST_TEST(sample_bytes(sample_type::fc32) == 8u);
}

BOOST_AUTO_TEST_CASE(an_unknown_sample_type_is_refused_by_name)
{
    BOOST_CHECK_EXCEPTION(parse_sample("cs16", "sample"),
                          gr::rdma::config_error,
                          [](const gr::rdma::config_error& e) {
                              const std::string what = e.what();
                              return what.find("sample='cs16'") == 0 &&
                                     what.find("sc16") != what.npos;
                          });
}

BOOST_AUTO_TEST_CASE(a_cuda_error_keeps_its_number)
{
    const gr::rdma::cuda_error error(209, "cudaLaunchKernel: no kernel image");
    const std::runtime_error& base = error;
    BOOST_TEST(base.what() == std::string("cudaLaunchKernel: no kernel image"));
    BOOST_TEST(error.code() == 209);
}
