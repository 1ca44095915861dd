/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_requester_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

constexpr std::uint32_t mtu = 256;

requester_config rc_config(std::uint32_t first_psn = 500)
{
    requester_config c;
    c.mtu = mtu;
    c.first_psn = wire::psn(first_psn);
    c.dest_qpn = 7;
    return c;
}

// Packets that may leave at once now, without sending them in the end.
std::size_t window(requester_bench& b) { return b.drain().size(); }

} // namespace

BOOST_AUTO_TEST_CASE(the_window_grows_with_acknowledgements_up_to_its_limit)
{
    requester_config c = rc_config();
    c.window_bytes = 100 * mtu;
    requester_bench b(c);
    b.post(4000 * mtu);
    std::uint32_t acked = 0;
    std::uint32_t in_flight = 16;
    for (const std::size_t leaves : { 16u, 32u, 64u, 100u, 100u, 100u }) {
        BOOST_TEST(window(b) == leaves);
        BOOST_TEST(b.last.packet.bth.ack_request); // the packet that closes the window
        in_flight = std::uint32_t(leaves);
        acked += in_flight;
        BOOST_TEST(!b.ack(acked - 1));
    }
}

BOOST_AUTO_TEST_CASE(acknowledgements_are_asked_for_before_the_window_closes)
{
    requester_config c = rc_config();
    c.window_bytes = 64 * mtu;
    requester_bench b(c);
    b.post(100000 * mtu);
    std::uint32_t acked = 0;
    for (unsigned round = 0; round < 200; ++round) {
        unsigned asked = 0;
        unsigned sent = 0;
        while (b.send() >= 0) {
            ++sent;
            asked += b.last.packet.bth.ack_request;
        }
        BOOST_TEST(asked >= 3u);
        acked += sent;
        b.ack(acked - 1);
    }
    BOOST_TEST(acked <= 200 * 64u);
}

BOOST_AUTO_TEST_CASE(a_window_smaller_than_four_packets_is_four)
{
    requester_config c = rc_config();
    c.window_bytes = 1;
    requester_bench b(c);
    b.post(100 * mtu);
    BOOST_TEST(window(b) == 4u);
}

BOOST_AUTO_TEST_CASE(a_loss_halves_the_window_once)
{
    requester_config c = rc_config();
    c.window_bytes = 64 * mtu;
    requester_bench b(c);
    b.post(4000 * mtu);
    std::uint32_t acked = 0;
    for (unsigned round = 0; round < 8; ++round) { // far beyond what is needed
        acked += std::uint32_t(window(b));
        b.ack(acked - 1);
    }
    BOOST_TEST(window(b) == 64u);
    b.ask_again(acked);
    BOOST_TEST((b.drain() == range(acked, acked + 32)));
    b.ask_again(acked + 1); // the same loss: packets sent before it was noticed
    const auto again = b.drain();
    BOOST_TEST(again.size() >= 32u);
    BOOST_TEST(again.front() == long(acked) + 1);
    // Linear growth from there: one window of acknowledgements opens it by one packet.
    acked += 64;
    b.ack(acked - 1);
    const std::size_t before = window(b);
    acked += std::uint32_t(before);
    b.ack(acked - 1);
    const std::size_t after = window(b);
    BOOST_TEST(after >= before);
    BOOST_TEST(after <= before + 2);
    // Losses in a row never close it.
    for (unsigned k = 0; k < 20; ++k) {
        b.ask_again(acked);
        const std::size_t n = window(b);
        BOOST_TEST(n >= 4u);
        acked += std::uint32_t(n);
        b.ack(acked - 1);
        window(b);
    }
}

BOOST_AUTO_TEST_CASE(goes_back_to_the_packet_that_is_missing)
{
    requester_bench b(rc_config());
    const auto m1 = b.post(3 * mtu);
    const auto m2 = b.post(4 * mtu);
    const auto m3 = b.post(2 * mtu);
    BOOST_TEST((b.drain() == range(0, 9)));
    BOOST_TEST(b.ask_again(4)); // 0 to 3 have come, so m1 is done
    b.expect_done(m1);
    for (long k = 4; k < 9; ++k) {
        BOOST_TEST(b.send() == k);
        BOOST_TEST(b.last.again);
        const bool second = k < 7;
        const std::size_t at = std::size_t(second ? k - 3 : k - 7) * mtu;
        BOOST_TEST(b.last.packet.payload == b.memory[second ? 1 : 2].data() + at);
        BOOST_TEST(b.last.packet.bth.ack_request == (k == 6 || k == 8));
    }
    BOOST_TEST(b.send() == -1);
    BOOST_TEST(b.counts.sequence_naks_received.value() == 1u);
    BOOST_TEST(b.counts.retransmissions.value() == 5u);
    BOOST_TEST(b.counts.packets_sent.value() == 14u);
    BOOST_TEST(b.ack(8)); // one answer for both
    b.expect_done(m2);
    b.expect_done(m3);
    BOOST_TEST(b.done.empty());
    BOOST_TEST(b.counts.bytes_sent.value() == 9 * mtu);
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_ends_a_retransmission_early)
{
    requester_bench b(rc_config());
    b.post(8 * mtu);
    b.drain();
    b.ask_again(2);
    BOOST_TEST(b.send() == 2);
    b.ack(5); // they had come after all
    BOOST_TEST((b.drain() == range(6, 8)));
    BOOST_TEST(b.ack(7));
    b.expect_done(1);
}

BOOST_AUTO_TEST_CASE(ignores_old_and_impossible_acknowledgements)
{
    requester_bench b(rc_config());
    b.post(4 * mtu);
    const auto m2 = b.post(4 * mtu);
    b.drain();
    b.ack(3);
    b.expect_done(1);
    const auto old = { 0u, 2u, 3u };
    for (const std::uint32_t k : old) {
        BOOST_TEST(!b.ack(k));
        BOOST_TEST(!b.ask_again(k));
        BOOST_TEST(!b.nak(wire::nak_code::invalid_request, k));
    }
    for (const std::uint32_t k : { 8u, 9u, 1000u, 0x800000u }) { // never sent
        BOOST_TEST(!b.ack(k));
        BOOST_TEST(!b.ask_again(k));
        BOOST_TEST(!b.nak(wire::nak_code::invalid_request, k));
    }
    BOOST_TEST(b.send() == -1);
    BOOST_TEST((b.tx.failure() == wc_status::success));
    BOOST_TEST(b.counts.sequence_naks_received.value() == 0u);
    BOOST_TEST(b.ack(7));
    b.expect_done(m2);
    BOOST_TEST(b.done.empty());
}

BOOST_AUTO_TEST_CASE(acknowledgements_cross_the_psn_wrap)
{
    for (std::uint32_t first = 0xfffff8; first <= 0xffffff; ++first) {
        requester_bench b(rc_config(first));
        const auto m1 = b.post(5 * mtu);
        const auto m2 = b.post(5 * mtu);
        BOOST_TEST((b.drain() == range(0, 10)));
        b.ask_again(3);
        BOOST_TEST((b.drain() == range(3, 10)));
        b.ack(4);
        b.expect_done(m1);
        BOOST_TEST(!b.ack(2));
        b.ack(9);
        b.expect_done(m2);
    }
}

BOOST_AUTO_TEST_CASE(waits_as_long_as_the_receiver_asks)
{
    for (const std::uint8_t code : { 0, 1, 12, 31 }) {
        requester_bench b(rc_config());
        const auto m1 = b.post(2 * mtu);
        b.post(2 * mtu);
        b.drain();
        BOOST_TEST(b.answer(wire::aeth_kind::rnr_nak, code, 2)); // m1 has come
        b.expect_done(m1);
        BOOST_TEST(b.counts.rnr_naks_received.value() == 1u);
        const std::int64_t wait = wire::rnr_timer_ns(code);
        BOOST_TEST(b.tx.ready_in(b.now_ns) == wait);
        b.now_ns += wait - 1;
        BOOST_TEST(b.send() == -1);
        BOOST_TEST(!b.tx.on_time(b.now_ns));
        b.now_ns += 1;
        BOOST_TEST((b.drain() == range(2, 4)));
        BOOST_TEST(b.counts.timeouts.value() == 0u);
        BOOST_TEST(b.tx.ready_in(b.now_ns) == b.config.ack_timeout_ns);
    }
}

BOOST_AUTO_TEST_CASE(rnr_retries_are_counted_unless_they_are_seven)
{
    for (const std::uint8_t limit : { 0, 1, 6, 7 }) {
        requester_config c = rc_config();
        c.rnr_retry = limit;
        requester_bench b(c);
        const auto m1 = b.post(mtu);
        const auto m2 = b.post(mtu);
        const auto refuse = [&] {
            b.now_ns += 1000000000;
            b.drain();
            b.answer(wire::aeth_kind::rnr_nak, 12, 0);
        };
        const unsigned tries = limit == 7 ? 100 : limit;
        for (unsigned k = 0; k < tries; ++k)
            refuse();
        BOOST_TEST((b.tx.failure() == wc_status::success));
        if (limit == 7)
            continue;
        refuse();
        BOOST_TEST((b.tx.failure() == wc_status::rnr_exceeded));
        b.expect_done(m1, wc_status::rnr_exceeded); // the first says why
        b.expect_done(m2, wc_status::flushed);
        BOOST_TEST(b.done.empty());
    }
    // Progress starts the count again.
    requester_config c = rc_config();
    c.rnr_retry = 1;
    requester_bench b(c);
    for (std::uint32_t k = 0; k < 10; ++k) {
        b.post(mtu);
        b.now_ns += 1000000000;
        b.drain();
        b.answer(wire::aeth_kind::rnr_nak, 12, k);
        b.now_ns += 1000000000;
        b.drain();
        b.ack(k);
        b.expect_done(k + 1);
    }
}

BOOST_AUTO_TEST_CASE(a_refusal_ends_the_connection)
{
    for (const std::uint8_t code : { 1, 2, 3, 4, 5, 31 }) {
        requester_bench b(rc_config());
        const auto m1 = b.post(2 * mtu);
        const auto m2 = b.post(2 * mtu);
        const auto m3 = b.post(mtu);
        b.drain();
        BOOST_TEST(b.answer(wire::aeth_kind::nak, code, 2));
        b.expect_done(m1); // what stands before it was accepted
        b.expect_done(m2, wc_status::remote_error);
        b.expect_done(m3, wc_status::flushed);
        BOOST_TEST(b.done.empty());
        BOOST_TEST((b.tx.failure() == wc_status::remote_error));
        BOOST_TEST(b.send() == -1);
        BOOST_TEST(!b.ack(4));
        BOOST_TEST(!b.tx.on_time(INT64_MAX));
        BOOST_TEST(b.tx.ready_in(b.now_ns) == INT64_MAX);
    }
}

BOOST_AUTO_TEST_CASE(a_silent_peer_is_asked_again_and_then_given_up)
{
    requester_config c = rc_config();
    c.retry_count = 5;
    c.ack_timeout_ns = 100000000;
    requester_bench b(c);
    b.post(mtu);
    b.drain();
    b.ack(0); // heard
    b.expect_done(1);
    const auto m2 = b.post(3 * mtu);
    const auto m3 = b.post(mtu);
    b.drain();
    // Doubled three times at most, and never above half a second.
    for (const std::int64_t wait : { 100, 200, 400, 500, 500 }) {
        BOOST_TEST(b.tx.ready_in(b.now_ns) == wait * 1000000);
        b.now_ns += wait * 1000000 - 1;
        BOOST_TEST(!b.tx.on_time(b.now_ns));
        BOOST_TEST(b.send() == -1);
        b.now_ns += 1;
        BOOST_TEST(!b.tx.on_time(b.now_ns));
        BOOST_TEST((b.drain() == range(1, 5)));
    }
    BOOST_TEST(b.counts.timeouts.value() == 5u);
    b.now_ns += 500000000;
    BOOST_TEST(b.tx.on_time(b.now_ns));
    BOOST_TEST((b.tx.failure() == wc_status::retry_exceeded));
    b.expect_done(m2, wc_status::retry_exceeded);
    b.expect_done(m3, wc_status::flushed);
    BOOST_TEST(b.done.empty());
}

BOOST_AUTO_TEST_CASE(an_answer_starts_the_count_of_time_outs_again)
{
    requester_bench b(rc_config());
    b.post(1000 * mtu);
    std::uint32_t acked = 0;
    for (unsigned k = 0; k < 50; ++k) {
        b.drain();
        b.now_ns += 1000000000;
        b.tx.on_time(b.now_ns);
        b.drain();
        b.ack(acked++);
    }
    BOOST_TEST(b.counts.timeouts.value() == 50u);
    BOOST_TEST((b.tx.failure() == wc_status::success));
}

BOOST_AUTO_TEST_CASE(a_peer_not_heard_yet_is_waited_for)
{
    for (const bool waits : { true, false }) {
        requester_config c = rc_config();
        c.retry_count = 2;
        c.wait_for_peer = waits;
        requester_bench b(c);
        b.post(mtu);
        for (unsigned k = 0; k < 100; ++k) {
            b.drain();
            b.now_ns += 1000000000;
            b.tx.on_time(b.now_ns);
        }
        BOOST_TEST(!b.tx.heard());
        BOOST_TEST(
            (b.tx.failure() == (waits ? wc_status::success : wc_status::retry_exceeded)));
        BOOST_TEST(b.counts.timeouts.value() == (waits ? 100u : 3u));
        if (!waits)
            continue;
        b.drain();
        BOOST_TEST(b.ack(0));
        BOOST_TEST(b.tx.heard());
        b.expect_done(1);
    }
}

BOOST_AUTO_TEST_CASE(retransmissions_that_do_not_end_a_message_are_acknowledged)
{
    requester_config c = rc_config();
    c.rate_bytes = 1000; // new packets are slow in coming
    requester_bench b(c);
    b.post(100 * mtu);
    b.drain();
    for (int i = 0; i < 2; ++i) {
        b.now_ns += 256000001;
        b.drain();
    }
    BOOST_TEST(b.ask_again(1) == false);
    BOOST_TEST((b.drain() == range(1, 3)));
    BOOST_TEST(b.last.packet.bth.ack_request);
}

BOOST_AUTO_TEST_CASE(retransmissions_do_not_wait_for_the_pace)
{
    requester_config c = rc_config();
    c.rate_bytes = 1000;
    requester_bench b(c);
    b.post(300 * mtu);
    for (std::uint32_t acked = 0; b.tx.ready_in(b.now_ns) == 0; ++acked) {
        BOOST_REQUIRE(b.send() == long(acked));
        b.ack(acked);
    }
    const std::int64_t wait = b.tx.ready_in(b.now_ns);
    BOOST_TEST(wait > 0);
    b.now_ns += wait;
    const long last = b.send();
    BOOST_REQUIRE(last > 0);
    b.ask_again(static_cast<std::uint32_t>(last));
    BOOST_TEST(b.tx.ready_in(b.now_ns) == 0);
    BOOST_TEST(b.send() == last);
    BOOST_TEST(b.tx.ready_in(b.now_ns) > 0); // what follows is new
}
