/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_responder_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using gr::rdma::testing::pattern;

namespace {

constexpr std::uint32_t mtu = 256;

responder_config rc_config(std::uint32_t first_psn = 100)
{
    responder_config c;
    c.service = service_type::rc;
    c.mtu = mtu;
    c.first_psn = wire::psn(first_psn);
    c.rnr_timer = 14;
    return c;
}

void check_nak(const wire::packet& a, wire::nak_code code, wire::psn psn)
{
    BOOST_TEST((a.aeth.kind == wire::aeth_kind::nak));
    BOOST_TEST(a.aeth.value == static_cast<unsigned>(code));
    BOOST_TEST(a.bth.psn.value() == psn.value());
}

void check_ack(const wire::packet& a, std::uint32_t psn, std::uint32_t msn)
{
    BOOST_TEST((a.aeth.kind == wire::aeth_kind::ack));
    BOOST_TEST(a.aeth.value < 31); // credits are told
    BOOST_TEST(a.bth.psn.value() == psn);
    BOOST_TEST(a.aeth.msn == msn);
}

} // namespace

BOOST_AUTO_TEST_CASE(delivers_messages_in_order)
{
    responder_bench b(rc_config());
    BOOST_TEST(!b.rx.heard());
    const std::size_t sizes[] = { 700, 0, 1, 255, 256, 257, 512, 513 };
    std::uint64_t total = 0;
    std::uint64_t sequence = 0;
    for (const std::size_t n : sizes) {
        const recv_slot s = b.post(1024);
        const bytes_t message = pattern(n, n);
        const std::int64_t first = b.now_ns;
        BOOST_TEST(b.give_message(message));
        const completion c = b.pop();
        BOOST_TEST(c.cookie == s.cookie);
        BOOST_TEST(c.bytes == n);
        BOOST_TEST((c.status == wc_status::success));
        BOOST_TEST((c.opcode == wc_opcode::send));
        BOOST_TEST(!c.has_immediate);
        BOOST_TEST(c.sequence == sequence++);
        BOOST_TEST(c.time_ns == first);
        BOOST_TEST(!c.lost);
        BOOST_TEST((b.stored(s, n) == message));
        total += n;
    }
    b.check_guards();
    BOOST_TEST(b.rx.heard());
    BOOST_TEST(b.counts.messages_received.value() == 8u);
    BOOST_TEST(b.counts.bytes_received.value() == total);
    BOOST_TEST(b.counts.packets_received.value() == 3 + 1 + 1 + 1 + 1 + 2 + 2 + 3u);
    BOOST_TEST(b.counts.receive_queue_empty.value() == 8u);
    BOOST_TEST(!b.rx.pending_gap());
}

BOOST_AUTO_TEST_CASE(answers_several_packets_by_one_acknowledgement)
{
    responder_bench b(rc_config());
    b.post(1024);
    b.post(1024);
    const bytes_t full = pattern(1, mtu);
    b.give(op::send_first, full);
    b.give(op::send_middle, full);
    BOOST_TEST(!b.rx.ack_due());
    b.give(op::send_middle, full, true);
    check_ack(b.ack(), 102, 0);
    b.give(op::send_last, full);
    BOOST_TEST(b.rx.ack_due()); // the end of a message is always acknowledged
    b.give(op::send_only, full);
    check_ack(b.ack(), 104, 2);
    BOOST_TEST(b.counts.acks_sent.value() == 2u);
}

BOOST_AUTO_TEST_CASE(tells_a_sender_that_begins_again_from_one_that_repeats)
{
    // A static connection's sender that was started anew begins at the first PSN.
    responder_bench b(rc_config());
    b.post(1024);
    b.post(1024);
    b.give_message(pattern(7, 600));
    const wire::psn first(100);
    b.give(op::send_first, first, pattern(9, mtu)); // its acknowledgement was lost
    BOOST_TEST((b.rx.refused() == responder::refusal::none));
    b.now_ns += 2000000000;
    b.give(op::send_middle, wire::psn(101), pattern(9, mtu));
    BOOST_TEST((b.rx.refused() == responder::refusal::none));
    b.give(op::send_first, first, pattern(9, mtu));
    BOOST_TEST((b.rx.refused() == responder::refusal::begins_again));
    BOOST_TEST(b.rx.first_psn().value() == 100u);
    BOOST_TEST(b.rx.expected_psn().value() == 103u);
    BOOST_TEST(b.counts.duplicates.value() == 3u);
    b.give_message(pattern(8, 10)); // in its place
    BOOST_TEST((b.rx.refused() == responder::refusal::none));
}

BOOST_AUTO_TEST_CASE(acknowledges_duplicates_again_and_drops_them)
{
    responder_bench b(rc_config());
    b.post(1024);
    b.post(1024);
    const bytes_t message = pattern(7, 600);
    b.give_message(message);
    b.expect_delivered(message);
    check_ack(b.ack(), 102, 1);
    const bytes_t kept = b.ring;
    for (const std::uint32_t psn : { 100u, 101u, 102u, 42u }) {
        BOOST_TEST(!b.give(op::send_first, wire::psn(psn), pattern(99, mtu)));
        check_ack(b.ack(), 102, 1);
    }
    BOOST_TEST(b.counts.duplicates.value() == 4u);
    BOOST_TEST(b.completions.empty());
    BOOST_TEST((b.ring == kept));
}

BOOST_AUTO_TEST_CASE(asks_once_for_a_missing_packet)
{
    responder_bench b(rc_config());
    b.post(2048);
    const bytes_t message = pattern(3, 5 * mtu);
    b.give_part(message, 0, wire::psn(100));
    for (const unsigned k : { 2u, 3u, 4u }) {
        BOOST_TEST(!b.give_part(message, k, wire::psn(100 + k)));
        if (k == 2)
            check_nak(b.ack(), wire::nak_code::psn_sequence_error, wire::psn(101));
        BOOST_TEST(!b.rx.ack_due());
    }
    BOOST_TEST(b.counts.sequence_naks_sent.value() == 1u);
    BOOST_TEST(b.counts.packets_discarded.value() == 3u);
    // It comes, and the next one is missing again: that is another request.
    b.give_part(message, 1, wire::psn(101));
    b.give_part(message, 4, wire::psn(104));
    check_nak(b.ack(), wire::nak_code::psn_sequence_error, wire::psn(102));
    for (const unsigned k : { 2u, 3u, 4u })
        b.give_part(message, k, wire::psn(100 + k));
    b.expect_delivered(message);
    check_ack(b.ack(), 104, 1);
    BOOST_TEST(b.counts.sequence_naks_sent.value() == 2u);
}

BOOST_AUTO_TEST_CASE(a_request_not_yet_sent_is_withdrawn_when_the_packet_comes)
{
    responder_bench b(rc_config());
    b.post(1024);
    const bytes_t message = pattern(4, 2 * mtu);
    b.give_part(message, 1, wire::psn(101));
    BOOST_TEST(!b.rx.heard()); // not in its place
    b.give_part(message, 0, wire::psn(100));
    BOOST_TEST(!b.rx.ack_due());
    b.give_part(message, 1, wire::psn(101));
    check_ack(b.ack(), 101, 1);
}

BOOST_AUTO_TEST_CASE(asks_to_wait_while_no_receive_is_posted)
{
    responder_bench b(rc_config());
    const bytes_t message = pattern(5, 2 * mtu);
    for (unsigned round = 1; round < 4; ++round) {
        BOOST_TEST(!b.give_part(message, 0, wire::psn(100)));
        const wire::packet a = b.ack();
        BOOST_TEST((a.aeth.kind == wire::aeth_kind::rnr_nak));
        BOOST_TEST(a.aeth.value == 14);
        BOOST_TEST(a.bth.psn.value() == 100u);
        BOOST_TEST(!b.give_part(message, 1, wire::psn(101))); // silent until the retry
        BOOST_TEST(!b.rx.ack_due());
        BOOST_TEST(b.counts.rnr_naks_sent.value() == round);
    }
    b.post(1024);
    BOOST_TEST(b.give_message(message));
    b.expect_delivered(message);
    check_ack(b.ack(), 101, 1);
    BOOST_TEST(b.counts.sequence_naks_sent.value() == 0u);
    BOOST_TEST(b.counts.dropped_opcode.value() == 0u);
}

BOOST_AUTO_TEST_CASE(refuses_opcodes_out_of_place)
{
    responder_bench b(rc_config());
    const bytes_t full = pattern(6, mtu);
    std::uint64_t refused = 0;
    const auto refuse = [&](op o) {
        BOOST_TEST_CONTEXT("opcode " << unsigned(o))
        {
            BOOST_TEST(!b.give(o, b.next_psn, full));
            BOOST_TEST(b.counts.dropped_opcode.value() == ++refused);
            check_nak(b.ack(), wire::nak_code::invalid_request, b.next_psn);
        }
    };
    b.post(1024);
    for (const op o : { op::send_middle, op::send_last, op::send_last_immediate })
        refuse(o);
    b.give(op::send_first, full);
    for (const op o : { op::send_first, op::send_only, op::send_only_immediate })
        refuse(o);
    b.give(op::send_last, full);
    bytes_t both = full;
    both.insert(both.end(), full.begin(), full.end());
    b.expect_delivered(both);
}

BOOST_AUTO_TEST_CASE(drops_opcodes_of_other_services)
{
    responder_bench b(rc_config());
    b.post(1024);
    std::uint64_t dropped = 0;
    const bytes_t data = pattern(6, 64);
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (opcode <= 0x0b) // SENDs and WRITEs
            continue;
        wire::packet p;
        p.bth.opcode = static_cast<std::uint8_t>(opcode);
        p.bth.psn = b.next_psn;
        p.payload = data.data();
        p.payload_bytes = data.size();
        BOOST_TEST(!b.rx.on_packet(p, 1));
        BOOST_TEST(b.counts.dropped_opcode.value() == ++dropped);
    }
    BOOST_TEST(!b.rx.ack_due());
    b.give_message(data);
    b.expect_delivered(data);
}

BOOST_AUTO_TEST_CASE(refuses_payloads_of_a_wrong_length)
{
    responder_bench b(rc_config());
    std::uint64_t refused = 0;
    const auto refuse = [&](op o, std::size_t bytes) {
        BOOST_TEST_CONTEXT("opcode " << unsigned(o) << ", " << bytes << " bytes")
        {
            BOOST_TEST(!b.give(o, b.next_psn, pattern(8, bytes)));
            BOOST_TEST(b.counts.dropped_length.value() == ++refused);
            check_nak(b.ack(), wire::nak_code::invalid_request, b.next_psn);
        }
    };
    b.post(2048);
    for (const std::size_t n : { 0u, 1u, 252u, 255u, 257u, 260u, 4096u })
        refuse(op::send_first, n);
    refuse(op::send_only, 257);
    refuse(op::send_only_immediate, 260);
    b.give(op::send_first, pattern(8, mtu));
    for (const std::size_t n : { 0u, 252u, 260u })
        refuse(op::send_middle, n);
    refuse(op::send_last, 0);
    refuse(op::send_last_immediate, 0);
    refuse(op::send_last, 257);
    b.give(op::send_last, pattern(8, 1));
    BOOST_TEST(b.pop().bytes == mtu + 1);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(refuses_a_message_longer_than_its_slot)
{
    responder_bench b(rc_config());
    b.post(300);
    BOOST_TEST(!b.give(op::send_first, pattern(9, mtu)));
    BOOST_TEST(!b.give(op::send_last, b.next_psn, pattern(9, 45))); // 301 bytes
    BOOST_TEST(b.counts.dropped_length.value() == 1u);
    check_nak(b.ack(), wire::nak_code::invalid_request, b.next_psn);
    b.check_guards();
    // The slot is still posted; what fits is delivered into it.
    const bytes_t message = pattern(10, 300);
    BOOST_TEST(b.give_message(message));
    b.expect_delivered(message);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(splits_headers_off_wherever_packets_end)
{
    for (const std::uint32_t header : { 1u, 64u, 255u, 256u, 257u, 400u, 1000u }) {
        responder_config c = rc_config();
        c.header_bytes = header;
        responder_bench b(c, 64);
        for (const std::size_t n : std::vector<std::size_t>{
                 0, 1, header - 1, header, header + 1, header + mtu, header + 1024 }) {
            b.post(1024);
            const bytes_t message = pattern(n + header, n);
            BOOST_TEST(b.give_message(message));
            b.expect_delivered(message);
        }
        // One byte more than header and slot together.
        b.post(100);
        const std::uint64_t before = b.counts.dropped_length.value();
        const bytes_t message = pattern(1, header + 101);
        const wire::psn first = b.next_psn;
        for (std::size_t k = 0; k < b.packets_of(message.size()); ++k)
            BOOST_TEST(!b.give_part(message, k, first + std::uint32_t(k)));
        BOOST_TEST(b.counts.dropped_length.value() == before + 1);
        b.check_guards();
    }
}

BOOST_AUTO_TEST_CASE(hands_immediates_over)
{
    responder_bench b(rc_config());
    b.post(1024);
    b.post(1024);
    b.post(1024);
    b.give(op::send_only_immediate, b.next_psn, pattern(1, 8), false, 0x01020304);
    ++b.next_psn;
    b.give(op::send_first, pattern(1, mtu));
    b.give(op::send_last_immediate, b.next_psn, pattern(1, 8), false, 0xfffffffe);
    ++b.next_psn;
    b.give(op::send_only_immediate, b.next_psn, {}, false, 7);
    for (const std::uint32_t value : { 0x01020304u, 0xfffffffeu, 7u }) {
        const completion c = b.pop();
        BOOST_TEST(c.has_immediate);
        BOOST_TEST((c.opcode == wc_opcode::send_immediate));
        BOOST_TEST(c.immediate == value);
    }
}

BOOST_AUTO_TEST_CASE(never_uses_a_slot_outside_the_memory)
{
    responder_config c = rc_config();
    c.header_bytes = 16;
    responder_bench b(c);
    const std::uint64_t size = b.ring.size();
    const recv_slot bad[] = {
        { size + 1, 0, 1, 0 },    { size, 1, 2, 0 },
        { size - 99, 100, 3, 0 }, { ~std::uint64_t(0) - 10, 100, 4, 0 },
        { 0, 100, 5, size - 15 }, { 0, 100, 6, ~std::uint64_t(0) - 3 },
    };
    for (const recv_slot& s : bad)
        BOOST_REQUIRE(b.slots.push(s));
    const bytes_t message = pattern(11, 50);
    BOOST_TEST(b.give(op::send_only, b.next_psn, message)); // completions were pushed
    BOOST_TEST((b.ack().aeth.kind == wire::aeth_kind::rnr_nak));
    for (const recv_slot& s : bad) {
        const completion got = b.pop();
        BOOST_TEST(got.cookie == s.cookie);
        BOOST_TEST((got.status == wc_status::access_error));
        BOOST_TEST(got.bytes == 0u);
    }
    // A bad one in front of a good one, and a first packet that completes nothing else.
    BOOST_REQUIRE(b.slots.push(bad[0]));
    b.post(1024);
    const bytes_t two = pattern(12, 300);
    BOOST_TEST(b.give_part(two, 0, b.next_psn));
    BOOST_TEST((b.pop().status == wc_status::access_error));
    BOOST_TEST(b.give_part(two, 1, b.next_psn + 1));
    b.expect_delivered(two);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(psns_wrap)
{
    for (std::uint32_t first = 0xfffff6; first <= 0xffffff; ++first) {
        responder_bench b(rc_config(first));
        for (unsigned m = 0; m < 3; ++m) {
            b.post(1024);
            const bytes_t message = pattern(m, 4 * mtu);
            const wire::psn start = b.next_psn;
            b.give_part(message, 0, start);
            b.give_part(message, 2, start + 2);
            check_nak(b.ack(), wire::nak_code::psn_sequence_error, start + 1);
            b.give_part(message, 0, start);
            BOOST_TEST(b.counts.duplicates.value() == m + 1);
            check_ack(b.ack(), start.value(), m);
            for (unsigned k = 1; k < 4; ++k)
                b.give_part(message, k, start + k);
            b.next_psn = start + 4;
            b.expect_delivered(message);
            check_ack(b.ack(), (b.next_psn - 1).value(), m + 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(counts_psns_far_outside_the_window)
{
    responder_bench b(rc_config());
    b.post(1024);
    b.give(op::send_only, wire::psn(100 + (1u << 22) + 1), pattern(1, 8));
    BOOST_TEST(b.counts.dropped_psn.value() == 1u);
    check_nak(b.ack(), wire::nak_code::psn_sequence_error, wire::psn(100));
    b.give(op::send_only, wire::psn(100) - ((1u << 22) + 1), pattern(1, 8));
    BOOST_TEST(b.counts.dropped_psn.value() == 2u);
    BOOST_TEST(b.counts.duplicates.value() == 0u);
    BOOST_TEST(!b.rx.heard());
    b.give_message(pattern(1, 8));
    b.expect_delivered(pattern(1, 8));
}
