/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/address.h"
#include "io/verbs/plan.h"

#include <boost/test/unit_test.hpp>
#include <gnuradio/rdma/error.h>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::verbs;

namespace {

device_facts facts()
{
    device_facts f;
    f.name = "rxe7";
    f.port = 1;
    f.device.orig_attr.max_qp_wr = 1000;
    f.device.orig_attr.max_cqe = 500;
    f.device.orig_attr.max_sge = 2;
    f.port_attributes.active_mtu = IBV_MTU_2048;
    return f;
}

// What it says when it is refused.
template <typename F>
std::string refusal(F f)
{
    try {
        f();
    } catch (const config_error& e) {
        return e.what();
    }
    return "";
}

bool holds(const std::string& text, std::initializer_list<const char*> parts)
{
    for (const char* part : parts)
        if (text.find(part) == std::string::npos) {
            BOOST_TEST_MESSAGE("'" << part << "' is not in: " << text);
            return false;
        }
    return true;
}

gid_row row(const char* device,
            unsigned port,
            unsigned index,
            const char* address_text,
            ibv_gid_type type,
            unsigned ifindex = 0)
{
    gid_row r;
    r.device = device;
    r.entry.port_num = port;
    r.entry.gid_index = index;
    r.entry.gid = resolve(address_text, 0, "test").gid();
    r.entry.gid_type = type;
    r.entry.ndev_ifindex = ifindex;
    return r;
}

// As Linux fills it: both types of each address, link-local first, a gap at 4.
std::vector<gid_row> table()
{
    return { row("mlx5_0", 1, 0, "fe80::1%1", IBV_GID_TYPE_ROCE_V1, 2),
             row("mlx5_0", 1, 1, "fe80::1%1", IBV_GID_TYPE_ROCE_V2, 2),
             row("mlx5_0", 1, 2, "10.0.0.1", IBV_GID_TYPE_ROCE_V1, 2),
             row("mlx5_0", 1, 3, "10.0.0.1", IBV_GID_TYPE_ROCE_V2, 2),
             row("mlx5_0", 1, 5, "10.0.7.1", IBV_GID_TYPE_ROCE_V2, 3),
             row("mlx5_0", 2, 1, "10.0.1.1", IBV_GID_TYPE_ROCE_V2, 4),
             row("mlx5_1", 1, 3, "10.0.2.1", IBV_GID_TYPE_ROCE_V2, 5),
             row("mlx5_1", 1, 4, "fe80::1%1", IBV_GID_TYPE_ROCE_V2, 5),
             row("old", 1, 0, "10.0.3.1", IBV_GID_TYPE_ROCE_V1, 6) };
}

gid_wish wish(const char* own)
{
    gid_wish w;
    w.own = resolve(own, 0, "test").gid();
    w.text = own;
    return w;
}

} // namespace

BOOST_AUTO_TEST_CASE(queues_hold_what_may_be_outstanding)
{
    endpoint_config c;
    c.recv_depth = 400;
    c.send_depth = 7;
    const queue_plan p = plan_queues(c, facts());
    BOOST_TEST(p.recv_requests == 400u);
    BOOST_TEST(p.recv_entries >= p.recv_requests);
    BOOST_TEST(p.send_requests == 8u); // one for a sign of life
    BOOST_TEST(p.send_entries >= p.send_requests);
    BOOST_TEST(p.recv_pieces == 1u);
    c.header_bytes = 1;
    BOOST_TEST(plan_queues(c, facts()).recv_pieces == 2u);
    c.header_bytes = 0;
    c.service = service_type::ud;
    BOOST_TEST(plan_queues(c, facts()).recv_pieces == 2u);
}

BOOST_AUTO_TEST_CASE(depths_beyond_the_device_are_refused)
{
    endpoint_config c;
    c.recv_depth = 1001;
    BOOST_TEST(holds(refusal([&] { plan_queues(c, facts()); }),
                     { "recv_depth=1001", "rxe7", "max_qp_wr", "1000", "buffers" }));
    c.recv_depth = 501;
    BOOST_TEST(holds(refusal([&] { plan_queues(c, facts()); }),
                     { "recv_depth=501", "max_cqe", "500" }));
    c.recv_depth = 500;
    c.send_depth = 1000;
    BOOST_TEST(holds(refusal([&] { plan_queues(c, facts()); }),
                     { "send_depth=1000", "max_qp_wr less one", "999" }));
    c.send_depth = 500;
    BOOST_TEST(holds(refusal([&] { plan_queues(c, facts()); }), { "max_cqe" }));
    c.send_depth = 499;
    c.service = service_type::ud;
    c.header_bytes = 10;
    BOOST_TEST(holds(refusal([&] { plan_queues(c, facts()); }),
                     { "header_bytes=10", "max_sge", "rxe7", "2" }));
}

BOOST_AUTO_TEST_CASE(the_mtu_fits_the_port)
{
    BOOST_TEST(plan_mtu(0, facts()) == 1024u);
    BOOST_TEST(plan_mtu(256, facts()) == 256u);
    BOOST_TEST(plan_mtu(2048, facts()) == 2048u);
    BOOST_TEST(holds(refusal([] { plan_mtu(4096, facts()); }),
                     { "mtu=4096", "rxe7", "2048", "4200" }));
    device_facts small = facts();
    small.port_attributes.active_mtu = IBV_MTU_512;
    BOOST_TEST(plan_mtu(0, small) == 512u);
    for (const std::uint32_t bytes : { 256u, 512u, 1024u, 2048u, 4096u })
        BOOST_TEST(mtu_bytes(mtu_code(bytes)) == bytes);
    BOOST_TEST(mtu_code(256) == IBV_MTU_256);
    BOOST_TEST(mtu_code(4096) == IBV_MTU_4096);
    BOOST_TEST(mtu_bytes(ibv_mtu(0)) == 0u);
    BOOST_TEST(mtu_bytes(ibv_mtu(6)) == 0u);
}

BOOST_AUTO_TEST_CASE(ack_timeouts_are_at_least_what_was_asked)
{
    BOOST_TEST(ack_timeout_code(1) == 1);
    BOOST_TEST(ack_timeout_code(8192) == 1);
    BOOST_TEST(ack_timeout_code(8193) == 2);
    BOOST_TEST(ack_timeout_code(67000000) == 14); // 67.1 ms
    BOOST_TEST(ack_timeout_code(INT64_MAX) == 31);
}

BOOST_AUTO_TEST_CASE(retries_end_on_every_device)
{
    endpoint_config c;
    BOOST_TEST(plan_retries(c) == 6); // 7 is for ever on rxe
    c.retry_count = 2;
    BOOST_TEST(plan_retries(c) == 2);
    c.ack_timeout_ns = 1000;
    BOOST_TEST(retry_limit_ns(c) == 24000);
}

BOOST_AUTO_TEST_CASE(the_gid_is_the_interfaces_own_address_as_roce_v2)
{
    const auto rows = table();
    const auto index = [&](const char* own) {
        const gid_wish wanted = wish(own);
        const gid_row& r = choose_gid(rows, wanted);
        return r.device + "/" + std::to_string(r.entry.port_num) + "/" +
               std::to_string(r.entry.gid_index);
    };
    BOOST_TEST(index("10.0.0.1") == "mlx5_0/1/3");
    BOOST_TEST(index("10.0.7.1") == "mlx5_0/1/5");
    BOOST_TEST(index("10.0.1.1") == "mlx5_0/2/1");
    BOOST_TEST(index("10.0.2.1") == "mlx5_1/1/3");
    // The same link-local address on two interfaces.
    gid_wish local = wish("fe80::1%1");
    local.ifindex = 5;
    BOOST_TEST(choose_gid(rows, local).device == "mlx5_1");
    local.ifindex = 2;
    BOOST_TEST(choose_gid(rows, local).entry.gid_index == 1u);
}

BOOST_AUTO_TEST_CASE(an_address_without_a_usable_gid_is_refused)
{
    const auto rows = table();
    BOOST_TEST(holds(refusal([&] { choose_gid(rows, wish("10.0.9.9")); }),
                     { "10.0.9.9",
                       "on no RDMA device",
                       "softroce",
                       "mlx5_0 port 1 index 3",
                       "::ffff:10.0.0.1, RoCE v2" }));
    BOOST_TEST(holds(refusal([&] { choose_gid(rows, wish("10.0.3.1")); }),
                     { "10.0.3.1", "old", "RoCE v1" }));
    BOOST_TEST(holds(refusal([&] { choose_gid({}, wish("10.0.3.1")); }),
                     { "10.0.3.1", "no RDMA device here has a GID" }));
}

BOOST_AUTO_TEST_CASE(the_device_and_the_port_asked_for_must_have_the_address)
{
    const auto rows = table();
    gid_wish w = wish("10.0.0.1");
    w.device = "mlx5_0";
    w.port = 1;
    BOOST_TEST(choose_gid(rows, w).entry.gid_index == 3u);
    w.device = "mlx5_1";
    BOOST_TEST(holds(refusal([&] { choose_gid(rows, w); }),
                     { "device='mlx5_1'", "10.0.0.1", "port 1 of mlx5_0" }));
    w.device = "mlx5_9";
    BOOST_TEST(
        holds(refusal([&] { choose_gid(rows, w); }), { "device='mlx5_9'", "not there" }));
    w.device = "";
    w.port = 2;
    BOOST_TEST(holds(refusal([&] { choose_gid(rows, w); }),
                     { "ib_port=2", "10.0.0.1", "port 1 of mlx5_0" }));
}

BOOST_AUTO_TEST_CASE(a_forced_index_is_checked)
{
    const auto rows = table();
    gid_wish w = wish("10.0.0.1");
    w.index = 3; // two devices have one
    BOOST_TEST(choose_gid(rows, w).device == "mlx5_0");
    w.own = wish("10.0.2.1").own;
    BOOST_TEST(choose_gid(rows, w).device == "mlx5_1");
    w = wish("10.0.0.1");
    w.index = 2;
    BOOST_TEST(holds(refusal([&] { choose_gid(rows, w); }),
                     { "gid_index=2", "mlx5_0", "RoCE v1" }));
    w.index = 1;
    w.device = "mlx5_0";
    w.port = 1;
    BOOST_TEST(holds(refusal([&] { choose_gid(rows, w); }),
                     { "gid_index=1", "fe80::1", "not the own address 10.0.0.1" }));
    for (const int gone : { 4, 77 }) {
        w.index = gone;
        BOOST_TEST(holds(refusal([&] { choose_gid(rows, w); }),
                         { "is not in the table", "mlx5_0", "index 5" }));
    }
}

BOOST_AUTO_TEST_CASE(the_table_shows_the_choice)
{
    const auto rows = table();
    const std::string text = gid_table_text(rows, &rows[3]);
    BOOST_TEST(holds(text, { "* mlx5_0 port 1 index 3", "  mlx5_0 port 1 index 2" }));
    BOOST_TEST(std::count(text.begin(), text.end(), '\n') + 1 == 9);
}

BOOST_AUTO_TEST_CASE(locked_memory_is_compared_with_its_limit)
{
    constexpr std::uint64_t mib = 1 << 20;
    BOOST_TEST(memlock_problem(8 * mib, 8 * mib, false, mib).empty());
    BOOST_TEST(memlock_problem(99 * mib, 8 * mib, true, mib).empty());
    BOOST_TEST(holds(memlock_problem(64 * mib, 8 * mib, false, mib),
                     { "64 MiB", "8 MiB", "8 buffers of 1 MiB fit", "ulimit -l" }));
    BOOST_TEST(
        holds(memlock_problem(64 * mib, 8 * mib, false, 0), { "64 MiB", "8 MiB" }));
}

BOOST_AUTO_TEST_CASE(interrupts_are_thinned_out_where_the_device_can)
{
    const ibv_cq_moderation_caps caps = { 65535, 4095 };
    BOOST_TEST(plan_moderation(wait_mode::hybrid, 64, caps).count == 16);
    BOOST_TEST(plan_moderation(wait_mode::hybrid, 64, caps).period_us == 16);
    BOOST_TEST(plan_moderation(wait_mode::event, 16, caps).count == 4);
    BOOST_TEST(plan_moderation(wait_mode::event, 4, caps).count == 0);
    BOOST_TEST(plan_moderation(wait_mode::busy, 64, caps).count == 0);
    BOOST_TEST(plan_moderation(wait_mode::hybrid, 64, { 0, 0 }).count == 0);
    BOOST_TEST(plan_moderation(wait_mode::hybrid, 64, { 3, 2 }).count == 3);
    BOOST_TEST(plan_moderation(wait_mode::hybrid, 64, { 3, 2 }).period_us == 2);
}

BOOST_AUTO_TEST_CASE(device_stamps_become_unix_time)
{
    constexpr std::int64_t now = 1700000000000000000;
    stamp_clock c(1000000, 0xffffffff); // 1 GHz: a tick a nanosecond
    BOOST_TEST(c.wants_reading(now));
    BOOST_TEST(c.time_ns(123, now) == now); // nothing read yet
    c.read(0xffffff00, now);
    BOOST_TEST(!c.wants_reading(now + 1));
    BOOST_TEST(c.wants_reading(now + 1000000000));
    BOOST_TEST(c.time_ns(0xffffff80, now + 1000) == now + 128);
    BOOST_TEST(c.time_ns(0x00000010, now + 1000) == now + 0x110); // wrapped
    BOOST_TEST(c.time_ns(0xfffffe00, now + 1000) == now - 256);
    BOOST_TEST(c.time_ns(0x00001000, now + 10) == now + 10); // never in the future
    BOOST_TEST(stamp_clock(0, 0).time_ns(5, now) == now);
    BOOST_TEST(!stamp_clock(0, 0).wants_reading(now));
}
