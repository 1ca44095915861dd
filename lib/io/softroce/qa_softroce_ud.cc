/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_raw_peer.h"
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint32_t slot_bytes = 600;
constexpr std::uint32_t mtu = 1024;
constexpr std::uint32_t qkey = 0x81234567;

// A receiver that knows nothing but itself.
endpoint_config receiver()
{
    endpoint_config c = contract_config(service_type::ud);
    c.endpoint = "softroce";
    c.source = fresh_address(2 * fresh_number());
    c.qpn = 0x1234;
    c.qkey = qkey;
    return c;
}

endpoint_config sender_to(const endpoint_config& to, std::uint32_t qpn)
{
    endpoint_config c = to;
    c.source = fresh_address(2 * fresh_number() + 1);
    c.connect = to.source;
    c.qpn = qpn;
    c.remote_qpn = to.qpn;
    return c;
}

// A receiver, and a sender that we play.
struct datagram_bench {
    explicit datagram_bench(std::size_t slots = 4)
        : peer(fresh_address(2 * fresh_number() + 1), config.source),
          rx(config, slot_bytes, 4)
    {
        rx.post(0, slots);
        rx.ep->start();
    }
    wire::packet packet(const bytes_t& payload) const
    {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::ud, wire::operation::send_only);
        p.bth.dest_qpn = config.qpn;
        p.bth.pad = static_cast<std::uint8_t>((4 - payload.size() % 4) % 4);
        p.deth.qkey = qkey;
        p.deth.source_qpn = 0x777;
        p.payload = payload.data();
        p.payload_bytes = payload.size();
        return p;
    }
    void send(const wire::packet& p) { peer.send(to_wire(p, peer.flow())); }
    void send(const bytes_t& payload) { send(packet(payload)); }

    completion expect(const bytes_t& payload)
    {
        const completion c = rx.next();
        BOOST_TEST((c.status == wc_status::success));
        BOOST_TEST((rx.stored(c) == payload));
        rx.post(c.cookie, 1);
        return c;
    }
    std::uint64_t count(counter counters::*field) const
    {
        return (rx.ep->counters().*field).value();
    }

    endpoint_config config = receiver();
    raw_peer peer;
    contract_end rx;
};

void check_gap(const gap& g,
               gap_reason reason,
               std::uint64_t messages,
               std::uint64_t bytes)
{
    BOOST_TEST(to_string(g.reason) == to_string(reason));
    BOOST_TEST((g.messages_known && g.bytes_known));
    BOOST_TEST(g.messages == messages);
    BOOST_TEST(g.bytes == bytes);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_first_datagram_connects)
{
    datagram_bench b;
    BOOST_TEST((b.rx.ep->state() == endpoint_state::connecting));
    BOOST_TEST(b.rx.ep->status_text().find("a sender") != std::string::npos);
    const bytes_t data = pattern(1, 501);
    wire::packet wrong = b.packet(data);
    wrong.deth.qkey = qkey + 1;
    b.send(wrong);
    BOOST_REQUIRE(await([&] { return b.count(&counters::dropped_qkey) == 1; }));
    BOOST_TEST((b.rx.ep->state() == endpoint_state::connecting));
    b.send(data);
    b.expect(data);
    BOOST_TEST((b.rx.ep->state() == endpoint_state::connected));
    BOOST_TEST(b.rx.ep->status_text().empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_for_it_is_counted_and_is_no_gap)
{
    datagram_bench b;
    const bytes_t data = pattern(1, 64);
    const auto give = [&](std::uint8_t opcode, std::uint32_t key, std::uint32_t qpn) {
        wire::packet p = b.packet(data);
        p.deth.qkey = key;
        p.bth.dest_qpn = qpn;
        datagram d = to_wire(p, b.peer.flow());
        d[0] = static_cast<std::byte>(opcode);
        seal(d, b.peer.flow());
        b.peer.send(d);
    };
    for (const std::uint32_t key : { 0u, qkey + 1, qkey ^ 0x80000000 })
        give(0x64, key, b.config.qpn);
    for (const std::uint8_t opcode : { 0x04, 0x24, 0x2a }) // RC, UC
        give(opcode, qkey, b.config.qpn);
    for (const std::uint8_t opcode : { 0x60, 0x62, 0x6a }) // UD has none of these
        give(opcode, qkey, b.config.qpn);
    give(0x64, qkey, b.config.qpn + 1);
    give(0x64, qkey, 0xffffff); // of a group, but not sent to one
    b.send(data);
    BOOST_TEST(!b.expect(data).lost);
    BOOST_TEST(b.count(&counters::dropped_qkey) == 3u);
    BOOST_TEST(b.count(&counters::dropped_opcode) == 6u);
    BOOST_TEST(b.count(&counters::dropped_qpn) == 2u);
    BOOST_TEST(b.count(&counters::messages_received) == 1u);
    BOOST_TEST(b.count(&counters::gaps) == 0u);
}

BOOST_AUTO_TEST_CASE(its_psn_says_nothing)
{
    datagram_bench b;
    for (const std::uint32_t psn : { 0x900000u, 5u, 5u, 0xffffffu, 0u }) {
        const bytes_t data = pattern(psn, 100);
        wire::packet p = b.packet(data);
        p.bth.psn = wire::psn(psn);
        b.send(p);
        BOOST_TEST(!b.expect(data).lost);
    }
}

BOOST_AUTO_TEST_CASE(a_datagram_longer_than_slot_or_mtu_is_a_gap)
{
    datagram_bench b;
    b.send(pattern(1, slot_bytes + 1));
    b.send(pattern(2, mtu + 1));
    const bytes_t data = pattern(3, slot_bytes);
    b.send(data);
    check_gap(b.expect(data).lost,
              gap_reason::length_error,
              2,
              std::uint64_t(slot_bytes) + 1 + mtu + 1);
    BOOST_TEST(b.count(&counters::dropped_length) == 2u);
    BOOST_TEST(b.count(&counters::gaps) == 1u);
    b.send(data);
    BOOST_TEST(!b.expect(data).lost);
    BOOST_TEST(b.rx.guards_intact());
}

BOOST_AUTO_TEST_CASE(datagrams_without_a_slot_are_a_gap_of_their_bytes)
{
    datagram_bench b(0);
    std::uint64_t bytes = 0;
    for (const std::size_t n : { 100u, 0u, 333u }) {
        b.send(pattern(n, n));
        bytes += n;
    }
    BOOST_REQUIRE(
        await([&] { return b.count(&counters::messages_dropped_no_slot) == 3; }));
    b.rx.post(0, 2);
    const bytes_t data = pattern(9, 50);
    b.send(data);
    check_gap(b.rx.next().lost, gap_reason::no_slot, 3, bytes);
    b.send(data);
    BOOST_TEST(!b.rx.next().lost);
    b.send(data); // none is left: the stream ends with a gap
    BOOST_REQUIRE(
        await([&] { return b.count(&counters::messages_dropped_no_slot) == 4; }));
    b.rx.ep->stop();
    check_gap(b.rx.ep->trailing_gap(), gap_reason::no_slot, 1, 50);
}

BOOST_AUTO_TEST_CASE(immediates_come_with_datagrams)
{
    datagram_bench b;
    const bytes_t data = pattern(1, 77);
    wire::packet p = b.packet(data);
    p.bth.opcode =
        wire::make_opcode(wire::service::ud, wire::operation::send_only_immediate);
    p.immediate = 0xdeadbeef;
    b.send(p);
    const completion c = b.expect(data);
    BOOST_TEST(c.has_immediate);
    BOOST_TEST(c.immediate == 0xdeadbeef);
    BOOST_TEST((c.opcode == wc_opcode::send_immediate));
}

BOOST_AUTO_TEST_CASE(several_senders_reach_one_queue_pair)
{
    contract_end rx(receiver(), slot_bytes, 4);
    rx.post(0, 4);
    rx.ep->start();
    contract_end first(sender_to(rx.config, 0x21), slot_bytes, 4);
    contract_end second(sender_to(rx.config, 0x22), slot_bytes, 4);
    first.ep->start();
    second.ep->start();
    for (unsigned k = 0; k < 50; ++k)
        for (contract_end* tx : { &first, &second }) {
            tx->send(pattern(k, 10 + k));
            const completion c = rx.next();
            BOOST_REQUIRE((rx.stored(c) == pattern(k, 10 + k)));
            BOOST_REQUIRE(!c.lost);
            rx.post(c.cookie, 1);
            BOOST_TEST((tx->next_sent().status == wc_status::success));
        }
    BOOST_TEST(rx.ep->counters().dropped_icrc.value() == 0u);
    BOOST_TEST((first.ep->state() == endpoint_state::connected));
}

// One sender's habit of numbering IP packets must not shut out another's.
BOOST_AUTO_TEST_CASE(a_sender_with_other_ip_identifications_is_heard_too)
{
    for (const service_type service : { service_type::ud, service_type::uc }) {
        endpoint_config c = receiver();
        c.service = service;
        contract_end rx(c, slot_bytes, 4);
        rx.post(0, 4);
        rx.ep->start();
        raw_peer peer(fresh_address(2 * fresh_number() + 1), c.source);
        const bytes_t data = pattern(1, 64);
        const auto give = [&](std::uint32_t psn, std::uint16_t ip_id) {
            wire::packet p;
            p.bth.opcode = wire::make_opcode(
                service == service_type::ud ? wire::service::ud : wire::service::uc,
                wire::operation::send_only);
            p.bth.dest_qpn = c.qpn;
            p.bth.psn = wire::psn(psn);
            p.deth.qkey = qkey;
            p.payload = data.data();
            p.payload_bytes = data.size();
            peer.send(to_wire(p, peer.flow(), ip_id));
            const completion got = rx.next();
            BOOST_REQUIRE((rx.stored(got) == data));
            rx.post(got.cookie, 1);
        };
        for (std::uint32_t k = 0; k < 1100; ++k)
            give(k, 0);
        for (std::uint32_t k = 0; k < 3; ++k)
            give(1100 + k, static_cast<std::uint16_t>(0x7000 + k));
        BOOST_TEST(rx.ep->counters().dropped_icrc.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_named_peer_is_the_only_one_heard)
{
    endpoint_config c = receiver();
    const std::string right = fresh_address(2 * fresh_number() + 1);
    c.connect = right;
    contract_end rx(c, slot_bytes, 4);
    rx.post(0, 4);
    rx.ep->start();
    contract_end stranger(sender_to(c, 0x31), slot_bytes, 4);
    stranger.ep->start();
    stranger.send(pattern(1, 10));
    BOOST_REQUIRE(await([&] { return rx.ep->counters().dropped_source.value() == 1; }));
    endpoint_config known = sender_to(c, 0x32);
    known.source = right;
    contract_end friendly(known, slot_bytes, 4);
    friendly.ep->start();
    friendly.send(pattern(2, 10));
    BOOST_TEST((rx.stored(rx.next()) == pattern(2, 10)));
}

BOOST_AUTO_TEST_CASE(a_message_longer_than_a_datagram_is_not_sent)
{
    contract_end rx(receiver(), 3000, 4);
    rx.post(0, 4);
    rx.ep->start();
    contract_end tx(sender_to(rx.config, 0x41), 3000, 4);
    tx.ep->start();
    tx.send(pattern(1, mtu));
    tx.send(pattern(2, mtu + 1));
    tx.send(pattern(3, 5));
    BOOST_TEST((tx.next_sent().status == wc_status::success));
    BOOST_TEST((tx.next_sent().status == wc_status::length_error));
    BOOST_TEST((tx.next_sent().status == wc_status::success));
    BOOST_TEST((rx.stored(rx.next()) == pattern(1, mtu)));
    const completion c = rx.next();
    BOOST_TEST((rx.stored(c) == pattern(3, 5)));
    BOOST_TEST(!c.lost);
    BOOST_TEST((tx.ep->state() == endpoint_state::connected));
}

BOOST_AUTO_TEST_CASE(a_receiver_that_knows_no_peer_sends_nothing)
{
    contract_end rx(receiver(), slot_bytes, 4);
    rx.ep->start();
    BOOST_TEST(!rx.send(pattern(1, 10)));
}
