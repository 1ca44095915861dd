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

constexpr std::uint32_t own = 0x0a000001;
constexpr std::uint32_t other = 0x0a000002;
constexpr std::uint16_t port = 18515;
constexpr std::int64_t now_ns = 1000;

// An agent with one queue pair; the test is the peer.
struct bench {
    explicit bench(bool listens) : qp(config())
    {
        qp.own_address = own;
        qp.uses_cm = true;
        qp.listens = listens;
        qp.port = port;
        qp.peer_address = listens ? 0 : other;
    }
    static endpoint_config config()
    {
        endpoint_config c;
        c.qpn = 0x11;
        return c;
    }

    void give(const wire::cm_message& m)
    {
        std::array<std::byte, wire::mad_bytes> mad;
        wire::write_cm(m, mad.data());
        wire::packet p;
        p.deth.qkey = wire::cm_qkey;
        p.payload = mad.data();
        p.payload_bytes = mad.size();
        agent.on_packet(p, other, { &qp }, now_ns);
    }
    template <typename M>
    M take()
    {
        cm_outgoing out;
        BOOST_REQUIRE(agent.take(out));
        BOOST_TEST(out.destination == other);
        BOOST_REQUIRE(std::holds_alternative<M>(out.message.body));
        transaction = out.message.transaction_id;
        return std::get<M>(out.message.body);
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
