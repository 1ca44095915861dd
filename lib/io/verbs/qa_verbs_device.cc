/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Static verbs endpoints and what the device tells them, on devices in memory.
#include "testing/endpoint_contract_messages.h"
#include "testing/verbs_bench.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>

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

BOOST_FIXTURE_TEST_CASE(a_static_queue_pair_gets_what_was_configured, fake_case)
{
    for (const service_type service : { service_type::rc, service_type::uc }) {
        const auto c = changed(service, [](auto& a, auto& b) {
            a.mtu = b.mtu = 512;
            a.psn = b.remote_psn = 0xabcdef;
            a.rnr_timer = 20;
            a.retry_count = 3;
            a.rnr_retry = 2;
            a.ack_timeout_ns = 500000000;
        });
        contract_end a(c.first, 1000, 4);
        contract_end b(c.second, 1000, 4);
        exchange(a, b);
        auto sender = world.attributes_of(world.qpns()[0]);
        auto receiver = world.attributes_of(world.qpns()[1]);
        BOOST_TEST(sender[IBV_QPS_RTR].path_mtu == IBV_MTU_512);
        BOOST_TEST(sender[IBV_QPS_RTR].dest_qp_num == world.qpns()[1]);
        BOOST_TEST(sender[IBV_QPS_RTS].sq_psn == 0xabcdefu);
        BOOST_TEST(receiver[IBV_QPS_RTR].rq_psn == 0xabcdefu);
        BOOST_TEST(sender[IBV_QPS_RTR].ah_attr.grh.sgid_index == 1);
        BOOST_TEST(sender[IBV_QPS_RTR].ah_attr.is_global == 1);
        BOOST_TEST(sender[IBV_QPS_RTR].ah_attr.grh.dgid.raw[15] == 2);
        if (service == service_type::rc) {
            BOOST_TEST(sender[IBV_QPS_RTR].min_rnr_timer == 20);
            BOOST_TEST(sender[IBV_QPS_RTS].retry_cnt == 3);
            BOOST_TEST(sender[IBV_QPS_RTS].rnr_retry == 2);
            BOOST_TEST(sender[IBV_QPS_RTS].timeout == 17);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(the_gid_is_looked_up_at_each_connection, fake_case)
{
    pair first(config(), 1000, 4);
    world.move_gids(); // between opening and starting
    exchange(*first.a, *first.b);
    BOOST_TEST(world.attributes_of(world.qpns()[0])[IBV_QPS_RTR].ah_attr.grh.sgid_index ==
               5);
}

BOOST_FIXTURE_TEST_CASE(an_address_that_does_not_answer_yet_is_tried_again, fake_case)
{
    for (const service_type service : { service_type::rc, service_type::ud }) {
        pair p(config(service), 1000, 4);
        const char* const call =
            service == service_type::ud ? "ibv_create_ah" : "ibv_modify_qp";
        world.fail(call, 1, ETIMEDOUT);
        p.a->ep->start();
        BOOST_TEST((p.a->ep->state() == endpoint_state::connecting));
        BOOST_TEST(
            holds(p.a->ep->status_text(),
                  { "waiting for the address of 192.0.2.2", "Connection timed out" }));
        p.b->post(0, 4);
        p.b->ep->start();
        p.a->send(pattern(1, 500));
        BOOST_TEST((p.b->stored(p.b->next()) == pattern(1, 500)));
    }
}

BOOST_FIXTURE_TEST_CASE(the_number_that_the_device_chose_is_told, fake_case)
{
    log_lines log;
    io::endpoint_config c = static_end(service_type::uc);
    c.source = "192.0.2.2";
    c.connect = "192.0.2.1";
    c.log = log.sink();
    contract_end b(c, 1000, 4); // receives without remote_qpn
    char qpn[16];
    std::snprintf(qpn, sizeof qpn, "0x%x", world.qpns()[0]);
    BOOST_TEST(holds(log.text(), { "qpn=0x1", "has chosen", qpn, "remote_qpn" }));
    b.post(0, 4);
    b.ep->start();
    BOOST_TEST(holds(b.ep->status_text(), { "192.0.2.1", qpn }));
    BOOST_TEST(holds(b.ep->description(), { "fake0 port 1", "GID index 5", qpn }));
    BOOST_TEST(!b.send(pattern(1, 1))); // to whom?
    io::endpoint_config s = static_end(service_type::uc);
    s.remote_qpn = world.qpns()[0];
    contract_end a(s, 1000, 4);
    a.ep->start();
    a.send(pattern(1, 900));
    BOOST_TEST((b.stored(b.next()) == pattern(1, 900)));
}

BOOST_FIXTURE_TEST_CASE(writes_with_immediate_land_where_they_say, fake_case)
{
    for (const service_type service : { service_type::rc, service_type::uc }) {
        const auto c = changed(service, [](auto&, auto& b) { b.rkey = 1; });
        contract_end a(c.first, 1000, 4);
        contract_end b(c.second, 1000, 4);
        const std::string text = b.ep->description();
        const std::size_t at = text.find("rkey 0x");
        BOOST_REQUIRE(at != std::string::npos);
        b.post(0, 2);
        b.ep->start();
        a.ep->start();
        const bytes_t data = pattern(1, 700);
        io::send_request r;
        r.data = data.data();
        r.bytes = data.size();
        r.write = r.has_immediate = true;
        r.immediate = 0x01020304;
        r.rkey = static_cast<std::uint32_t>(std::stoul(text.substr(at + 5), nullptr, 16));
        r.remote_address =
            reinterpret_cast<std::uintptr_t>(b.ring.data()) + b.slot(0).offset;
        BOOST_TEST(a.ep->post_send(&r, 1) == 1u);
        const io::completion got = b.next();
        BOOST_TEST((got.opcode == io::wc_opcode::write_immediate));
        BOOST_TEST(got.immediate == 0x01020304u);
        BOOST_TEST(got.cookie == 0u);
        BOOST_TEST(got.bytes == 700u);
        BOOST_TEST((b.stored(got) == data));
        BOOST_TEST((a.next_sent().status == io::wc_status::success));
    }
    // Without rkey the ring is closed to them.
    pair p(config(), 1000, 4);
    p.b->post(0, 2);
    p.start();
    io::send_request r;
    const bytes_t data = pattern(1, 10);
    r.data = data.data();
    r.bytes = data.size();
    r.write = r.has_immediate = true;
    r.remote_address = reinterpret_cast<std::uintptr_t>(p.b->ring.data());
    r.rkey = 0x100;
    BOOST_TEST(p.a->ep->post_send(&r, 1) == 1u);
    BOOST_TEST((p.a->next_sent().status == io::wc_status::remote_error));
    BOOST_TEST(holds(p.a->ep->status_text(), { "rkey" }));
    BOOST_TEST(p.b->guards_intact());
}

BOOST_FIXTURE_TEST_CASE(what_lies_in_the_attached_ring_is_sent_from_there, fake_case)
{
    pair p(config(), 60000, 4);
    p.b->post(0, 4);
    p.start();
    const auto registrations = [&] { return world.calls()["ibv_reg_mr"]; };
    const unsigned before = registrations();
    io::send_request r;
    r.data = p.a->ring.data() + 100;
    r.bytes = 50000;
    BOOST_TEST(p.a->ep->post_send(&r, 1) == 1u);
    BOOST_TEST(p.b->next().bytes == 50000u);
    p.a->next_sent();
    BOOST_TEST(registrations() == before);
    for (int k = 0; k < 5; ++k) { // short: one pool for all
        p.b->post(static_cast<std::size_t>(k) % 4, 1);
        p.a->send(pattern(k, 16384));
        BOOST_TEST((p.b->stored(p.b->next()) == pattern(k, 16384)));
        p.a->next_sent();
    }
    BOOST_TEST(registrations() == before + 1);
    p.b->post(0, 1);
    p.a->send(pattern(1, 16385)); // long: for its own time
    p.b->next();
    p.a->next_sent();
    BOOST_TEST(registrations() == before + 2);
    BOOST_TEST(world.calls()["ibv_dereg_mr"] == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_group_is_joined_left_and_heard, fake_case)
{
    const auto c = changed(service_type::ud, [](auto& a, auto& b) {
        a.connect = "239.1.2.3";
        a.ask_remote_qpn = nullptr;
        a.remote_qpn = 0;
        a.multicast_ttl = 9;
        b.connect = "";
        b.group = "239.1.2.3";
    });
    contract_end a(c.first, 1000, 4);
    contract_end b(c.second, 1000, 4);
    b.post(0, 4);
    b.ep->start();
    BOOST_REQUIRE(await([&] { return world.calls()["ibv_attach_mcast"] == 1; }));
    a.ep->start();
    BOOST_TEST(a.send(pattern(1, 900)));
    BOOST_TEST((b.stored(b.next()) == pattern(1, 900)));
    b.ep->stop();
    BOOST_TEST(world.calls()["rdma_leave_multicast"] == 1u);
    BOOST_TEST(world.calls()["ibv_detach_mcast"] == 1u);

    world.answer("rdma_join_multicast", RDMA_CM_EVENT_MULTICAST_ERROR, -EINVAL);
    contract_end d(c.second, 1000, 4);
    d.ep->start();
    BOOST_TEST(fails(d));
    BOOST_TEST(holds(d.ep->status_text(), { "239.1.2.3", "group", "-22" }));
}

BOOST_FIXTURE_TEST_CASE(datagrams_need_the_right_qkey_and_length, fake_case)
{
    const auto c = changed(service_type::ud, [](auto& a, auto&) { a.qkey = 0x22222222; });
    contract_end a(c.first, 1000, 4);
    contract_end b(c.second, 1000, 4);
    b.post(0, 4);
    b.ep->start();
    a.ep->start();
    a.send(pattern(1, 900));
    BOOST_TEST((a.next_sent().status == io::wc_status::success));
    BOOST_TEST(b.all().empty());
    a.send(bytes_t(1025)); // mtu is 1024
    BOOST_TEST((a.next_sent().status == io::wc_status::length_error));
    BOOST_TEST((a.ep->state() == endpoint_state::connected));
}

BOOST_FIXTURE_TEST_CASE(a_device_that_stamps_gives_the_time, fake_case)
{
    fake_verbs::device_options o;
    o.name = "stamps0";
    o.addresses = { "192.0.2.31", "192.0.2.32" };
    o.stamps = o.has_moderation = true;
    o.relaxed = false;
    world.add_device(o);
    verbs_addresses() = { "192.0.2.31", "192.0.2.32" };
    io::endpoint_config common = config();
    common.recv_depth = common.send_depth = 16;
    pair p(common, 1000, 16);
    BOOST_TEST(world.calls()["ibv_create_cq_ex"] == 4u);
    BOOST_TEST(world.calls()["ibv_create_cq"] == 0u);
    BOOST_TEST(world.calls()["ibv_modify_cq"] == 4u);
    BOOST_TEST(holds(p.b->ep->description(), { "strict ordering" }));
    p.b->post(0, 16);
    p.start();
    p.a->send(pattern(1, 10)); // the first poll reads the clock
    p.b->next();
    p.a->next_sent();
    const std::int64_t before = core::realtime_ns();
    for (unsigned k = 0; k < 10; ++k)
        p.a->send(pattern(k, 100), k % 2 != 0, k);
    const std::int64_t after = core::realtime_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (unsigned k = 0; k < 10; ++k) {
        const io::completion c = p.b->next();
        BOOST_TEST((p.b->stored(c) == pattern(k, 100)));
        BOOST_TEST(c.has_immediate == (k % 2 != 0));
        // When it came, not when it was read; the clocks are read a moment apart.
        BOOST_TEST(c.time_ns > before - 5000000);
        BOOST_TEST(c.time_ns < after + 5000000);
    }
}

BOOST_FIXTURE_TEST_CASE(auto_takes_the_device_that_has_the_address, fake_case)
{
    const auto taken = [](io::endpoint_config c) {
        log_lines log;
        c.endpoint = "auto";
        c.log = log.sink();
        const std::string kind = io::make_endpoint(c)->description().substr(0, 8);
        return kind + "; " + log.text();
    };
    BOOST_TEST(holds(taken(listens()),
                     { "verbs", "endpoint='auto' takes verbs", "192.0.2.2", "fake0" }));
    BOOST_TEST(holds(taken(calls()), { "verbs", "192.0.2.1" }));
    io::endpoint_config c = listens();
    c.listen = "127.0.0.1";
    BOOST_TEST(holds(taken(c), { "softroce", "127.0.0.1", "on no RDMA device" }));
    c = listens();
    c.service = service_type::uc;
    BOOST_TEST(holds(taken(c), { "softroce", "service='uc'" }));
    c = calls();
    c.pump_cpu = 0;
    BOOST_TEST(holds(taken(c), { "softroce", "pump_cpu" }));
    c = calls();
    c.connect = "no.such.host.invalid";
    BOOST_TEST(holds(taken(c), { "softroce", "no.such.host.invalid" }));
    // Who names a device does not want to be without it.
    const auto refusal = [&](const io::endpoint_config& asks) -> std::string {
        try {
            taken(asks);
        } catch (const config_error& e) {
            return e.what();
        }
        return "nothing";
    };
    c = listens();
    c.device = "fake7";
    BOOST_TEST(holds(refusal(c), { "device='fake7'", "endpoint='auto'" }));
    c = listens();
    c.listen = "127.0.0.1";
    c.ib_port = 1;
    BOOST_TEST(holds(refusal(c), { "ib_port=1", "127.0.0.1", "on no RDMA device" }));
    world.remove_devices();
    BOOST_TEST(holds(taken(listens()), { "softroce", "no RDMA device" }));
    c = listens();
    c.device = "fake0";
    BOOST_TEST(holds(refusal(c), { "device='fake0'", "no RDMA device" }));
}
