/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What breaks a verbs endpoint's connection, and who is told, on devices in memory.
#include "testing/endpoint_contract_messages.h"
#include "testing/verbs_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::testing;
using io::endpoint_state;
using io::service_type;

namespace {

using pair = endpoint_pair<verbs_endpoints>;

io::endpoint_config config(service_type service = service_type::rc)
{
    return contract_config(service);
}

// Two ends that were made of changed configurations.
template <typename Change>
std::pair<io::endpoint_config, io::endpoint_config> changed(service_type service,
                                                            Change change)
{
    auto both = verbs_endpoints().make(config(service));
    change(both.first, both.second);
    return both;
}

io::completion exchange(contract_end& a, contract_end& b)
{
    b.post(0, 4);
    b.ep->start();
    a.ep->start();
    a.send(pattern(1, 500));
    const io::completion c = b.next();
    BOOST_TEST((b.stored(c) == pattern(1, 500)));
    BOOST_TEST((a.next_sent().status == io::wc_status::success));
    return c;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(events_of_the_device_are_told_to_whom_they_concern, fake_case)
{
    log_lines log;
    const auto c = changed(service_type::rc, [&](auto&, auto& b) { b.log = log.sink(); });
    contract_end a(c.first, 1000, 4);
    contract_end b(c.second, 1000, 4);
    exchange(a, b);
    world.async_event(IBV_EVENT_PORT_ERR);
    BOOST_REQUIRE(await([&] {
        return b.ep->status_text().find("port 1 of fake0 is down") != std::string::npos;
    }));
    BOOST_TEST((b.ep->state() == endpoint_state::connected)); // for a while
    world.async_event(IBV_EVENT_PORT_ACTIVE);
    BOOST_REQUIRE(await([&] { return b.ep->status_text().empty(); }));
    BOOST_TEST(holds(log.text(), { "port 1 of fake0 is down", "port 1 of fake0 is up" }));
    world.async_event(IBV_EVENT_GID_CHANGE);
    BOOST_REQUIRE(await([&] { return holds(log.text(), { "table of GIDs" }); }));
}

BOOST_FIXTURE_TEST_CASE(a_port_that_stays_down_fails_a_reliable_connection, fake_case)
{
    const auto c = changed(service_type::rc, [](auto& a, auto& b) {
        a.ack_timeout_ns = b.ack_timeout_ns = 1000000;
        a.retry_count = b.retry_count = 0;
    });
    contract_end a(c.first, 1000, 4);
    contract_end b(c.second, 1000, 4);
    exchange(a, b);
    world.async_event(IBV_EVENT_PORT_ERR);
    BOOST_TEST(fails(b));
    BOOST_TEST(holds(b.ep->status_text(), { "192.0.2.1", "port 1 of fake0", "8 ms" }));
}

BOOST_FIXTURE_TEST_CASE(fatal_events_fail_the_endpoint, fake_case)
{
    struct {
        ibv_event_type event;
        const char* words;
    } const cases[] = { { IBV_EVENT_DEVICE_FATAL, "removed" },
                        { IBV_EVENT_CQ_ERR, "completion queue overran" },
                        { IBV_EVENT_QP_FATAL, "fatal error of the queue pair" },
                        { IBV_EVENT_QP_REQ_ERR, "message_bytes" },
                        { IBV_EVENT_QP_ACCESS_ERR, "memory" } };
    for (const auto& c : cases) {
        // By rdma_cm both ends are on one context: either may read the other's event.
        endpoint_pair<verbs_cm_endpoints> p(config(), 1000, 4);
        p.b->post(0, 4);
        p.start();
        BOOST_TEST(becomes(*p.b->ep, endpoint_state::connected));
        BOOST_TEST(becomes(*p.a->ep, endpoint_state::connected));
        world.async_event(c.event);
        for (contract_end* e : { p.a.get(), p.b.get() }) {
            BOOST_TEST(fails(*e));
            BOOST_TEST(holds(e->ep->status_text(), { "192.0.2.", "fake0", c.words }));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(the_first_error_is_told_and_flushes_are_counted, fake_case)
{
    pair p(config(), 1000, 4);
    p.b->post(0, 4);
    p.start();
    p.a->send(pattern(1, 10));
    p.b->next();
    p.a->next_sent();
    world.fail_completion(world.qpns()[1], IBV_WC_FATAL_ERR, 0x89);
    for (int k = 0; k < 2; ++k)
        p.a->send(pattern(1, 10));
    const io::completion bad = p.b->next();
    BOOST_TEST((bad.status == io::wc_status::remote_error));
    BOOST_TEST(fails(*p.b));
    BOOST_TEST(holds(p.b->ep->status_text(),
                     { "192.0.2.2 (fake0) <-> 192.0.2.1", "19 (fatal error)", "0x89" }));
    const std::string first = p.b->ep->status_text();
    p.b->ep->stop();
    BOOST_TEST(p.b->ep->status_text() == first);
    BOOST_TEST((p.b->ep->state() == endpoint_state::failed));
    BOOST_TEST(p.b->ep->counters().requests_flushed.value() > 0u);
}

BOOST_FIXTURE_TEST_CASE(a_receiver_learns_why_its_queue_pair_broke, fake_case)
{
    for (const bool told : { true, false }) {
        pair p(config(), 1000, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(1, 10));
        p.b->next();
        const std::uint32_t qpn = world.qpns()[1];
        if (told) { // by a send, whose completion nobody reads
            world.cut_off(world.qpns()[0]);
            p.b->send(pattern(2, 10));
        } else {
            world.break_down(qpn);
        }
        BOOST_TEST((p.b->next().status == io::wc_status::flushed));
        BOOST_TEST(fails(*p.b));
        BOOST_TEST(
            holds(p.b->ep->status_text(),
                  { "192.0.2.1", told ? "12 (retries exceeded)" : "has not told" }));
    }
}
