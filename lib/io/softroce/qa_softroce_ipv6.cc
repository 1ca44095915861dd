/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What is particular to IPv6: interfaces of link-local addresses, checksums left out,
// groups, and what does not go together.
#include "io/softroce/qa_raw_peer.h"
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"
#include "testing/own_network.h"

#include <gnuradio/rdma/error.h>

#include <functional>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using namespace gr::rdma::testing;

namespace {

// Two links with the same link-local addresses.
struct two_links : own_ipv6_network {
    two_links()
    {
        for (const char* link : { "gr_one", "gr_two" })
            if (!shell(std::string("ip link add ") + link + " type veth peer name " +
                       link + "p && ip link set " + link + " addrgenmode none && " +
                       "ip link set " + link + "p addrgenmode none up && " +
                       "ip link set " + link + " mtu 5000 up && " +
                       "ip addr add fe80::a/64 dev " + link + " nodad && " +
                       "ip addr add fe80::b/64 dev " + link + " nodad && " +
                       "ip addr add fd92::" + (link[3] == 'o' ? "1" : "2") + "/128 dev " +
                       link + " nodad"))
                skip("root", "a veth pair with link-local addresses");
    }
};
BOOST_GLOBAL_FIXTURE(two_links);

constexpr std::uint32_t slot_bytes = 2000;

endpoint_config datagrams(const std::string& source, std::uint32_t qpn)
{
    endpoint_config c = contract_config(service_type::ud);
    c.endpoint = "softroce";
    c.source = source;
    c.qpn = qpn;
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

void check_refused(endpoint_config c, const std::vector<std::string>& words)
{
    std::string said = "nothing";
    try {
        make_endpoint(c)->open();
    } catch (const config_error& e) {
        said = e.what();
    }
    for (const std::string& word : words)
        if (said.find(word) == std::string::npos)
            BOOST_ERROR("'" << said << "' does not say '" << word << "'");
}

wire::packet datagram_to(std::uint32_t qpn, const endpoint_config& c, const bytes_t& data)
{
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::ud, wire::operation::send_only);
    p.bth.dest_qpn = qpn;
    p.deth.qkey = c.qkey;
    p.payload = data.data();
    p.payload_bytes = data.size();
    return p;
}

} // namespace

BOOST_AUTO_TEST_CASE(link_local_addresses_belong_to_their_interface)
{
    // The same two addresses on both links, at the same time.
    std::vector<std::unique_ptr<contract_end>> ends;
    for (const char* link : { "%gr_one", "%gr_two" }) {
        auto both = softroce_ipv6_endpoints().make(contract_config(service_type::rc));
        both.first.source = both.second.connect = std::string("fe80::a") + link;
        both.first.connect = both.second.source = std::string("fe80::b") + link;
        for (const auto& c : { both.second, both.first }) {
            ends.push_back(std::make_unique<contract_end>(c, slot_bytes, 4));
            start(*ends.back());
        }
    }
    for (unsigned k = 0; k < 4; k += 2) {
        ends[k + 1]->send(pattern(k, 1900));
        expect(*ends[k], pattern(k, 1900));
        BOOST_TEST((ends[k + 1]->next_sent().status == wc_status::success));
    }
}

BOOST_AUTO_TEST_CASE(the_connection_manager_calls_link_local_addresses)
{
    endpoint_config listener = contract_config(service_type::rc);
    listener.endpoint = "softroce";
    listener.listen = "[fe80::b%gr_one]:7472";
    listener.peers = "fe80::a%gr_one,fe80::b%gr_one";
    endpoint_config caller = contract_config(service_type::rc);
    caller.endpoint = "softroce";
    caller.connect = listener.listen; // and the source is found by the route
    contract_end rx(listener, slot_bytes, 4);
    start(rx);
    contract_end tx(caller, slot_bytes, 4);
    start(tx);
    tx.send(pattern(5, 1800));
    expect(rx, pattern(5, 1800));
    tx.ep->stop();
    BOOST_TEST(becomes(*rx.ep, endpoint_state::closed));
}

BOOST_AUTO_TEST_CASE(packets_without_a_udp_checksum_are_taken)
{
    const endpoint_config c = datagrams(fresh_address_ipv6(2 * fresh_number()), 0x31);
    contract_end rx(c, slot_bytes, 4);
    start(rx);
    raw_peer peer(fresh_address_ipv6(2 * fresh_number() + 1), c.source);
    const int one = 1;
    constexpr int no_check6_tx = 101; // UDP_NO_CHECK6_TX
    BOOST_REQUIRE(::setsockopt(peer.fd(), SOL_UDP, no_check6_tx, &one, sizeof one) == 0);
    const bytes_t data = pattern(1, 64);
    peer.send(to_wire(datagram_to(0x31, c, data), peer.flow()));
    expect(rx, data);
}

BOOST_AUTO_TEST_CASE(a_wrong_icrc_is_always_seen)
{
    const endpoint_config c = datagrams(fresh_address_ipv6(2 * fresh_number()), 0x32);
    contract_end rx(c, slot_bytes, 4);
    start(rx);
    raw_peer peer(fresh_address_ipv6(2 * fresh_number() + 1), c.source);
    const bytes_t data = pattern(2, 64);
    const datagram right = to_wire(datagram_to(0x32, c, data), peer.flow());
    for (std::size_t at = 12; at < right.size(); ++at) {
        datagram wrong = right;
        wrong[at] ^= std::byte{ 1 };
        peer.send(wrong);
    }
    wire::udp_flow other = peer.flow(); // sealed for another destination
    other.destination = other.source;
    peer.send(to_wire(datagram_to(0x32, c, data), other));
    peer.send(right);
    expect(rx, data);
    BOOST_TEST(rx.ep->counters().dropped_icrc.value() == right.size() - 12 + 1);
    BOOST_TEST(rx.ep->counters().icrc_checked.value() == 1u);
}

BOOST_AUTO_TEST_CASE(only_the_named_peer_is_heard)
{
    endpoint_config c = datagrams(fresh_address_ipv6(2 * fresh_number()), 0x33);
    const std::string wrong = fresh_address_ipv6(2 * fresh_number() + 1);
    c.connect = "[" + fresh_address_ipv6(2 * fresh_number() + 1) + "]"; // may have them
    contract_end rx(c, slot_bytes, 4);
    start(rx);
    const bytes_t data = pattern(3, 64);
    raw_peer stranger(wrong, c.source);
    stranger.send(to_wire(datagram_to(0x33, c, data), stranger.flow()));
    raw_peer peer(c.connect, c.source);
    peer.send(to_wire(datagram_to(0x33, c, data), peer.flow()));
    expect(rx, data);
    BOOST_TEST(rx.ep->counters().dropped_source.value() == 1u);
}

BOOST_AUTO_TEST_CASE(groups_are_joined_on_the_interface_of_the_own_address)
{
    for (const char* group : { "ff15::9105", "ff02::9105" }) {
        std::vector<std::unique_ptr<contract_end>> members;
        for (const char* source : { "fd92::1", "fe80::b%gr_one", "fd92::2" }) {
            endpoint_config c = datagrams(source, 0x41);
            c.group = group;
            members.push_back(std::make_unique<contract_end>(c, slot_bytes, 4));
            start(*members.back());
        }
        endpoint_config c = datagrams("fe80::a%gr_one", 0x42);
        c.connect = group;
        contract_end tx(c, slot_bytes, 4);
        start(tx);
        tx.send(pattern(1, 900));
        expect(*members[0], pattern(1, 900));
        expect(*members[1], pattern(1, 900));
        BOOST_TEST(members[0]->ep->counters().dropped_icrc.value() == 0u);
        // The third is on the other link.
        c.source = "fd92::2";
        c.qpn = 0x43;
        c.connect = group + std::string("%gr_two");
        contract_end there(c, slot_bytes, 4);
        start(there);
        there.send(pattern(2, 800));
        expect(*members[2], pattern(2, 800));
        BOOST_TEST(members[0]->ep->counters().messages_received.value() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_source_is_found_by_the_route)
{
    endpoint_config c = datagrams("", 0x51);
    c.remote_qpn = 0x52;
    c.connect = "fe80::b%gr_two";
    const auto e = make_endpoint(c);
    e->open();
    endpoint_config same = c;
    same.source = "fe80::a%gr_two";
    endpoint_config also = c;
    also.source = "fe80::b%gr_two";
    unsigned refused = 0; // one of them is where e is
    for (const auto& other : { same, also }) {
        try {
            make_endpoint(other)->open();
        } catch (const config_error&) {
            ++refused;
        }
    }
    BOOST_TEST(refused == 1u);
    c.connect = "2001:db8::1";
    check_refused(c, { "connect='2001:db8::1'", "no route" });
}

BOOST_AUTO_TEST_CASE(what_does_not_go_together_is_refused)
{
    const auto bad = [](const std::function<void(endpoint_config&)>& spoil,
                        const std::vector<std::string>& words) {
        endpoint_config c = contract_config(service_type::rc);
        c.endpoint = "softroce";
        c.source = "fd91::1";
        c.connect = "fd91::2";
        c.qpn = c.remote_qpn = 0x61;
        spoil(c);
        check_refused(c, words);
    };
    bad([](auto& c) { c.connect = "127.0.0.2"; },
        { "source='fd91::1' is IPv6", "connect='127.0.0.2' IPv4", "one of them" });
    bad([](auto& c) { c.source = "127.0.0.2"; }, { "source='127.0.0.2' is IPv4" });
    bad([](auto& c) { c.source = "fe80::a"; }, { "source='fe80::a'", "fe80::a%eth0" });
    bad([](auto& c) { c.connect = "::ffff:127.0.0.1"; }, { "give 127.0.0.1" });
    bad([](auto& c) { c.connect = "[fd91::2]:4791"; },
        { "connect='[fd91::2]:4791' has a port" });
    bad([](auto& c) { c.connect = "::"; }, { "connect='::' is the address of no host" });
    bad([](auto& c) { c.source = "::"; },
        { "source='::' is no address", "fd91::1 (lo)" });
    bad([](auto& c) { c.source = "fe80::a%lo"; },
        { "source='fe80::a%lo' is no address", "fe80::a%gr_one (gr_one)" });
    bad([](auto& c) { c.connect = "fe80::b%gr_one"; },
        { "connect=fe80::b is on another interface", "fd91::1" });
    bad(
        [](auto& c) {
            c.source = "fe80::a%gr_two";
            c.connect = "fe80::b%gr_one";
        },
        { "connect=fe80::b is on another interface" });
    bad([](auto& c) { c.connect = "fe80::b%gr_none"; }, { "no interface 'gr_none'" });
    const auto bad_group = [&](const char* group, const std::vector<std::string>& words) {
        bad(
            [&](auto& c) {
                c.service = service_type::ud;
                c.group = group;
            },
            words);
    };
    bad_group("239.1.2.3", { "group='239.1.2.3' IPv4" });
    bad_group("fd91::3", { "group='fd91::3' is no multicast address", "ff15::/16" });
    bad_group("ff15::1%gr_one", { "group=ff15::1 is on another interface" });
    const auto bad_cm = [&](const char* listen, const char* peers, const char* word) {
        bad(
            [&](auto& c) {
                c.qpn = c.remote_qpn = 0;
                c.connect.clear();
                c.source.clear();
                c.listen = listen;
                c.peers = peers;
            },
            { word });
    };
    bad_cm("::1", "", "[::1]:18515");
    bad_cm("[fd91::1]:7473", "127.0.0.1", "peers='127.0.0.1' IPv4");
    bad_cm("127.0.0.1:7473", "fd91::2", "peers='fd91::2' IPv6");
    bad_cm("[fd91::1]:7473", "fe80::2", "peers='fe80::2'");
    bad_cm("[fe80::a%gr_one]:7473", "fe80::b%gr_two", "peers=fe80::b is on another");
    bad_cm("[fd91::77ff]:7473", "", "listen='fd91::77ff' is no address");
}
