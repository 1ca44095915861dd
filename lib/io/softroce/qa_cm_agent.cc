/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/cm_agent.h"
#include "wire/cma.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

constexpr auto own = wire::ip_address::ipv4(0x0a000001);
constexpr auto other = wire::ip_address::ipv4(0x0a000002);
constexpr std::uint16_t port = 18515;
constexpr auto third = wire::ip_address::ipv4(0x0a000003);
constexpr std::int64_t now_ns = 1000;
constexpr std::int64_t ms = 1000000;

// An agent with one queue pair; the test is the peer.
struct bench {
    explicit bench(bool listens) : qp(config())
    {
        qp.own_address = own;
        qp.uses_cm = true;
        qp.listens = listens;
        qp.port = port;
        qp.peer_address = listens ? wire::ip_address() : other;
    }
    static endpoint_config config()
    {
        endpoint_config c;
        c.qpn = 0x11;
        return c;
    }

    void give(const wire::cm_message& m,
              const wire::ip_address& from = other,
              std::int64_t at_ns = now_ns)
    {
        std::array<std::byte, wire::mad_bytes> mad;
        wire::write_cm(m, mad.data());
        wire::packet p;
        p.deth.qkey = wire::cm_qkey;
        p.payload = mad.data();
        p.payload_bytes = mad.size();
        agent.on_packet(p, from, { &qp }, at_ns);
    }
    template <typename M>
    M take(const wire::ip_address& to = other)
    {
        cm_outgoing out;
        BOOST_REQUIRE(agent.take(out));
        BOOST_TEST((out.destination == to));
        BOOST_REQUIRE(std::holds_alternative<M>(out.message.body));
        transaction = out.message.transaction_id;
        return std::get<M>(out.message.body);
    }

    bool silent()
    {
        cm_outgoing out;
        return !agent.take(out);
    }
    // A peer with this communication ID asks for a connection.
    void ask(const wire::ip_address& from, std::uint32_t comm_id, std::int64_t at_ns)
    {
        wire::cm_req req;
        req.local_comm_id = comm_id;
        req.local_qpn = 0x22;
        req.service_id = wire::cma_service_id(wire::cma_port_space::tcp, port);
        req.path_mtu = 3;
        give({ comm_id, req }, from, at_ns);
    }
    // ... and is ready to use the one that it got.
    void ready(const wire::cm_rep& rep, const wire::ip_address& from, std::int64_t at_ns)
    {
        wire::cm_rtu rtu;
        rtu.local_comm_id = rep.remote_comm_id;
        rtu.remote_comm_id = rep.local_comm_id;
        give({ 5, rtu }, from, at_ns);
    }
    wire::cm_rep connect(const wire::ip_address& from, std::uint32_t comm_id)
    {
        ask(from, comm_id, now_ns);
        const auto rep = take<wire::cm_rep>(from);
        ready(rep, from, now_ns);
        return rep;
    }

    // The PSN that a message begins with.
    std::uint32_t sends()
    {
        const std::byte byte{};
        send_request r;
        r.data = &byte;
        r.bytes = 1;
        BOOST_REQUIRE(qp.requests.push(r));
        outgoing out;
        BOOST_REQUIRE(qp.tx->next(out, now_ns));
        return out.packet.bth.psn.value();
    }
    // Is a message that begins with this PSN in its place? No receive is posted, so the
    // answer is an RNR NAK for just that.
    bool expects(wire::psn psn)
    {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::rc, wire::operation::send_only);
        p.bth.psn = psn;
        qp.rx->on_packet(p, now_ns);
        wire::packet a;
        qp.rx->take_ack(a);
        return a.aeth.kind == wire::aeth_kind::rnr_nak && a.bth.psn == psn;
    }

    cm_agent agent;
    queue_pair qp;
    std::uint64_t transaction = 0;
};

} // namespace

// The starting PSN is what the receiver of a REQ or REP begins to send with, not what the
// sender of it does; Linux's CM was seen to do so.
BOOST_AUTO_TEST_CASE(a_listener_begins_with_the_psn_of_the_request)
{
    bench b(true);
    wire::cm_req req;
    req.local_comm_id = 77;
    req.local_qpn = 0x22;
    req.service_id = wire::cma_service_id(wire::cma_port_space::tcp, port);
    req.path_mtu = 3;
    req.starting_psn = wire::psn(0x123456);
    b.give({ 5, req });
    const auto rep = b.take<wire::cm_rep>();
    wire::cm_rtu rtu;
    rtu.local_comm_id = req.local_comm_id;
    rtu.remote_comm_id = rep.local_comm_id;
    b.give({ 5, rtu });
    BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
    BOOST_TEST(b.sends() == 0x123456u);
    BOOST_TEST(b.expects(rep.starting_psn));
}

BOOST_AUTO_TEST_CASE(a_caller_begins_with_the_psn_of_the_reply)
{
    bench b(false);
    b.agent.serve(b.qp, now_ns);
    const auto req = b.take<wire::cm_req>();
    wire::cm_rep rep;
    rep.local_comm_id = 77;
    rep.remote_comm_id = req.local_comm_id;
    rep.local_qpn = 0x22;
    rep.starting_psn = wire::psn(0x123456);
    b.give({ b.transaction, rep });
    b.take<wire::cm_rtu>();
    BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
    BOOST_TEST(b.sends() == 0x123456u);
    BOOST_TEST(b.expects(req.starting_psn));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_told_in_the_words_of_the_peer)
{
    const auto told = [](const std::string& words) {
        bench b(false);
        b.agent.serve(b.qp, now_ns);
        wire::cm_rej rej;
        rej.remote_comm_id = b.take<wire::cm_req>().local_comm_id;
        rej.reason = wire::cm_rej_reason::consumer_reject;
        for (std::size_t i = 0; i < words.size(); ++i)
            rej.private_data[i] = static_cast<std::byte>(words[i]);
        b.give({ b.transaction, rej });
        BOOST_TEST((b.qp.state.load() == endpoint_state::failed));
        return b.qp.status_text();
    };
    const std::string refused =
        "the peer 10.0.0.2:18515 refused the connection: rejected by the consumer "
        "(reason 28); ";
    BOOST_TEST(told("path MTU 2048, here 256") ==
               refused + "it says 'path MTU 2048, here 256'");
    BOOST_TEST(told("") == refused + "its list of peers may not have 10.0.0.1");
    BOOST_TEST(told("\033[2J") == refused + "its list of peers may not have 10.0.0.1");
}

BOOST_AUTO_TEST_CASE(a_listener_tells_that_its_peer_broke_off)
{
    bench b(true);
    const auto rep = b.connect(other, 7);
    wire::cm_rej rej;
    rej.local_comm_id = 7;
    rej.remote_comm_id = rep.local_comm_id;
    rej.reason = wire::cm_rej_reason::consumer_reject;
    b.give({ b.transaction, rej });
    BOOST_TEST((b.qp.state.load() == endpoint_state::failed));
    BOOST_TEST(b.qp.status_text() == "the peer 10.0.0.2 broke the connection off: "
                                     "rejected by the consumer (reason 28)");
}

BOOST_AUTO_TEST_CASE(who_calls_a_listener_that_is_about_to_start_is_not_sent_away)
{
    bench b(false); // its queue pair listens to nobody
    b.agent.opening = 1;
    b.ask(third, 88, now_ns);
    BOOST_TEST(b.silent()); // it asks again
    b.agent.opening = 0;
    b.ask(third, 88, now_ns);
    const auto rej = b.take<wire::cm_rej>(third);
    BOOST_TEST((rej.reason == wire::cm_rej_reason::invalid_service_id));
}

BOOST_AUTO_TEST_CASE(who_calls_when_a_listener_has_just_left_is_not_sent_away)
{
    bench b(false);
    b.agent.listener_left(now_ns);
    b.ask(third, 88, now_ns + 999 * ms);
    BOOST_TEST(b.silent());
    b.ask(third, 88, now_ns + 1000 * ms);
    b.take<wire::cm_rej>(third);
}

BOOST_AUTO_TEST_CASE(who_calls_when_the_connection_has_just_ended_is_not_sent_away)
{
    bench b(true);
    const auto rep = b.connect(other, 77);
    wire::cm_dreq dreq;
    dreq.local_comm_id = rep.remote_comm_id;
    dreq.remote_comm_id = rep.local_comm_id;
    dreq.remote_qpn = 0x11;
    b.give({ 6, dreq });
    b.take<wire::cm_drep>();
    BOOST_TEST((b.qp.state.load() == endpoint_state::closed));
    b.ask(third, 88, now_ns);
    BOOST_TEST(b.silent()); // its owner may listen again
    BOOST_TEST(b.qp.counts.cm_refused.value() == 0u);
}

BOOST_AUTO_TEST_CASE(a_peer_that_stays_silent_gives_way)
{
    bench b(true);
    b.ask(other, 77, now_ns);
    b.take<wire::cm_rep>();
    b.ask(third, 88, now_ns + 100 * ms);
    BOOST_TEST(b.silent()); // it asks again
    b.ask(third, 88, now_ns + 749 * ms);
    BOOST_TEST(b.silent());
    b.ask(third, 88, now_ns + 750 * ms);
    const auto rep = b.take<wire::cm_rep>(third);
    BOOST_TEST(rep.remote_comm_id == 88u);
    b.ready(rep, third, now_ns + 751 * ms);
    BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
    BOOST_TEST(b.qp.counts.cm_timeouts.value() == 1u);
    BOOST_TEST(b.qp.counts.cm_refused.value() == 0u);
}

BOOST_AUTO_TEST_CASE(a_peer_that_ended_without_a_word_gives_way)
{
    for (const wire::ip_address& next :
         { other, third }) { // started again, and another one
        bench b(true);
        const auto first = b.connect(other, 77);
        BOOST_REQUIRE(b.expects(first.starting_psn));
        const std::int64_t later = now_ns + 5000 * ms;
        b.agent.serve(b.qp, later);
        BOOST_TEST(b.silent()); // nobody asks, nothing is sent
        b.ask(next, 88, later);
        b.take<wire::cm_rep>(other); // are you there?
        b.agent.serve(b.qp, later + 250 * ms);
        b.take<wire::cm_rep>(other);
        b.ask(next, 88, later + 500 * ms);
        b.agent.serve(b.qp, later + 749 * ms);
        b.take<wire::cm_rep>(other);
        BOOST_TEST(b.silent());
        b.agent.serve(b.qp, later + 1000 * ms);
        BOOST_TEST(b.silent());
        BOOST_TEST(cm_agent::ready_in(b.qp, later + 1000 * ms) == INT64_MAX);
        b.ask(next, 88, later + 1000 * ms);
        const auto rep = b.take<wire::cm_rep>(next);
        BOOST_TEST(rep.remote_comm_id == 88u);
        BOOST_TEST((b.qp.state.load() == endpoint_state::connecting));
        b.ready(rep, next, later + 1001 * ms);
        BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
        BOOST_TEST(b.qp.counts.cm_replaced.value() == 1u);
        BOOST_TEST((b.qp.rx->pending_gap().reason == gap_reason::reconnect));
        BOOST_TEST(b.expects(rep.starting_psn));
    }
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_there_keeps_its_place)
{
    for (const bool by_data : { false, true }) {
        bench b(true);
        const auto rep = b.connect(other, 77);
        const std::int64_t later = now_ns + 5000 * ms;
        b.ask(third, 88, later);
        b.take<wire::cm_rep>(other);
        if (by_data)
            b.agent.on_data(b.qp, later + ms);
        else
            b.ready(rep, other, later + ms);
        const auto rej = b.take<wire::cm_rej>(third); // at once
        BOOST_TEST((rej.reason == wire::cm_rej_reason::no_resources));
        BOOST_TEST(rej.remote_comm_id == 88u);
        b.agent.serve(b.qp, later + 800 * ms);
        BOOST_TEST(b.silent());
        // Who floods is refused without the peer being asked each time.
        b.ask(third, 89, later + 900 * ms);
        b.take<wire::cm_rej>(third);
        BOOST_TEST(b.silent());
        BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
        BOOST_TEST(b.qp.counts.cm_replaced.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_sender_stays_with_its_peer)
{
    bench b(true);
    b.connect(other, 77);
    b.sends();
    b.ask(third, 88, now_ns + 5000 * ms);
    b.take<wire::cm_rej>(third);
    BOOST_TEST(b.silent());
}
