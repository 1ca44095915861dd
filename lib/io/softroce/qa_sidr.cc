/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Service ID resolution by hand-made messages: the query, and the agent either way.
#include "io/softroce/cm_agent.h"
#include "wire/cma.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

constexpr auto own = wire::ip_address::ipv4(0x0a000001);
constexpr auto other = wire::ip_address::ipv4(0x0a000002);
constexpr auto third = wire::ip_address::ipv4(0x0a000003);
constexpr std::uint16_t port = 18515;
constexpr std::int64_t now_ns = 1000;
constexpr std::int64_t ms = 1000000;

sidr_settings settings()
{
    sidr_settings s;
    s.own = own;
    s.peer = other;
    s.port = port;
    s.request_id = 0x1234;
    s.transaction_id = 99;
    s.private_data = { std::byte{ 'x' } };
    return s;
}

wire::cm_sidr_rep granted(std::uint32_t request_id)
{
    wire::cm_sidr_rep rep;
    rep.request_id = request_id;
    rep.qpn = 0x4711;
    rep.qkey = 0x01234567;
    return rep;
}

// An agent with one queue pair; the test is the peer.
struct bench {
    explicit bench(bool listens, service_type service = service_type::ud)
        : agent(1), qp(config(service))
    {
        qp.own_address = own;
        qp.uses_cm = true;
        qp.listens = listens;
        qp.port = port;
        qp.own_qkey = wire::cma_udp_qkey;
        if (!listens)
            qp.peer_address = other;
    }
    static endpoint_config config(service_type service)
    {
        endpoint_config c;
        c.service = service;
        c.qpn = 0x11;
        c.private_data = { std::byte{ 'y' } };
        return c;
    }
    void give(const wire::cm_message& m, const wire::ip_address& from = other)
    {
        std::array<std::byte, wire::mad_bytes> mad;
        wire::write_cm(m, mad.data());
        wire::packet p;
        p.deth.qkey = wire::cm_qkey;
        p.payload = mad.data();
        p.payload_bytes = mad.size();
        agent.on_packet(p, from, { &qp }, now_ns);
    }
    void ask(std::uint32_t request_id,
             const wire::ip_address& from = other,
             wire::cma_port_space space = wire::cma_port_space::udp,
             std::uint16_t at = port)
    {
        wire::cm_sidr_req req;
        req.request_id = request_id;
        req.service_id = wire::cma_service_id(space, at);
        give({ request_id + 7, req }, from);
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

    cm_agent agent;
    queue_pair qp;
    std::uint64_t transaction = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_query_says_what_it_wants)
{
    sidr_query q(settings());
    wire::cm_message m;
    BOOST_TEST(!q.take(m));
    q.ask(now_ns);
    BOOST_REQUIRE(q.take(m));
    BOOST_TEST(!q.take(m));
    const auto& req = std::get<wire::cm_sidr_req>(m.body);
    BOOST_TEST(m.transaction_id == 99u);
    BOOST_TEST(req.request_id == 0x1234u);
    BOOST_TEST(req.pkey == 0xffff);
    BOOST_TEST(req.service_id == 0x01110000u + port);
    wire::cma_header header;
    BOOST_REQUIRE((wire::parse_cma(req.private_data.data(), 36, header) ==
                   wire::cma_parse_status::ok));
    BOOST_TEST((header.source == own));
    BOOST_TEST((header.destination == other));
    BOOST_TEST((req.private_data[36] == std::byte{ 'x' }));
    BOOST_TEST((req.private_data[37] == std::byte{ 0 }));
}

BOOST_AUTO_TEST_CASE(a_query_carries_180_bytes_at_most)
{
    sidr_settings s = settings();
    s.private_data.assign(200, std::byte{ 7 });
    sidr_query q(s);
    q.ask(now_ns);
    wire::cm_message m;
    BOOST_REQUIRE(q.take(m));
    const auto& data = std::get<wire::cm_sidr_req>(m.body).private_data;
    for (std::size_t i = 36; i < data.size(); ++i)
        BOOST_TEST((data[i] == std::byte{ 7 }));
}

BOOST_AUTO_TEST_CASE(a_query_asks_again_until_its_patience_ends)
{
    sidr_settings s = settings();
    s.patience_ns = 600 * ms;
    sidr_query q(s);
    q.ask(0);
    wire::cm_message m;
    std::vector<std::int64_t> asked;
    for (std::int64_t t = 0; t < 2000 * ms; t += ms) {
        q.on_time(t);
        if (q.take(m))
            asked.push_back(t / ms);
    }
    const std::vector<std::int64_t> right{ 0, 250, 500 };
    BOOST_TEST(asked == right);
    BOOST_TEST((q.state() == sidr_state::failed));
    BOOST_TEST(q.deadline() == INT64_MAX);
    BOOST_TEST(q.on_reply({ 99, granted(0x1234) }, other)); // too late
    BOOST_TEST((q.state() == sidr_state::failed));
}

BOOST_AUTO_TEST_CASE(only_the_first_answer_to_the_request_counts)
{
    sidr_query q(settings());
    BOOST_TEST(!q.on_reply({ 99, granted(0x1234) }, other)); // nothing was asked
    q.ask(now_ns);
    BOOST_TEST(!q.on_reply({ 99, granted(0x1235) }, other));
    BOOST_TEST(!q.on_reply({ 99, granted(0x1234) }, third));
    BOOST_TEST(!q.on_reply({ 99, wire::cm_rtu() }, other));
    for (const std::uint32_t qpn : { 0u, 1u, 0xffffffu }) {
        wire::cm_sidr_rep bad = granted(0x1234);
        bad.qpn = qpn;
        BOOST_TEST(!q.on_reply({ 99, bad }, other));
    }
    BOOST_TEST((q.state() == sidr_state::asking));
    BOOST_TEST(q.on_reply({ 99, granted(0x1234) }, other));
    BOOST_TEST((q.state() == sidr_state::resolved));
    wire::cm_sidr_rep another = granted(0x1234);
    another.qpn = 0x99;
    BOOST_TEST(q.on_reply({ 99, another }, other));
    BOOST_TEST(q.qpn() == 0x4711u);
    BOOST_TEST(q.qkey() == 0x01234567u);
    BOOST_TEST(q.deadline() == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_listener_gives_its_number_to_everybody)
{
    bench b(true);
    for (const auto& from : { other, third, other }) {
        b.ask(5, from);
        const auto rep = b.take<wire::cm_sidr_rep>(from);
        BOOST_TEST(b.transaction == 12u);
        BOOST_TEST(rep.request_id == 5u);
        BOOST_TEST((rep.status == wire::cm_sidr_status::valid_qpn));
        BOOST_TEST(rep.qpn == 0x11u);
        BOOST_TEST(rep.qkey == 0x01234567u);
        BOOST_TEST(rep.service_id == 0x01110000u + port);
        BOOST_TEST((rep.private_data[0] == std::byte{ 'y' }));
    }
    BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
    BOOST_TEST(b.qp.counts.cm_requests.value() == 3u);
    BOOST_TEST(b.qp.counts.cm_refused.value() == 0u);
    BOOST_TEST(cm_agent::ready_in(b.qp, now_ns) == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_listener_answers_what_it_cannot_give)
{
    bench b(true);
    const auto status = [&](const wire::ip_address& to = other) {
        const auto rep = b.take<wire::cm_sidr_rep>(to);
        BOOST_TEST(rep.qpn == 0u);
        return rep.status;
    };
    b.ask(5, other, wire::cma_port_space::udp, port + 1);
    BOOST_TEST((status() == wire::cm_sidr_status::service_id_not_supported));
    b.ask(6, other, wire::cma_port_space::tcp);
    BOOST_TEST((status() == wire::cm_sidr_status::service_id_not_supported));
    b.qp.allowed = { third };
    b.ask(7);
    BOOST_TEST((status() == wire::cm_sidr_status::rejected_by_service_provider));
    BOOST_TEST(b.qp.counts.cm_refused.value() == 1u);
    BOOST_TEST((b.qp.state.load() == endpoint_state::connecting));
    wire::cm_req req; // a connection is not to be had, on the same port
    req.local_comm_id = 77;
    req.service_id = wire::cma_service_id(wire::cma_port_space::tcp, port);
    req.path_mtu = 3;
    b.give({ 8, req });
    BOOST_TEST(
        (b.take<wire::cm_rej>().reason == wire::cm_rej_reason::invalid_service_id));
    bench rc(true, service_type::rc); // nor datagrams from a connection's listener
    rc.ask(9);
    BOOST_TEST((rc.take<wire::cm_sidr_rep>().status ==
                wire::cm_sidr_status::service_id_not_supported));
}

BOOST_AUTO_TEST_CASE(a_listener_that_comes_or_goes_lets_them_ask_again)
{
    bench b(false, service_type::rc);
    b.agent.opening = 1;
    b.ask(5);
    BOOST_TEST(b.silent());
    b.agent.opening = 0;
    b.agent.listener_left(now_ns);
    b.ask(5);
    BOOST_TEST(b.silent());
    bench leaving(true);
    leaving.qp.leaving = true;
    leaving.ask(5);
    BOOST_TEST(leaving.silent());
    BOOST_TEST(leaving.agent.serve(leaving.qp, now_ns));
}

BOOST_AUTO_TEST_CASE(a_flood_of_requests_fills_no_memory)
{
    bench b(true);
    for (unsigned k = 0; k < 1000; ++k)
        b.ask(k);
    unsigned answered = 0;
    for (cm_outgoing out; b.agent.take(out);)
        ++answered;
    BOOST_TEST(answered == 64u);
    BOOST_TEST(b.qp.counts.cm_requests.value() == 1000u);
    b.ask(7);
    b.take<wire::cm_sidr_rep>();
}

BOOST_AUTO_TEST_CASE(a_caller_sends_to_what_it_was_given)
{
    bench b(false);
    BOOST_TEST(cm_agent::ready_in(b.qp, now_ns) == 0);
    b.agent.serve(b.qp, now_ns);
    const auto req = b.take<wire::cm_sidr_req>();
    BOOST_TEST(!b.qp.open_for_data());
    BOOST_TEST(cm_agent::ready_in(b.qp, now_ns) == 250 * ms);
    b.agent.serve(b.qp, now_ns + 250 * ms);
    const auto again = b.take<wire::cm_sidr_req>();
    BOOST_TEST(again.request_id == req.request_id);
    b.give({ b.transaction, granted(req.request_id + 1) });
    BOOST_TEST(b.qp.counts.cm_ignored.value() == 1u);
    b.give({ b.transaction, granted(req.request_id) });
    BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
    BOOST_TEST(b.qp.may_send);
    BOOST_TEST(b.qp.dest_qpn == 0x4711u);
    const std::byte byte{};
    send_request r;
    r.data = &byte;
    r.bytes = 1;
    BOOST_REQUIRE(b.qp.requests.push(r));
    outgoing out;
    BOOST_REQUIRE(b.qp.tx->next(out, now_ns));
    BOOST_TEST(out.packet.bth.dest_qpn == 0x4711u);
    BOOST_TEST(out.packet.deth.qkey == 0x01234567u);
    // A repeated answer changes nothing, nor does the end of the patience.
    const std::uint32_t psn = out.packet.bth.psn.value();
    b.give({ b.transaction, granted(req.request_id) });
    b.agent.serve(b.qp, now_ns + 20000 * ms);
    BOOST_REQUIRE(b.qp.requests.push(r));
    BOOST_REQUIRE(b.qp.tx->next(out, now_ns));
    BOOST_TEST(out.packet.bth.psn.value() == ((psn + 1) & 0xffffff));
    BOOST_TEST((b.qp.state.load() == endpoint_state::connected));
    b.qp.leaving = true;
    BOOST_TEST(b.agent.serve(b.qp, now_ns));
    BOOST_TEST(b.silent()); // there is nobody to tell
}

BOOST_AUTO_TEST_CASE(a_refused_caller_says_why)
{
    const struct {
        wire::cm_sidr_status status;
        const char* words;
    } refusals[] = {
        { wire::cm_sidr_status::service_id_not_supported, "service='ud' on port 18515" },
        { wire::cm_sidr_status::rejected_by_service_provider, "list of peers" },
        { wire::cm_sidr_status::redirect, "redirected (status 4)" },
        { wire::cm_sidr_status(77), "unknown status (status 77)" },
    };
    for (const auto& refusal : refusals) {
        bench b(false);
        b.agent.serve(b.qp, now_ns);
        wire::cm_sidr_rep rep;
        rep.request_id = b.take<wire::cm_sidr_req>().request_id;
        rep.status = refusal.status;
        b.give({ b.transaction, rep });
        BOOST_TEST((b.qp.state.load() == endpoint_state::failed));
        BOOST_TEST(b.qp.status_text().find(refusal.words) != std::string::npos);
        BOOST_TEST(b.qp.status_text().find("10.0.0.2:18515") != std::string::npos);
        BOOST_TEST(!b.qp.may_send);
    }
    bench silent(false);
    silent.agent.serve(silent.qp, now_ns);
    silent.agent.serve(silent.qp, now_ns + 10000 * ms);
    BOOST_TEST((silent.qp.state.load() == endpoint_state::failed));
    BOOST_TEST(
        silent.qp.status_text().find("no answer from 10.0.0.2:18515 within 10000") == 0u);
}

BOOST_AUTO_TEST_CASE(the_same_seed_draws_the_same_identifiers)
{
    wire::cm_sidr_req first[3];
    for (unsigned k = 0; k < 3; ++k) {
        cm_agent agent(k / 2);
        bench b(false);
        agent.serve(b.qp, now_ns);
        cm_outgoing out;
        BOOST_REQUIRE(agent.take(out));
        first[k] = std::get<wire::cm_sidr_req>(out.message.body);
    }
    BOOST_TEST(first[0].request_id == first[1].request_id);
    BOOST_TEST(first[0].request_id != first[2].request_id);
    BOOST_TEST((first[0].private_data == first[1].private_data));
}
