/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Datagrams whose sender finds the receiver through the connection manager.
#include "io/softroce/qa_raw_peer.h"
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"
#include "wire/cm.h"
#include "wire/cma.h"

#include <gnuradio/rdma/error.h>

#include <memory>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint32_t slot_bytes = 1000;

endpoint_config listener()
{
    endpoint_config c = contract_config(service_type::ud);
    c.endpoint = "softroce";
    c.listen = fresh_address(fresh_number()) + ":7475";
    return c;
}
endpoint_config caller_of(const endpoint_config& to)
{
    endpoint_config c = contract_config(service_type::ud);
    c.endpoint = "softroce";
    c.source = fresh_address(fresh_number());
    c.connect = to.listen;
    return c;
}

void start(contract_end& e)
{
    e.post(0, 4);
    e.ep->start();
}
void expect(contract_end& rx, const bytes_t& data)
{
    const completion c = rx.next();
    BOOST_TEST((rx.stored(c) == data));
    BOOST_TEST(!c.lost);
    rx.post(c.cookie, 1);
}

// The QPN behind a port, asked for by hand.
std::uint32_t resolve(raw_peer& peer, std::uint16_t port)
{
    wire::cm_sidr_req req;
    req.request_id = 0x77;
    req.service_id = wire::cma_service_id(wire::cma_port_space::udp, port);
    bytes_t mad(wire::mad_bytes);
    wire::write_cm({ 0x88, req }, mad.data());
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::ud, wire::operation::send_only);
    p.bth.dest_qpn = wire::cm_qpn;
    p.deth.qkey = wire::cm_qkey;
    p.deth.source_qpn = wire::cm_qpn;
    p.payload = mad.data();
    p.payload_bytes = mad.size();
    peer.send(to_wire(p, peer.flow()));
    datagram d;
    wire::packet answer;
    wire::cm_message m;
    BOOST_REQUIRE(peer.receive(d, 10000));
    BOOST_REQUIRE((wire::parse(d.data(), d.size(), answer) == wire::parse_status::ok));
    BOOST_REQUIRE((wire::parse_cm(answer.payload, answer.payload_bytes, m) ==
                   wire::cm_parse_status::ok));
    const auto& rep = std::get<wire::cm_sidr_rep>(m.body);
    BOOST_TEST(m.transaction_id == 0x88u);
    BOOST_TEST(rep.request_id == 0x77u);
    BOOST_TEST((rep.status == wire::cm_sidr_status::valid_qpn));
    return rep.qpn;
}

} // namespace

BOOST_AUTO_TEST_CASE(several_callers_send_to_one_listener)
{
    contract_end rx(listener(), slot_bytes, 4);
    start(rx);
    std::vector<std::unique_ptr<contract_end>> callers;
    for (unsigned k = 0; k < 3; ++k) {
        callers.push_back(
            std::make_unique<contract_end>(caller_of(rx.config), slot_bytes, 4));
        start(*callers.back());
    }
    for (unsigned k = 0; k < 30; ++k) {
        contract_end& tx = *callers[k % 3];
        tx.send(pattern(k, 900 + k), k % 2 != 0, k);
        expect(rx, pattern(k, 900 + k));
        BOOST_TEST((tx.next_sent().status == wc_status::success));
    }
    BOOST_TEST((rx.ep->state() == endpoint_state::connected));
    BOOST_TEST(rx.ep->counters().cm_requests.value() == 3u);
    // No caller's end is the end of the listener, and it may be called again.
    for (const auto& c : callers)
        c->ep->stop();
    contract_end late(caller_of(rx.config), slot_bytes, 4);
    start(late);
    late.send(pattern(77, 10));
    expect(rx, pattern(77, 10));
    BOOST_TEST((rx.ep->state() == endpoint_state::connected));
    BOOST_TEST(!rx.send(pattern(1, 10))); // to whom?
}

BOOST_AUTO_TEST_CASE(a_caller_may_come_first)
{
    const endpoint_config c = listener();
    contract_end tx(caller_of(c), slot_bytes, 4);
    start(tx);
    BOOST_TEST(tx.send(pattern(1, 100))); // waits for the answer
    BOOST_TEST((tx.ep->state() == endpoint_state::connecting));
    BOOST_TEST(tx.ep->status_text() == "connecting to " + c.listen);
    contract_end rx(c, slot_bytes, 4);
    start(rx);
    expect(rx, pattern(1, 100));
    BOOST_TEST((tx.ep->state() == endpoint_state::connected));
}

BOOST_AUTO_TEST_CASE(peers_keeps_others_datagrams_out)
{
    endpoint_config c = listener();
    const endpoint_config right = caller_of(c);
    const endpoint_config wrong = caller_of(c);
    c.peers = right.source;
    contract_end rx(c, slot_bytes, 4);
    start(rx);
    contract_end refused(wrong, slot_bytes, 4);
    start(refused);
    BOOST_TEST(becomes(*refused.ep, endpoint_state::failed));
    BOOST_TEST(refused.ep->status_text().find("list of peers") != std::string::npos);
    BOOST_TEST(rx.ep->counters().cm_refused.value() == 1u);
    refused.ep->stop();
    // Who knows the numbers without having been given them is not heard either.
    const std::string at = c.listen.substr(0, c.listen.find(':'));
    raw_peer friendly(right.source, at);
    raw_peer spy(wrong.source, at);
    const bytes_t data = pattern(2, 64);
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::ud, wire::operation::send_only);
    p.bth.dest_qpn = resolve(friendly, 7475);
    p.deth.qkey = wire::cma_udp_qkey;
    p.payload = data.data();
    p.payload_bytes = data.size();
    spy.send(to_wire(p, spy.flow()));
    BOOST_TEST(await([&] { return rx.ep->counters().dropped_source.value() == 1; }));
    friendly.send(to_wire(p, friendly.flow()));
    expect(rx, data);
}

BOOST_AUTO_TEST_CASE(nobody_listens_for_datagrams_at_a_connections_port)
{
    endpoint_config c = listener();
    c.service = service_type::rc;
    contract_end rc(c, slot_bytes, 4);
    start(rc);
    contract_end tx(caller_of(c), slot_bytes, 4);
    start(tx);
    BOOST_TEST(becomes(*tx.ep, endpoint_state::failed));
    BOOST_TEST(tx.ep->status_text().find("nobody listens there with service='ud'") !=
               std::string::npos);
    BOOST_TEST((rc.ep->state() == endpoint_state::connecting));
    // The port spaces are apart: both may listen on one port.
    c.service = service_type::ud;
    contract_end ud(c, slot_bytes, 4);
    start(ud);
    contract_end again(caller_of(c), slot_bytes, 4);
    start(again);
    again.send(pattern(3, 100));
    expect(ud, pattern(3, 100));
}

BOOST_AUTO_TEST_CASE(a_silent_address_is_given_up)
{
    endpoint_config c = caller_of(listener());
    c.connect_timeout_ns = 300000000;
    contract_end tx(c, slot_bytes, 4);
    start(tx);
    tx.send(pattern(1, 100));
    BOOST_TEST((tx.next_sent().status == wc_status::flushed));
    BOOST_TEST(becomes(*tx.ep, endpoint_state::failed));
    BOOST_TEST(tx.ep->status_text().find("no answer from " + c.connect) == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_datagram_service_cannot_have_is_refused)
{
    const auto refused = [](endpoint_config c, const char* word) {
        std::string said = "nothing";
        try {
            make_endpoint(c)->open();
        } catch (const config_error& e) {
            said = e.what();
        }
        BOOST_TEST_CONTEXT(said) BOOST_TEST(said.find(word) != std::string::npos);
    };
    endpoint_config c = listener();
    c.qkey = 5;
    refused(c, "qkey=5 needs qpn");
    c = listener();
    c.group = "239.1.2.3";
    refused(c, "qpn is missing: a multicast group");
    c = caller_of(listener());
    c.connect = "239.1.2.3";
    refused(c, "qpn is missing: a multicast group");
    c = listener();
    c.mtu = 0;
    c.message_bytes = 4097;
    refused(c, "at most mtu=4096");
    c.mtu = 1024;
    c.message_bytes = 1025;
    refused(c, "at most mtu=1024");
    c = listener();
    c.private_data.resize(57);
    refused(c, "private_data has 57 bytes");
    const endpoint_config first = listener();
    const auto there = make_endpoint(first);
    there->open();
    refused(first, "port 7475 is in use");
}
