/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_responder_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

constexpr std::uint32_t mtu = 256;
constexpr std::uint32_t rkey = 0x1234;

responder_config config_for(service_type service)
{
    responder_config c;
    c.service = service;
    c.mtu = mtu;
    c.first_psn = wire::psn(100);
    c.rkey = rkey;
    return c;
}

// A WRITE of one packet, into the first slot.
void write(responder_bench& b, op o, std::uint32_t bytes)
{
    const bytes_t data(bytes, std::byte{ 0x77 });
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::rc, o);
    p.bth.psn = b.next_psn;
    ++b.next_psn;
    p.reth = { b.posted.front().offset, rkey, bytes };
    p.payload = data.data();
    p.payload_bytes = bytes;
    b.rx.on_packet(p, b.now_ns);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_next_payload_goes_behind_what_has_come)
{
    responder_bench b(config_for(service_type::rc));
    BOOST_TEST((b.rx.next_landing().at == nullptr)); // nothing is posted
    const recv_slot slot = b.post(1000);
    const recv_slot next = b.post(500);
    auto l = b.rx.next_landing();
    BOOST_TEST((l.at == b.ring.data() + slot.offset));
    BOOST_TEST(l.room == 1000u);
    BOOST_TEST(l.mtu == mtu);
    BOOST_TEST(!l.inside);
    BOOST_TEST(l.psn.value() == 100u);
    b.give(op::send_first, bytes_t(mtu));
    l = b.rx.next_landing();
    BOOST_TEST((l.at == b.ring.data() + slot.offset + mtu));
    BOOST_TEST(l.room == 1000u - mtu);
    BOOST_TEST(l.inside);
    BOOST_TEST(l.psn.value() == 101u);
    b.give(op::send_last, bytes_t(10));
    l = b.rx.next_landing();
    BOOST_TEST((l.at == b.ring.data() + next.offset));
    BOOST_TEST(l.room == 500u);
    BOOST_TEST(!l.inside);
}

BOOST_AUTO_TEST_CASE(a_payload_that_lies_in_its_place_stays_there)
{
    responder_bench b(config_for(service_type::rc));
    const recv_slot slot = b.post(1000);
    const bytes_t message = testing::pattern(3, mtu);
    std::byte* const at = b.rx.next_landing().at;
    std::copy(message.begin(), message.end(), at);
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::rc, op::send_only);
    p.bth.psn = b.next_psn;
    p.payload = at;
    p.payload_bytes = mtu;
    BOOST_TEST(b.rx.on_packet(p, b.now_ns));
    BOOST_TEST((b.stored(slot, mtu) == message));
    b.expect_delivered(message);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(nothing_lands_on_what_a_write_has_left)
{
    responder_bench b(config_for(service_type::rc));
    b.post(1000);
    const recv_slot next = b.post(1000);
    write(b, op::write_only, 100);
    BOOST_TEST((b.rx.next_landing().at == nullptr));
    write(b, op::write_only_immediate, 0);
    BOOST_TEST(b.pop().bytes == 100u);
    BOOST_TEST((b.rx.next_landing().at == b.ring.data() + next.offset));
}

BOOST_AUTO_TEST_CASE(where_the_place_is_not_known_nothing_lands)
{
    responder_config split = config_for(service_type::rc);
    split.header_bytes = 16;
    responder_bench headers(split);
    headers.post(1000);
    BOOST_TEST((headers.rx.next_landing().at == nullptr));
    headers.give(op::send_only, testing::pattern(1, 7)); // less than the header
    headers.expect_delivered(testing::pattern(1, 7));

    responder_bench datagrams(config_for(service_type::ud));
    datagrams.post(1000);
    BOOST_TEST((datagrams.rx.next_landing().at == nullptr));

    responder_bench outside(config_for(service_type::rc));
    recv_slot wrong;
    wrong.offset = outside.ring.size();
    wrong.bytes = 1;
    BOOST_REQUIRE(outside.slots.push(wrong));
    BOOST_TEST((outside.rx.next_landing().at == nullptr));
}
