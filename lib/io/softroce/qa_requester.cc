/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_requester_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

constexpr std::uint32_t mtu = 1024;

requester_config config_for(service_type service, std::uint32_t first_psn = 500)
{
    requester_config c;
    c.service = service;
    c.mtu = mtu;
    c.first_psn = wire::psn(first_psn);
    c.dest_qpn = 0x123456;
    return c;
}

const service_type both[] = { service_type::rc, service_type::uc };

// Opcodes of table 38, by place in the message.
std::uint8_t right_opcode(service_type s, std::size_t k, std::size_t n, bool immediate)
{
    const std::uint8_t base = s == service_type::rc ? 0x00 : 0x20;
    const unsigned operation = n == 1       ? (immediate ? 0x05 : 0x04)
                               : k == 0     ? 0x00
                               : k + 1 == n ? (immediate ? 0x03 : 0x02)
                                            : 0x01;
    return static_cast<std::uint8_t>(base + operation);
}

} // namespace

BOOST_AUTO_TEST_CASE(cuts_messages_into_packets)
{
    for (const service_type service : both) {
        for (const bool immediate : { false, true }) {
            requester_bench b(config_for(service));
            std::uint32_t packets = 0;
            for (const std::size_t bytes : std::vector<std::size_t>{
                     0, 1, 2, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 1 }) {
                BOOST_TEST_CONTEXT(to_string(service) << ", " << bytes << " bytes")
                {
                    const bytes_t data = testing::pattern(1, bytes);
                    send_request r{ data.data(), bytes, 77, immediate, 0xabcd0123 };
                    BOOST_REQUIRE(b.requests.push(r));
                    const std::size_t n =
                        std::max<std::size_t>(1, (bytes + mtu - 1) / mtu);
                    for (std::size_t k = 0; k < n; ++k) {
                        BOOST_TEST(b.send() == long(packets + k));
                        const wire::packet& p = b.last.packet;
                        BOOST_TEST(p.bth.opcode ==
                                   right_opcode(service, k, n, immediate));
                        BOOST_TEST(p.bth.dest_qpn == 0x123456u);
                        BOOST_TEST(p.payload == data.data() + k * mtu);
                        BOOST_TEST(p.payload_bytes ==
                                   std::min<std::size_t>(mtu, bytes - k * mtu));
                        BOOST_TEST((p.payload_bytes + p.bth.pad) % 4 == 0u);
                        BOOST_TEST(p.bth.pad < 4);
                        if (immediate && k + 1 == n)
                            BOOST_TEST(p.immediate == 0xabcd0123u);
                        BOOST_TEST(p.bth.ack_request ==
                                   (service == service_type::rc && k + 1 == n));
                        BOOST_TEST(!b.last.again);
                    }
                    BOOST_TEST(b.send() == -1);
                    packets += std::uint32_t(n);
                    BOOST_TEST((service == service_type::rc ? b.ack(packets - 1)
                                                            : b.tx.handed_over()));
                    b.expect_done(77);
                    BOOST_TEST(b.done.empty());
                    BOOST_TEST(b.tx.idle());
                }
            }
            BOOST_TEST(b.counts.messages_sent.value() == 10u);
            BOOST_TEST(b.counts.packets_sent.value() == packets);
            BOOST_TEST(b.counts.bytes_sent.value() == 10 + 7 * mtu + 1u);
            BOOST_TEST(b.counts.retransmissions.value() == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(uc_messages_are_done_when_handed_over)
{
    requester_bench b(config_for(service_type::uc));
    const auto m1 = b.post(2 * mtu);
    const auto m2 = b.post(1);
    BOOST_TEST(b.send() == 0);
    BOOST_TEST(!b.tx.handed_over()); // one of two packets
    BOOST_TEST(b.send() == 1);
    BOOST_TEST(b.send() == 2);
    BOOST_TEST(b.done.empty());
    BOOST_TEST(b.tx.handed_over());
    b.expect_done(m1);
    b.expect_done(m2);
    BOOST_TEST(!b.tx.handed_over());
    BOOST_TEST(b.tx.ready_in(b.now_ns) == INT64_MAX);
    // Acknowledgements mean nothing to it.
    BOOST_TEST(!b.nak(wire::nak_code::invalid_request, 0));
    BOOST_TEST((b.tx.failure() == wc_status::success));
}

BOOST_AUTO_TEST_CASE(psns_wrap_while_sending)
{
    for (const service_type service : both) {
        requester_bench b(config_for(service, 0xfffffd));
        b.post(6 * mtu);
        for (const std::uint32_t psn : { 0xfffffdu, 0xfffffeu, 0xffffffu, 0u, 1u, 2u }) {
            b.send();
            BOOST_TEST(b.last.packet.bth.psn.value() == psn);
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_at_most_depth_messages_in_flight)
{
    requester_bench b(config_for(service_type::rc), 3);
    for (int i = 0; i < 3; ++i)
        b.post(1);
    BOOST_TEST(b.drain().size() == 3u);
    b.post(1);
    BOOST_TEST(b.send() == -1);
    BOOST_TEST(b.tx.ready_in(b.now_ns) == b.config.ack_timeout_ns);
    b.ack(0);
    BOOST_TEST(b.send() == 3);
}

BOOST_AUTO_TEST_CASE(paces_by_payload_bytes)
{
    for (const service_type service : both) {
        requester_config c = config_for(service);
        c.rate_bytes = 1e6; // one packet takes 1.024 ms
        c.ack_timeout_ns = INT64_C(1) << 40;
        requester_bench b(c);
        for (int i = 0; i < 8; ++i)
            b.post(2 * mtu);
        const std::int64_t start = b.now_ns;
        BOOST_TEST(b.send() == 0); // the first leaves at once
        for (long k = 1; k < 16; ++k) {
            BOOST_TEST(b.send() == -1);
            const std::int64_t wait = b.tx.ready_in(b.now_ns);
            BOOST_TEST(wait > 0);
            b.now_ns += wait - 100;
            BOOST_TEST(b.send() == -1);
            b.now_ns += 100;
            BOOST_TEST(b.send() == k);
            BOOST_TEST(std::abs(b.now_ns - start - k * 1024000) < 100 * k);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_pause_is_made_up_by_a_short_burst_only)
{
    requester_config c = config_for(service_type::uc);
    for (const double rate : { 1e6, 1e9 }) { // 1 ms of the second is more than 64 KiB
        c.rate_bytes = rate;
        requester_bench b(c, 2048);
        b.post(1);
        b.drain();
        b.now_ns += 1000000000;
        b.post(4 << 20);
        const double burst = std::max(65536.0, rate * 1e-3);
        BOOST_TEST(b.drain().size() == std::size_t(burst / mtu) + 1);
    }
}

BOOST_AUTO_TEST_CASE(a_slow_pace_is_no_loss)
{
    requester_config c = config_for(service_type::rc);
    c.rate_bytes = 10000; // a packet in 102 ms; the time-out is 67 ms
    requester_bench b(c);
    b.post(64 * mtu);
    std::uint64_t sent = 0;
    while (sent < 64) {
        const std::int64_t wait = b.tx.ready_in(b.now_ns);
        BOOST_REQUIRE(wait != INT64_MAX);
        b.now_ns += wait;
        BOOST_TEST(!b.tx.on_time(b.now_ns));
        for (const long k : b.drain()) {
            BOOST_TEST(k == long(sent));
            ++sent;
            if (b.last.packet.bth.ack_request)
                b.ack(std::uint32_t(k));
        }
    }
    BOOST_TEST(b.counts.timeouts.value() == 0u);
    BOOST_TEST(b.counts.retransmissions.value() == 0u);
    b.expect_done(1);
}

BOOST_AUTO_TEST_CASE(only_what_was_asked_for_can_be_late)
{
    requester_config c = config_for(service_type::rc);
    c.rate_bytes = 10000;
    requester_bench b(c);
    b.post(64 * mtu);
    long asked = -1;
    for (long k = 0; asked < 0 || k < asked + 3; ++k) { // two more behind it
        BOOST_REQUIRE(b.send() == k);
        if (b.last.packet.bth.ack_request)
            asked = k;
        b.now_ns += 1;
        if (asked < 0)
            b.now_ns += b.tx.ready_in(b.now_ns);
        else
            b.now_ns += 102400000;
    }
    b.ack(std::uint32_t(asked));
    b.now_ns += 3 * b.config.ack_timeout_ns;
    BOOST_TEST(!b.tx.on_time(b.now_ns));
    BOOST_TEST(b.counts.timeouts.value() == 0u);
}

BOOST_AUTO_TEST_CASE(gives_everything_back_when_aborted)
{
    for (const service_type service : both) {
        requester_bench b(config_for(service), 8);
        std::vector<std::uint64_t> cookies;
        for (int i = 0; i < 3; ++i)
            cookies.push_back(b.post(8 * mtu));
        for (int i = 0; i < 10; ++i) // one sent, one begun, one waiting
            b.send();
        b.tx.abort(wc_status::flushed);
        for (const auto cookie : cookies)
            b.expect_done(cookie, wc_status::flushed);
        BOOST_TEST(b.done.empty());
        BOOST_TEST(b.tx.idle());
        BOOST_TEST(b.send() == -1);
        BOOST_TEST(b.tx.ready_in(b.now_ns) == INT64_MAX);
        // What is posted afterwards comes back too.
        BOOST_TEST(!b.tx.on_time(b.now_ns));
        const auto late = b.post(1);
        BOOST_TEST(b.send() == -1);
        BOOST_TEST(b.tx.ready_in(b.now_ns) == 0);
        BOOST_TEST(b.tx.on_time(b.now_ns));
        b.expect_done(late, wc_status::flushed);
        BOOST_TEST(b.tx.ready_in(b.now_ns) == INT64_MAX);
        BOOST_TEST(b.counts.messages_sent.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(knows_when_it_has_something_to_do)
{
    requester_bench b(config_for(service_type::rc));
    BOOST_TEST(b.tx.ready_in(b.now_ns) == INT64_MAX);
    b.post(1);
    BOOST_TEST(b.tx.ready_in(b.now_ns) == 0);
    b.send();
    BOOST_TEST(b.tx.ready_in(b.now_ns) == b.config.ack_timeout_ns);
    b.now_ns += 1000;
    BOOST_TEST(b.tx.ready_in(b.now_ns) == b.config.ack_timeout_ns - 1000);
    b.now_ns += b.config.ack_timeout_ns;
    BOOST_TEST(b.tx.ready_in(b.now_ns) == 0);
    b.ack(0);
    BOOST_TEST(b.tx.ready_in(b.now_ns) == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_peer_that_waits_for_another_psn_is_told_from_a_silent_one)
{
    requester_bench b(config_for(service_type::rc));
    BOOST_TEST(!b.ack(5)); // nothing was sent yet
    BOOST_TEST(!b.tx.elsewhere());
    b.post(4 * mtu);
    b.drain();
    BOOST_TEST(!b.tx.elsewhere());
    BOOST_TEST(!b.ack(1000)); // the last one that it has
    BOOST_REQUIRE(b.tx.elsewhere());
    BOOST_TEST(b.tx.elsewhere()->value() == (b.config.first_psn + 1001).value());
    BOOST_TEST(!b.ask_again(2000)); // the next that it wants
    BOOST_REQUIRE(b.tx.elsewhere());
    BOOST_TEST(b.tx.elsewhere()->value() == (b.config.first_psn + 2000).value());
    BOOST_TEST(!b.tx.heard());
    b.ack(0);
    BOOST_TEST(b.tx.heard());
    BOOST_TEST(!b.tx.elsewhere());
}
