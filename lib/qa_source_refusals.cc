/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What rdma.source refuses, at construction and at start.
#include "qa_source.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

BOOST_AUTO_TEST_CASE(a_port_in_use_is_an_exception_of_start)
{
    auto p = make_pair_config("softroce", 1024);
    p.source.qpn = 21;
    auto first = source::make(p.source);
    auto second = source::make(p.source);
    auto top = gr::make_top_block("top");
    auto other = gr::make_top_block("other");
    top->connect(first, 0, gr::blocks::null_sink::make(1), 0);
    other->connect(second, 0, gr::blocks::null_sink::make(1), 0);
    top->start();
    BOOST_CHECK_EXCEPTION(other->start(), config_error, [](const config_error& e) {
        return std::string(e.what()).find("qpn=21 is in use") == 0;
    });
    top->stop();
    top->wait();
    p.source.source = "192.0.2.1"; // TEST-NET-1: nobody's
    auto stranger = source::make(p.source);
    auto third = gr::make_top_block("third");
    third->connect(stranger, 0, gr::blocks::null_sink::make(1), 0);
    BOOST_CHECK_EXCEPTION(third->start(), config_error, [](const config_error& e) {
        return std::string(e.what()).find("source='192.0.2.1' is no address") == 0;
    });
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused_by_name)
{
    struct row {
        const char* text;
        void (*change)(source_config&);
    };
    const row rows[] = {
        { "sample='cs16'", [](source_config& c) { c.sample = "cs16"; } },
        { "vlen=0", [](source_config& c) { c.vlen = 0; } },
        { "vlen=2147483648 makes an item of more than 2 GiB; use 1 to 2147483647",
          [](source_config& c) { c.vlen = 2147483648; } },
        { "vlen=2305843009213693953", // times 8 it would wrap to 8
          [](source_config& c) {
              c.sample = "fc32";
              c.vlen = 2305843009213693953;
          } },
        { "buffers=2 of message_bytes=1073741824 make 2147483648 items; GNU Radio counts "
          "at most 2147483647: use a shorter message",
          [](source_config& c) {
              c.buffers = 2;
              c.message_bytes = 1 << 30;
          } },
        { "message_bytes=0", [](source_config& c) { c.message_bytes = 0; } },
        { "message_bytes=4098",
          [](source_config& c) {
              c.sample = "sc16";
              c.message_bytes = 4098;
          } },
        { "message_bytes=2147483648",
          [](source_config& c) { c.message_bytes = 2147483648; } },
        { "buffers=1", [](source_config& c) { c.buffers = 1; } },
        { "buffers=4096",
          [](source_config& c) {
              c.buffers = 4096;
              c.message_bytes = 1 << 20;
          } },
        { "header_bytes=65537", [](source_config& c) { c.header_bytes = 65537; } },
        { "endpoint='ib'", [](source_config& c) { c.endpoint = "ib"; } },
        { "service='rd'", [](source_config& c) { c.service = "rd"; } },
        { "qpn", [](source_config& c) { c.qpn = 0; } },
        { "qpn=16777216", [](source_config& c) { c.qpn = 1 << 24; } },
        { "remote_psn=16777216", [](source_config& c) { c.remote_psn = 1 << 24; } },
        { "listen='127.0.0.9' and qpn",
          [](source_config& c) { c.listen = "127.0.0.9"; } },
        { "listen or connect is missing",
          [](source_config& c) {
              c.qpn = c.remote_qpn = 0;
              c.connect = "";
          } },
        { "listen='127.0.0.9:x'",
          [](source_config& c) {
              c.qpn = c.remote_qpn = 0;
              c.connect = "";
              c.listen = "127.0.0.9:x";
          } },
        { "message_bytes=4096", [](source_config& c) { c.service = "ud"; } },
        { "message_bytes=4124",
          [](source_config& c) {
              c.service = "ud";
              c.mtu = 4096;
              c.header_bytes = 28;
          } },
        { "mtu=1500", [](source_config& c) { c.mtu = 1500; } },
        { "memory='cuda:0'", [](source_config& c) { c.memory = "cuda:0"; } },
        { "wait='spin'", [](source_config& c) { c.wait = "spin"; } },
        { "rate=-1", [](source_config& c) { c.rate = -1; } },
        { "connect is missing", [](source_config& c) { c.connect = ""; } },
        { "connect='127.0.0.1:5'", [](source_config& c) { c.connect = "127.0.0.1:5"; } },
    };
    for (const row& r : rows) {
        auto p = make_pair_config("softroce", 4096);
        r.change(p.source);
        BOOST_CHECK_EXCEPTION(
            source::make(p.source), config_error, [&](const config_error& e) {
                BOOST_TEST_MESSAGE(e.what());
                return std::string(e.what()).find(r.text) == 0;
            });
    }
}
