/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The contract again for softroce without UDP GRO, and streams that break its guesses.
#include "testing/datagram.h"
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"

using namespace gr::rdma;
using gr::rdma::testing::softroce_scatter_endpoints;

RDMA_ENDPOINT_CONTRACT(softroce_scatter_endpoints)

// Short messages, lost, doubled and overtaken packets: payloads land where they do not
// belong.
BOOST_AUTO_TEST_CASE(scattered_payloads_find_their_place_on_a_bad_network)
{
    constexpr std::size_t slot_bytes = 10000;
    constexpr std::size_t slots = 8;
    constexpr std::size_t count = 300;
    io::endpoint_config common;
    common.mtu = 256;
    common.recv_depth = slots;
    common.ack_timeout_ns = 5000000;
    common.wait = io::wait_mode::event;
    auto configs = softroce_scatter_endpoints().make(common);
    configs.first.faults.drop = configs.first.faults.duplicate =
        configs.first.faults.reorder = configs.first.faults.corrupt = 0.01;
    const auto from = io::make_endpoint(configs.first);
    const auto to = io::make_endpoint(configs.second);
    std::vector<std::byte> ring(slots * slot_bytes);
    mem::region region;
    region.host = ring.data();
    region.bytes = ring.size();
    to->attach(region, {});
    for (std::size_t i = 0; i < slots; ++i) {
        io::recv_slot s;
        s.offset = i * slot_bytes;
        s.bytes = slot_bytes;
        s.cookie = i;
        BOOST_REQUIRE(to->post_recv(&s, 1) == 1u);
    }
    to->start();
    from->start();
    std::vector<std::vector<std::byte>> messages;
    for (std::size_t i = 0; i < count; ++i)
        messages.push_back(gr::rdma::testing::pattern(
            i, i % 5 == 0 ? slot_bytes : i * 7919 % (slot_bytes + 1)));
    std::size_t sent = 0, got = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
    while (got < count && std::chrono::steady_clock::now() < end) {
        for (io::send_request r; sent < count; ++sent) {
            r.data = messages[sent].data();
            r.bytes = messages[sent].size();
            if (from->post_send(&r, 1) != 1)
                break;
        }
        io::send_completion done[16];
        from->poll_send(done, 16);
        io::completion c;
        to->wait_readable(1000000);
        while (to->poll(&c, 1) == 1) {
            const auto& want = messages[got];
            BOOST_TEST(c.bytes == want.size());
            BOOST_TEST(std::equal(want.begin(),
                                  want.end(),
                                  ring.begin() + std::ptrdiff_t(c.cookie * slot_bytes)));
            ++got;
            io::recv_slot s;
            s.offset = c.cookie * slot_bytes;
            s.bytes = slot_bytes;
            s.cookie = c.cookie;
            BOOST_TEST(to->post_recv(&s, 1) == 1u);
        }
    }
    BOOST_TEST(got == count);
    BOOST_TEST(to->counters().dropped_icrc.value() > 0u);
    BOOST_TEST(to->description().find("scatter") != std::string::npos);
    from->stop();
    to->stop();
}
