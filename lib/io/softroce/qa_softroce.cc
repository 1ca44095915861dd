/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_raw_peer.h"
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"

#include <functional>
#include <random>
#include <set>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint32_t slot_bytes = 1500;
constexpr std::uint32_t mtu = 1024;

// A running stream: the endpoint receives from a peer that we play.
struct running_stream {
    explicit running_stream(service_type service)
        : configs(softroce_endpoints().make(contract_config(service))),
          peer(configs.first.source, configs.first.connect),
          rx(configs.second, slot_bytes, 4),
          next_psn(configs.first.psn)
    {
        rx.post(0, 4);
        rx.ep->start();
        message();
    }

    wire::packet packet(const bytes_t& payload) const
    {
        wire::packet p;
        const auto service =
            rx.config.service == service_type::rc ? wire::service::rc : wire::service::uc;
        p.bth.opcode = wire::make_opcode(service, wire::operation::send_only);
        p.bth.dest_qpn = rx.config.qpn;
        p.bth.psn = next_psn;
        p.bth.pad = static_cast<std::uint8_t>((4 - payload.size() % 4) % 4);
        p.payload = payload.data();
        p.payload_bytes = payload.size();
        return p;
    }
    datagram wire_of(const wire::packet& p) const { return to_wire(p, peer.flow()); }

    //! A right message goes through, with nothing lost in front of it.
    void message(gap_reason lost = gap_reason::none)
    {
        ++d_count;
        const bytes_t data = pattern(d_count, 700 + d_count);
        peer.send(wire_of(packet(data)));
        ++next_psn;
        const completion c = rx.next();
        BOOST_TEST((c.status == wc_status::success));
        BOOST_TEST((rx.stored(c) == data));
        BOOST_TEST(to_string(c.lost.reason) == to_string(lost));
        rx.post(c.cookie, 1);
    }

    std::uint64_t count(counter counters::*field) const
    {
        return (rx.ep->counters().*field).value();
    }

    std::pair<endpoint_config, endpoint_config> configs;
    raw_peer peer;
    contract_end rx;
    wire::psn next_psn;

private:
    unsigned d_count = 0;
};

struct junk {
    const char* name;
    counter counters::*field;
    std::function<datagram(running_stream&)> make;
};

datagram short_of(running_stream& s, std::size_t bytes)
{
    datagram d = s.wire_of(s.packet(pattern(1, 64)));
    d.resize(bytes);
    return d;
}

// Right in everything but what `spoil` does to the packet.
std::function<datagram(running_stream&)>
spoiled(const std::function<void(running_stream&, wire::packet&)>& spoil)
{
    return [spoil](running_stream& s) {
        static bytes_t data;
        data = pattern(2, 61);
        wire::packet p = s.packet(data);
        spoil(s, p);
        return s.wire_of(p);
    };
}

// Right in everything but one byte of the datagram, and its ICRC right again.
std::function<datagram(running_stream&)> poked(std::size_t at, unsigned value)
{
    return [at, value](running_stream& s) {
        datagram d = s.wire_of(s.packet(pattern(3, 61)));
        d[at] = static_cast<std::byte>(value);
        seal(d, s.peer.flow());
        return d;
    };
}

const junk all_junk[] = {
    { "empty", &counters::dropped_short, [](auto& s) { return short_of(s, 0); } },
    { "1 byte", &counters::dropped_short, [](auto& s) { return short_of(s, 1); } },
    { "half a BTH", &counters::dropped_short, [](auto& s) { return short_of(s, 7); } },
    { "no ICRC", &counters::dropped_short, [](auto& s) { return short_of(s, 15); } },
    { "version 1", &counters::dropped_version, poked(1, 0x31) },
    { "P_Key of another partition", &counters::dropped_pkey, poked(2, 0x12) },
    { "P_Key 0x8000", &counters::dropped_pkey, spoiled([](auto&, auto& p) {
          p.bth.pkey = 0x8000;
      }) },
    { "reserved opcode", &counters::dropped_opcode, poked(0, 0xff) },
    { "opcode of UD", &counters::dropped_opcode, poked(0, 0x64) },
    { "WRITE of another service",
      &counters::dropped_opcode,
      [](auto& s) {
          const bool rc = s.rx.config.service == service_type::rc;
          return poked(0, rc ? 0x2a : 0x0a)(s);
      } },
    { "READ response", &counters::dropped_opcode, poked(0, 0x10) },
    { "pad above the payload",
      &counters::dropped_pad,
      [](auto& s) {
          datagram d = s.wire_of(s.packet({}));
          d.insert(d.begin() + 12, 2, std::byte{ 0 });
          d[1] |= std::byte{ 0x30 }; // 3 bytes of 2
          seal(d, s.peer.flow());
          return d;
      } },
    { "other QPN", &counters::dropped_qpn, spoiled([](auto&, auto& p) {
          ++p.bth.dest_qpn;
      }) },
    { "QPN 0", &counters::dropped_qpn, spoiled([](auto&, auto& p) {
          p.bth.dest_qpn = 0;
      }) },
    { "late PSN", &counters::duplicates, spoiled([](auto&, auto& p) {
          p.bth.psn = p.bth.psn - 1;
      }) },
    { "PSN far behind", &counters::dropped_psn, spoiled([](auto&, auto& p) {
          p.bth.psn = p.bth.psn - 0x500000;
      }) },
    { "PSN far ahead", &counters::dropped_psn, spoiled([](auto&, auto& p) {
          p.bth.psn = p.bth.psn + 0x500000;
      }) },
    { "payload above the MTU",
      &counters::dropped_length,
      [](auto& s) {
          const bytes_t data = pattern(4, mtu + 4);
          return s.wire_of(s.packet(data));
      } },
    { "wrong ICRC",
      &counters::dropped_icrc,
      [](auto& s) {
          datagram d = s.wire_of(s.packet(pattern(5, 61)));
          d[20] ^= std::byte{ 0x10 };
          d[33] ^= std::byte{ 0x81 };
          return d;
      } },
    { "no ICRC at all",
      &counters::dropped_icrc,
      [](auto& s) {
          datagram d = s.wire_of(s.packet(pattern(5, 64)));
          std::fill(d.end() - 4, d.end(), std::byte{ 0 });
          return d;
      } },
};

} // namespace

BOOST_AUTO_TEST_CASE(junk_is_counted_and_breaks_nothing)
{
    for (const service_type service : both_services) {
        running_stream s(service);
        for (const junk& j : all_junk)
            for (int twice = 0; twice < 2; ++twice)
                BOOST_TEST_CONTEXT(to_string(service) << ": " << j.name)
                {
                    const std::uint64_t before = s.count(j.field);
                    s.peer.send(j.make(s));
                    s.message();
                    BOOST_TEST(s.count(j.field) == before + 1);
                }
        BOOST_TEST(s.rx.guards_intact());
        BOOST_TEST((s.rx.ep->state() == endpoint_state::connected));
        BOOST_TEST(s.count(&counters::gaps) == 0u);
        BOOST_TEST(s.count(&counters::packets_lost) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_limited_member_of_the_partition_is_heard)
{
    running_stream s(service_type::uc);
    const bytes_t data = pattern(1, 100);
    wire::packet p = s.packet(data);
    p.bth.pkey = 0x7fff;
    s.peer.send(s.wire_of(p));
    BOOST_TEST((s.rx.stored(s.rx.next()) == data));
    BOOST_TEST(s.count(&counters::dropped_pkey) == 0u);
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_of_another_service_is_junk)
{
    running_stream s(service_type::uc);
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::rc, wire::operation::acknowledge);
    p.bth.dest_qpn = s.rx.config.qpn;
    s.peer.send(s.wire_of(p));
    s.message();
    BOOST_TEST(s.count(&counters::dropped_opcode) == 1u);
    BOOST_TEST(s.count(&counters::acks_received) == 0u);
}

BOOST_AUTO_TEST_CASE(packets_from_elsewhere_are_junk)
{
    for (const service_type service : both_services) {
        running_stream s(service);
        raw_peer other(fresh_address(2 * fresh_number()), s.rx.config.source);
        const bytes_t data = pattern(1, 100);
        other.send(to_wire(s.packet(data), other.flow()));
        s.message();
        BOOST_TEST(s.count(&counters::dropped_source) == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_message_longer_than_the_posted_buffer)
{
    for (const service_type service : both_services) {
        running_stream s(service);
        const bytes_t data = pattern(1, mtu);
        wire::packet p = s.packet(data);
        p.bth.opcode &= 0xe0; // SEND FIRST
        s.peer.send(s.wire_of(p));
        p.bth.opcode |= 2; // SEND LAST: 2048 bytes into 1500
        p.bth.psn = p.bth.psn + 1;
        s.peer.send(s.wire_of(p));
        if (service == service_type::uc) {
            s.next_psn = p.bth.psn + 1;
            s.message(gap_reason::length_error);
        } else {
            s.next_psn = p.bth.psn; // refused, so not accepted
            s.message();
        }
        BOOST_TEST(s.count(&counters::dropped_length) == 1u);
        BOOST_TEST(s.rx.guards_intact());
    }
}

BOOST_AUTO_TEST_CASE(a_write_without_the_key_is_refused)
{
    for (const service_type service : both_services) {
        running_stream s(service);
        const bytes_t data = pattern(1, 64);
        wire::packet p = s.packet(data);
        p.bth.opcode = (p.bth.opcode & 0xe0) | 0x0a; // WRITE ONLY
        p.reth.address = s.rx.slot(1).offset;        // the slot that is next
        p.reth.bytes = 64;
        p.reth.rkey = 0x12345678;
        s.peer.send(s.wire_of(p));
        if (service == service_type::uc) {
            s.next_psn = p.bth.psn + 1;
            s.message(gap_reason::access_error);
        } else {
            s.message(); // refused, so its PSN is still expected
        }
        BOOST_TEST(s.count(&counters::dropped_access) == 1u);
        BOOST_TEST(s.rx.guards_intact());
    }
}

BOOST_AUTO_TEST_CASE(random_packets_break_nothing)
{
    std::mt19937 random(4);
    for (const service_type service : both_services) {
        running_stream s(service);
        for (int k = 0; k < 3000; ++k) {
            datagram d = s.wire_of(s.packet(pattern(random(), random() % 1100)));
            for (unsigned n = random() % 6; n != 0 && !d.empty(); --n)
                d[random() % std::min<std::size_t>(d.size(), 20)] = std::byte(random());
            if (random() % 4 == 0)
                d.resize(random() % (d.size() + 1));
            if (random() % 2 == 0 && d.size() >= 16)
                seal(d, s.peer.flow());
            s.peer.send(d);
            if (k % 16 == 0) { // no faster than it is read

                const std::uint64_t before = s.count(&counters::dropped_short);
                s.peer.send({});
                BOOST_REQUIRE(
                    await([&] { return s.count(&counters::dropped_short) > before; }));
            }
            for (const completion& c : s.rx.all())
                s.rx.post(c.cookie, 1);
        }
        BOOST_TEST(s.rx.guards_intact());
        s.rx.ep->stop();
        std::set<std::uint64_t> cookies;
        for (const completion& c : s.rx.all())
            cookies.insert(c.cookie);
        BOOST_TEST(cookies.size() == 4u);
    }
}

BOOST_AUTO_TEST_CASE(answers_are_right_packets)
{
    running_stream s(service_type::rc);
    datagram d;
    BOOST_REQUIRE(s.peer.receive(d, 10000));
    wire::packet p;
    BOOST_REQUIRE((wire::parse(d.data(), d.size(), p) == wire::parse_status::ok));
    BOOST_TEST(p.bth.opcode == 0x11);
    BOOST_TEST(p.bth.dest_qpn == s.configs.first.qpn);
    BOOST_TEST(p.bth.psn.value() == s.configs.first.psn);
    BOOST_TEST((p.aeth.kind == wire::aeth_kind::ack));
    BOOST_TEST(p.aeth.msn == 1u);
    const wire::udp_flow back{
        s.peer.flow().destination, s.peer.flow().source, 4791, 4791
    };
    BOOST_TEST(p.icrc == wire::icrc(back, 0, true, d.data(), d.size() - 4, nullptr, 0));
}

BOOST_AUTO_TEST_CASE(a_stream_without_a_named_peer_takes_any_sender)
{
    endpoint_config c =
        softroce_endpoints().make(contract_config(service_type::uc)).first;
    const std::string sender = c.connect;
    c.connect.clear();
    c.remote_qpn = 0;
    contract_end rx(c, slot_bytes, 4);
    rx.post(0, 4);
    rx.ep->start();
    BOOST_TEST(rx.ep->status_text().find("a sender") != std::string::npos);
    BOOST_TEST(!rx.send(pattern(1, 10))); // to whom?
    raw_peer peer(sender, c.source);
    const bytes_t data = pattern(1, 100);
    wire::packet p;
    p.bth.opcode = wire::make_opcode(wire::service::uc, wire::operation::send_only);
    p.bth.dest_qpn = c.qpn;
    p.bth.psn = wire::psn(c.remote_psn);
    p.payload = data.data();
    p.payload_bytes = data.size();
    peer.send(to_wire(p, peer.flow()));
    BOOST_TEST((rx.stored(rx.next()) == data));
    BOOST_TEST((rx.ep->state() == endpoint_state::connected));
}
