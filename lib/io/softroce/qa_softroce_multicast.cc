/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_raw_peer.h"
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"
#include "testing/process_resources.h"

#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint32_t slot_bytes = 1000;
constexpr std::uint32_t qkey = 0x2468;

// Groups reach every test that runs on this machine at the time.
std::string fresh_group()
{
    return "239.7." + std::to_string(::getpid() % 250 + 1) + "." +
           std::to_string(fresh_number() % 250 + 1);
}

endpoint_config end(std::uint32_t qpn)
{
    endpoint_config c = contract_config(service_type::ud);
    c.endpoint = "softroce";
    c.source = fresh_address(fresh_number());
    c.qpn = qpn;
    c.qkey = qkey;
    return c;
}
endpoint_config member(const std::string& group, std::uint32_t qpn)
{
    endpoint_config c = end(qpn);
    c.group = group;
    return c;
}
endpoint_config sender(const std::string& to, std::uint32_t qpn)
{
    endpoint_config c = end(qpn);
    c.connect = to;
    return c;
}

void expect(contract_end& rx, const bytes_t& data)
{
    const completion c = rx.next();
    BOOST_TEST((rx.stored(c) == data));
    BOOST_TEST(!c.lost);
    rx.post(c.cookie, 1);
}

void start(contract_end& e)
{
    e.post(0, 4);
    e.ep->start();
}

} // namespace

BOOST_AUTO_TEST_CASE(every_member_of_a_group_gets_every_datagram)
{
    const std::string group = fresh_group();
    contract_end first(member(group, 0x11), slot_bytes, 4);
    endpoint_config beside = member(group, 0x12);
    beside.source = first.config.source; // two queue pairs at one address
    contract_end second(beside, slot_bytes, 4);
    contract_end third(member(group, 0x11), slot_bytes, 4);
    contract_end stranger(member(fresh_group(), 0x13), slot_bytes, 4);
    contract_end tx(sender(group, 0x21), slot_bytes, 4);
    contract_end another(sender(group, 0x22), slot_bytes, 4);
    for (contract_end* e : { &first, &second, &third, &stranger, &tx, &another })
        start(*e);
    for (unsigned k = 0; k < 30; ++k)
        for (contract_end* from : { &tx, &another }) {
            from->send(pattern(k, 900 + k), k % 2 != 0, k);
            for (contract_end* rx : { &first, &second, &third })
                expect(*rx, pattern(k, 900 + k));
            BOOST_TEST((from->next_sent().status == wc_status::success));
        }
    for (contract_end* rx : { &first, &second, &third }) {
        BOOST_TEST(rx->ep->counters().messages_received.value() == 60u);
        BOOST_TEST(rx->ep->counters().dropped_icrc.value() == 0u);
        BOOST_TEST((rx->ep->state() == endpoint_state::connected));
        BOOST_TEST(rx->ep->description().find("group " + group) != std::string::npos);
    }
    BOOST_TEST((stranger.ep->state() == endpoint_state::connecting));
    // One goes, the others do not notice.
    first.ep->stop();
    tx.send(pattern(99, 10));
    expect(second, pattern(99, 10));
    expect(third, pattern(99, 10));
}

BOOST_AUTO_TEST_CASE(a_member_has_its_own_queue_pair_number_too)
{
    const std::string group = fresh_group();
    contract_end rx(member(group, 0x31), slot_bytes, 4);
    start(rx);
    endpoint_config to = sender(rx.config.source, 0x32);
    to.remote_qpn = 0x31;
    contract_end direct(to, slot_bytes, 4);
    contract_end tx(sender(group, 0x33), slot_bytes, 4);
    start(direct);
    start(tx);
    direct.send(pattern(1, 100));
    expect(rx, pattern(1, 100));
    tx.send(pattern(2, 100));
    expect(rx, pattern(2, 100));
}

BOOST_AUTO_TEST_CASE(a_sender_may_be_a_member)
{
    const std::string group = fresh_group();
    endpoint_config a = member(group, 0x41);
    endpoint_config b = member(group, 0x42);
    a.connect = b.connect = group;
    contract_end first(a, slot_bytes, 4);
    contract_end second(b, slot_bytes, 4);
    start(first);
    start(second);
    for (contract_end* from : { &first, &second }) {
        from->send(pattern(from->config.qpn, 500));
        expect(first, pattern(from->config.qpn, 500));
        expect(second, pattern(from->config.qpn, 500));
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_for_a_group_is_counted)
{
    const std::string group = fresh_group();
    contract_end rx(member(group, 0x51), slot_bytes, 4);
    start(rx);
    raw_peer peer(fresh_address(fresh_number()), group);
    const bytes_t data = pattern(1, 64);
    const auto packet = [&](std::uint32_t qpn, std::uint32_t key) {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::ud, wire::operation::send_only);
        p.bth.dest_qpn = qpn;
        p.deth.qkey = key;
        p.payload = data.data();
        p.payload_bytes = data.size();
        return p;
    };
    // The number of its queue pair, and that of the connection manager, are not here.
    for (const std::uint32_t qpn : { 0x51u, 1u, 0u })
        peer.send(to_wire(packet(qpn, qkey), peer.flow()));
    peer.send(to_wire(packet(0xffffff, qkey + 1), peer.flow()));
    wire::udp_flow unicast = peer.flow(); // an ICRC over another destination
    unicast.destination = resolve_host(rx.config.source, "source").ip;
    peer.send(to_wire(packet(0xffffff, qkey), unicast));
    datagram cut = to_wire(packet(0xffffff, qkey), peer.flow());
    cut.resize(9);
    peer.send(cut);
    peer.send({});
    peer.send(to_wire(packet(0xffffff, qkey), peer.flow()));
    expect(rx, data);
    const counters& c = rx.ep->counters();
    BOOST_TEST(c.dropped_qpn.value() == 3u);
    BOOST_TEST(c.dropped_qkey.value() == 1u);
    BOOST_TEST(c.dropped_icrc.value() == 1u);
    BOOST_TEST(c.dropped_short.value() == 2u);
    BOOST_TEST(c.messages_received.value() == 1u);
}

BOOST_AUTO_TEST_CASE(a_named_peer_is_the_only_one_heard_in_a_group)
{
    const std::string group = fresh_group();
    endpoint_config c = member(group, 0x61);
    contract_end right(sender(group, 0x62), slot_bytes, 4);
    contract_end wrong(sender(group, 0x63), slot_bytes, 4);
    c.connect = right.config.source;
    contract_end rx(c, slot_bytes, 4);
    for (contract_end* e : { &right, &wrong, &rx })
        start(*e);
    wrong.send(pattern(1, 10));
    BOOST_REQUIRE(await([&] { return rx.ep->counters().dropped_source.value() == 1; }));
    right.send(pattern(2, 10));
    expect(rx, pattern(2, 10));
}

BOOST_AUTO_TEST_CASE(membership_ends_with_the_endpoint)
{
    const std::string group = fresh_group();
    const auto round = [&] {
        contract_end rx(member(group, 0x71), slot_bytes, 4);
        start(rx);
        const auto opened = make_endpoint(member(group, 0x72));
        opened->open();
    };
    round();
    const long descriptors = count_descriptors();
    for (int i = 0; i < 20; ++i)
        round();
    BOOST_TEST(count_descriptors() == descriptors);
}
