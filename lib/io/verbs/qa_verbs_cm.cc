/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// How verbs endpoints connect by rdma_cm, and how that goes wrong, on devices in memory.
#include "testing/verbs_bench.h"

#include <algorithm>
#include <cerrno>

using namespace gr::rdma;
using namespace gr::rdma::testing;
using io::endpoint_state;

namespace {

struct pair_of_ends {
    explicit pair_of_ends(const io::endpoint_config& listener = fake_case::listens(),
                          const io::endpoint_config& caller = fake_case::calls())
        : b(listener, 1000, 4), a(caller, 1000, 4)
    {
        b.post(0, 4);
    }
    void start()
    {
        b.ep->start();
        a.ep->start();
    }
    bool works()
    {
        const std::size_t before = a.messages.size();
        return a.send(pattern(before, 500)) &&
               b.stored(b.next()) == pattern(before, 500) &&
               a.next_sent().status == io::wc_status::success;
    }
    contract_end b;
    contract_end a;
};

std::size_t place(const std::vector<std::string>& log, const char* call)
{
    return static_cast<std::size_t>(std::find(log.begin(), log.end(), call) -
                                    log.begin());
}

} // namespace

BOOST_FIXTURE_TEST_CASE(receives_are_posted_before_anybody_can_send, fake_case)
{
    pair_of_ends p;
    p.start();
    BOOST_TEST(p.works());
    const auto log = world.log();
    BOOST_TEST(place(log, "ibv_post_recv") < place(log, "rdma_listen"));
    BOOST_TEST(place(log, "rdma_accept") < log.size());
}

BOOST_FIXTURE_TEST_CASE(timers_and_retries_are_set_on_both_sides, fake_case)
{
    io::endpoint_config caller = calls();
    io::endpoint_config listener = listens();
    for (io::endpoint_config* c : { &caller, &listener }) {
        c->rnr_timer = 14;
        c->retry_count = 5;
        c->rnr_retry = 6;
        c->ack_timeout_ns = 1000000;
    }
    pair_of_ends p(listener, caller);
    p.start();
    BOOST_TEST(p.works());
    BOOST_TEST(world.qpns().size() == 2u);
    for (const std::uint32_t qpn : world.qpns()) {
        auto attributes = world.attributes_of(qpn);
        BOOST_TEST(attributes[IBV_QPS_RTR].min_rnr_timer == 14);
        BOOST_TEST(attributes[IBV_QPS_RTS].retry_cnt == 5);
        BOOST_TEST(attributes[IBV_QPS_RTS].rnr_retry == 6);
        BOOST_TEST(attributes[IBV_QPS_RTS].timeout == 8);
    }
}

BOOST_FIXTURE_TEST_CASE(events_that_end_a_call_are_told_in_words, fake_case)
{
    struct {
        const char* call;
        rdma_cm_event_type event;
        int status;
        const char* data;
        std::initializer_list<const char*> words;
    } const cases[] = {
        { "rdma_resolve_addr",
          RDMA_CM_EVENT_ADDR_ERROR,
          -ENODEV,
          "",
          { "192.0.2.1 (fake0) <-> 192.0.2.2", "-19", "No such device" } },
        { "rdma_resolve_route",
          RDMA_CM_EVENT_ROUTE_ERROR,
          -ETIMEDOUT,
          "",
          { "192.0.2.1", "192.0.2.2", "route", "-110" } },
        { "rdma_connect",
          RDMA_CM_EVENT_REJECTED,
          28,
          "\x52\x44\x4d\x41\x01",
          { "192.0.2.2", "reason 28", "0x52444d4101" } },
        { "rdma_connect",
          RDMA_CM_EVENT_UNREACHABLE,
          -ETIMEDOUT,
          "",
          { "192.0.2.2", "does not answer", "4791" } },
        { "rdma_connect", RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, "", { "-22" } },
        { "rdma_resolve_addr", RDMA_CM_EVENT_DEVICE_REMOVAL, 0, "", { "removed" } },
        { "rdma_resolve_route", RDMA_CM_EVENT_ADDR_CHANGE, 0, "", { "moved" } },
    };
    for (const auto& c : cases) {
        contract_end a(calls(), 1000, 4);
        world.answer(c.call, c.event, c.status, c.data);
        a.ep->start();
        BOOST_TEST(fails(a));
        BOOST_TEST(holds(a.ep->status_text(), c.words));
    }
}

BOOST_FIXTURE_TEST_CASE(nobody_listens, fake_case)
{
    contract_end a(calls(), 1000, 4);
    BOOST_TEST(a.send(pattern(1, 10)));
    a.ep->start();
    BOOST_TEST(fails(a));
    BOOST_TEST(holds(a.ep->status_text(), { "reason 8", "nobody listens", "192.0.2.2" }));
    BOOST_TEST((a.next_sent().status == io::wc_status::flushed));
    BOOST_TEST(!a.send(pattern(1, 10)));
}

BOOST_FIXTURE_TEST_CASE(no_answer_ends_within_the_configured_time, fake_case)
{
    io::endpoint_config c = calls();
    c.connect_timeout_ns = 50000000;
    for (const char* call : { "rdma_resolve_addr", "rdma_resolve_route", "request" }) {
        contract_end b(listens(), 1000, 4);
        contract_end a(c, 1000, 4);
        b.ep->start();
        world.swallow(call);
        const std::int64_t before = core::monotonic_ns();
        a.ep->start();
        BOOST_TEST(fails(a));
        BOOST_TEST(core::monotonic_ns() - before >= 50000000);
        BOOST_TEST(holds(a.ep->status_text(),
                         { "192.0.2.1", "192.0.2.2", "50 ms", "connect_timeout" }));
    }
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_never_finishes_gives_way, fake_case)
{
    io::endpoint_config c = listens();
    c.connect_timeout_ns = 50000000;
    log_lines log;
    c.log = log.sink();
    contract_end b(c, 1000, 4);
    b.post(0, 4);
    b.ep->start();
    {
        contract_end first(calls(), 1000, 4);
        world.swallow("rdma_establish"); // its last message is lost
        first.ep->start();
        BOOST_REQUIRE(await([&] { return b.ep->counters().cm_timeouts.value() == 1; }));
    }
    BOOST_TEST((b.ep->state() == endpoint_state::connecting));
    BOOST_REQUIRE(await([&] { return holds(log.text(), { "listening on" }); }));
    BOOST_TEST(holds(log.text(), { "handshake within 50 ms", "192.0.2.1" }));
    contract_end second(calls(), 1000, 4);
    second.ep->start();
    for (unsigned k = 0; k < 4; ++k) { // all receives are there again
        BOOST_TEST(second.send(pattern(k, 900)));
        const io::completion got = b.next();
        BOOST_TEST(got.cookie == k);
        BOOST_TEST((b.stored(got) == pattern(k, 900)));
    }
    BOOST_TEST(b.ep->counters().requests_flushed.value() == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_handshakes_last_message_may_be_lost, fake_case)
{
    pair_of_ends p;
    world.swallow("rdma_establish");
    p.start();
    BOOST_TEST(becomes(*p.a.ep, endpoint_state::connected));
    BOOST_TEST((p.b.ep->state() == endpoint_state::connecting));
    world.async_event(IBV_EVENT_COMM_EST); // the first packet has come
    BOOST_TEST(becomes(*p.b.ep, endpoint_state::connected));
    BOOST_TEST(world.calls()["rdma_notify"] == 1u);
    BOOST_TEST(p.works());
}

BOOST_FIXTURE_TEST_CASE(only_peers_may_connect, fake_case)
{
    io::endpoint_config c = listens();
    c.peers = "192.0.2.9,192.0.2.8";
    pair_of_ends p(c);
    p.start();
    BOOST_TEST(fails(p.a));
    BOOST_TEST(holds(p.a.ep->status_text(), { "reason 28", "'not in peers'" }));
    BOOST_TEST(p.b.ep->counters().cm_refused.value() == 1u);
    BOOST_TEST((p.b.ep->state() == endpoint_state::connecting));
    c = listens("8");
    c.peers = "192.0.2.9,192.0.2.1";
    pair_of_ends q(c, calls("8"));
    q.start();
    BOOST_TEST(q.works());
    for (const char* nobody : { "0.0.0.0", "224.0.0.1", "fd00::1", "192.0.2.1:5" }) {
        c.peers = nobody;
        BOOST_CHECK_THROW(io::make_endpoint(c)->open(), config_error);
    }
}

BOOST_FIXTURE_TEST_CASE(a_second_caller_is_refused_and_the_first_stays, fake_case)
{
    pair_of_ends p;
    p.start();
    BOOST_TEST(p.works());
    contract_end second(calls(), 1000, 4);
    second.ep->start();
    BOOST_TEST(fails(second));
    BOOST_TEST(holds(second.ep->status_text(), { "busy" }));
    BOOST_TEST(p.works());
    BOOST_TEST(p.b.ep->counters().cm_requests.value() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_dead_peer_gives_way_to_the_next_caller, fake_case)
{
    log_lines log;
    io::endpoint_config c = listens();
    c.log = log.sink();
    pair_of_ends p(c);
    p.start();
    BOOST_TEST(p.works()); // slot 0
    BOOST_TEST(p.a.send(pattern(1, 700)));
    BOOST_TEST((p.a.next_sent().status == io::wc_status::success));
    world.cut_off(world.qpns()[1]); // a's, with a message that nobody has polled yet
    contract_end second(calls(), 1000, 4);
    second.ep->start();
    BOOST_TEST(second.send(pattern(2, 800)));
    const io::completion last = p.b.next();
    BOOST_TEST(last.cookie == 1u);
    BOOST_TEST((p.b.stored(last) == pattern(1, 700)));
    const io::completion first = p.b.next();
    BOOST_TEST(first.cookie == 2u); // the slots go on in order
    BOOST_TEST((p.b.stored(first) == pattern(2, 800)));
    BOOST_TEST((first.lost.reason == io::gap_reason::reconnect));
    BOOST_TEST(first.sequence == 0u);
    BOOST_TEST(becomes(*second.ep, endpoint_state::connected));
    BOOST_TEST(becomes(*p.b.ep, endpoint_state::connected));
    BOOST_TEST(second.send(pattern(3, 10)));
    const io::completion next = p.b.next();
    BOOST_TEST(next.cookie == 3u);
    BOOST_TEST(!next.lost);
    BOOST_TEST(p.b.ep->counters().cm_replaced.value() == 1u);
    BOOST_TEST(p.b.ep->counters().gaps.value() == 1u);
    BOOST_TEST(holds(log.text(), { "192.0.2.1", "no longer answers" }));
}

BOOST_FIXTURE_TEST_CASE(a_listener_that_sends_stays_with_its_peer, fake_case)
{
    pair_of_ends p;
    p.start();
    p.a.post(0, 1);
    BOOST_TEST(p.b.send(pattern(1, 10)));
    p.a.next();
    contract_end second(calls(), 1000, 4);
    second.ep->start();
    BOOST_TEST(fails(second));
    BOOST_TEST(holds(second.ep->status_text(), { "busy with another peer" }));
    BOOST_TEST(p.works());
}

BOOST_FIXTURE_TEST_CASE(a_path_mtu_that_does_not_fit_is_refused, fake_case)
{
    fake_verbs::device_options small;
    small.name = "small0";
    small.addresses = { "192.0.2.33" };
    small.mtu = IBV_MTU_1024;
    world.add_device(small);
    io::endpoint_config listener = listens();
    listener.listen = "192.0.2.33:7";
    io::endpoint_config caller = calls();
    caller.connect = "192.0.2.33:7";
    pair_of_ends p(listener, caller);
    p.start();
    BOOST_TEST(fails(p.a));
    BOOST_TEST(holds(p.a.ep->status_text(), { "path MTU 4096, here 1024" }));
    // The other way the caller's fits, so that is the smaller one of both.
    caller.source = "192.0.2.33";
    caller.connect = "192.0.2.2:7";
    pair_of_ends q(listens(), caller);
    q.start();
    BOOST_TEST(q.works());
    for (const std::uint32_t qpn : world.qpns())
        if (world.attributes_of(qpn).count(IBV_QPS_RTR) != 0)
            BOOST_TEST(world.attributes_of(qpn)[IBV_QPS_RTR].path_mtu == IBV_MTU_1024);
}

BOOST_FIXTURE_TEST_CASE(an_mtu_that_rdma_cm_will_not_propose_is_an_error, fake_case)
{
    io::endpoint_config c = calls();
    c.mtu = 1024;
    pair_of_ends p(listens(), c);
    p.start();
    BOOST_TEST(fails(p.a));
    BOOST_TEST(holds(p.a.ep->status_text(), { "mtu=1024", "4096", "leave mtu out" }));
    io::endpoint_config l = listens("8");
    l.mtu = 2048;
    pair_of_ends q(l, calls("8"));
    q.start();
    BOOST_TEST(fails(q.a));
    BOOST_TEST(holds(q.a.ep->status_text(), { "4096, here 2048" }));
}

BOOST_FIXTURE_TEST_CASE(a_port_in_use_is_refused_and_free_again_later, fake_case)
{
    {
        contract_end first(listens(), 1000, 4);
        BOOST_TEST(holds(thrown([] { contract_end second(listens(), 1000, 4); }),
                         { "98 ", "rdma_bind_addr", "192.0.2.2:7", "another program" }));
    }
    pair_of_ends p;
    p.start();
    BOOST_TEST(p.works());
}

BOOST_FIXTURE_TEST_CASE(a_goodbye_closes_and_a_removal_fails, fake_case)
{
    {
        pair_of_ends p;
        p.start();
        BOOST_TEST(p.works());
        p.a.ep->stop();
        BOOST_TEST(becomes(*p.b.ep, endpoint_state::closed));
        BOOST_TEST(holds(p.b.ep->status_text(), { "192.0.2.1", "closed" }));
    }
    pair_of_ends q;
    q.start();
    BOOST_TEST(q.works());
    world.tell_all(RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
    BOOST_TEST(fails(q.b));
    BOOST_TEST(fails(q.a));
    BOOST_TEST(holds(q.b.ep->status_text(), { "removed", "fake0" }));
}

BOOST_FIXTURE_TEST_CASE(datagrams_find_their_way_by_asking, fake_case)
{
    io::endpoint_config l = listens();
    l.service = io::service_type::ud;
    l.header_bytes = 10;
    contract_end b(l, 1000, 4);
    b.post(0, 4);
    b.ep->start();
    io::endpoint_config c = calls();
    c.service = io::service_type::ud;
    contract_end a1(c, 1000, 4);
    contract_end a2(c, 1000, 4);
    for (contract_end* a : { &a1, &a2 }) {
        BOOST_TEST(a->send(pattern(7, 900)));
        a->ep->start();
        const io::completion got = b.next();
        BOOST_TEST(got.bytes == 900u);
        BOOST_TEST(got.header_bytes == 10u);
        BOOST_TEST((b.stored(got) == pattern(7, 900)));
        BOOST_TEST((a->next_sent().status == io::wc_status::success));
    }
    BOOST_TEST(!b.send(pattern(1, 1))); // there is nobody that it would go to
    BOOST_TEST((b.ep->state() == endpoint_state::connected));
}

BOOST_FIXTURE_TEST_CASE(ipv6_connects, fake_case)
{
    io::endpoint_config l = listens();
    l.listen = "[2001:db8::2]:7";
    io::endpoint_config c = calls();
    c.source = "2001:db8::1";
    c.connect = l.listen;
    pair_of_ends p(l, c);
    p.start();
    BOOST_TEST(p.works());
    BOOST_TEST(holds(p.a.ep->description(), { "2001:db8::1" }));
}

BOOST_FIXTURE_TEST_CASE(connecting_five_hundred_times_leaves_nothing, fake_case)
{
    for (int round = 0; round < 500; ++round) {
        pair_of_ends p;
        p.start();
        if (round % 3 != 0)
            BOOST_TEST(p.works());
        if (round % 2 != 0)
            p.a.ep->stop();
    }
    BOOST_TEST(world.calls()["ibv_fork_init"] <= 1u);
}
