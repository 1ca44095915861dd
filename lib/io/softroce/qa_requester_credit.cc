/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_requester_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

constexpr std::uint32_t mtu = 256;

requester_config config_for(service_type service)
{
    requester_config c;
    c.service = service;
    c.mtu = mtu;
    c.first_psn = wire::psn(500);
    return c;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_on_its_way_without_credit_is_waited_for)
{
    requester_bench b(config_for(service_type::rc));
    b.post(mtu);
    b.post(5 * mtu);
    for (long packet = 0; packet < 3; ++packet)
        BOOST_TEST(b.send() == packet);
    BOOST_TEST(!b.last.packet.bth.ack_request);
    // The second message has no receive; its packets are lost, so the peer never says so.
    b.answer(wire::aeth_kind::ack, 0, 0);
    b.expect_done(1);
    BOOST_TEST(b.send() == -1);
    const std::int64_t wait = b.tx.ready_in(b.now_ns);
    BOOST_TEST(wait == b.config.ack_timeout_ns);
    b.now_ns += wait;
    b.tx.on_time(b.now_ns);
    BOOST_TEST(b.send() == 1);
    BOOST_TEST(b.last.packet.bth.ack_request);
    BOOST_TEST(b.send() == -1); // one packet asks for more
    b.answer(wire::aeth_kind::ack, 5, 1);
    BOOST_TEST((b.drain() == range(2, 6)));
}

BOOST_AUTO_TEST_CASE(without_credit_there_is_nothing_to_do)
{
    requester_bench b(config_for(service_type::rc));
    b.post(1);
    b.send();
    b.answer(wire::aeth_kind::ack, 1, 0); // one more receive
    b.post(1);
    b.post(1);
    BOOST_TEST(b.send() == 1);
    BOOST_TEST(b.tx.ready_in(b.now_ns) == b.config.ack_timeout_ns);
    BOOST_TEST(b.send() == -1);
    BOOST_TEST(b.tx.ready_in(b.now_ns) == b.config.ack_timeout_ns);
}

BOOST_AUTO_TEST_CASE(a_datagram_that_cannot_be_sent_completes_in_its_turn)
{
    requester_bench b(config_for(service_type::ud));
    const auto first = b.post(mtu);
    const auto longer = b.post(mtu + 1);
    const auto last = b.post(0);
    BOOST_TEST((b.drain() == range(0, 2)));
    BOOST_TEST(b.done.empty());
    BOOST_TEST(b.tx.handed_over());
    b.expect_done(first);
    b.expect_done(longer, wc_status::length_error);
    b.expect_done(last);

    const auto alone = b.post(2 * mtu);
    BOOST_TEST(b.send() == -1);
    BOOST_TEST(b.tx.handed_over()); // or nobody would hear of it
    b.expect_done(alone, wc_status::length_error);
    BOOST_TEST(b.tx.idle());
    BOOST_TEST(!b.tx.handed_over());
}
