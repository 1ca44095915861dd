/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/qa_responder_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using gr::rdma::testing::pattern;

namespace {

constexpr std::uint32_t mtu = 256;
constexpr std::uint32_t message_bytes = 700; // three packets

responder_config uc_config(std::uint32_t first_psn = 100, std::uint64_t usual = 0)
{
    responder_config c;
    c.service = service_type::uc;
    c.mtu = mtu;
    c.first_psn = wire::psn(first_psn);
    c.message_bytes = usual;
    return c;
}

bytes_t numbered(unsigned m) { return pattern(m + 1, message_bytes); }

void check_gap(const gap& g, gap_reason reason)
{
    BOOST_TEST(to_string(g.reason) == to_string(reason));
    BOOST_TEST(!g.messages_known);
    BOOST_TEST(!g.bytes_known);
    BOOST_TEST(g.messages == 0u);
    BOOST_TEST(g.bytes == 0u);
}

void check_gap(const gap& g, gap_reason reason, std::uint64_t messages)
{
    BOOST_TEST(to_string(g.reason) == to_string(reason));
    BOOST_TEST(g.messages_known);
    BOOST_TEST(g.bytes_known);
    BOOST_TEST(g.messages == messages);
    BOOST_TEST(g.bytes == messages * message_bytes);
}

// Three messages of three packets between two that arrive, with the packets in `lost`
// missing. A message is delivered if it is whole; the next one says how many are not.
void lose(std::uint32_t first_psn, unsigned lost)
{
    responder_bench b(uc_config(first_psn));
    for (unsigned i = 0; i < 5; ++i)
        b.post(1024);
    b.give_message(numbered(0));
    b.expect_delivered(numbered(0));
    for (unsigned m = 1; m < 4; ++m)
        b.give_message(numbered(m), lost >> (3 * (m - 1)) & 7);
    b.give_message(numbered(4));
    unsigned missing = 0;
    std::uint64_t gaps = 0;
    for (unsigned m = 1; m < 5; ++m) {
        if (m < 4 && (lost >> (3 * (m - 1)) & 7) != 0) {
            ++missing;
            continue;
        }
        const completion c = b.pop();
        BOOST_TEST((b.stored(b.slot_of(c), c.bytes) == numbered(m)));
        if (missing != 0)
            check_gap(c.lost, gap_reason::packet_loss, missing);
        else
            BOOST_TEST(!c.lost);
        gaps += missing != 0;
        missing = 0;
    }
    BOOST_TEST(b.completions.empty());
    BOOST_TEST(b.counts.gaps.value() == gaps);
    std::uint64_t packets = 0;
    for (unsigned k = 0; k < 9; ++k)
        packets += lost >> k & 1;
    BOOST_TEST(b.counts.packets_lost.value() == packets);
    BOOST_TEST(!b.rx.ack_due());
    b.check_guards();
}

} // namespace

BOOST_AUTO_TEST_CASE(delivers_messages_and_never_answers)
{
    responder_bench b(uc_config());
    for (const std::size_t n : { 700, 0, 1, 256, 257, 1024 }) {
        b.post(1024);
        BOOST_TEST(b.give_message(pattern(n, n)));
        b.expect_delivered(pattern(n, n));
        BOOST_TEST(!b.rx.ack_due());
    }
    BOOST_TEST(b.counts.messages_received.value() == 6u);
    BOOST_TEST(b.counts.gaps.value() == 0u);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(every_pattern_of_lost_packets_is_accounted_for)
{
    for (unsigned lost = 0; lost < 512; ++lost)
        BOOST_TEST_CONTEXT("lost packets " << lost) { lose(100, lost); }
}

BOOST_AUTO_TEST_CASE(losses_across_the_psn_wrap_are_accounted_for)
{
    for (std::uint32_t first = 0xfffff2; first <= 0xffffff; ++first)
        for (const unsigned lost : { 0u, 1u, 2u, 4u, 0x38u, 0x1ffu, 0x124u, 0x0aau })
            BOOST_TEST_CONTEXT("first PSN " << first << ", lost packets " << lost)
            {
                lose(first, lost);
            }
}

BOOST_AUTO_TEST_CASE(counts_messages_of_which_only_a_part_came)
{
    struct {
        unsigned lost;
        std::uint64_t incomplete;
    } const cases[] = { { 1, 1 }, { 2, 1 }, { 4, 1 }, { 3, 1 }, { 6, 1 }, { 7, 0 } };
    for (const auto& c : cases) {
        responder_bench b(uc_config());
        for (unsigned i = 0; i < 3; ++i)
            b.post(1024);
        b.give_message(numbered(0));
        b.give_message(numbered(1), c.lost);
        b.give_message(numbered(2));
        BOOST_TEST(b.counts.messages_dropped_incomplete.value() == c.incomplete);
        BOOST_TEST(b.counts.dropped_opcode.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(the_slot_of_a_dropped_message_serves_the_next)
{
    responder_bench b(uc_config());
    b.post(1024);
    b.give_message(numbered(1), 4);
    b.give_message(numbered(2));
    b.expect_delivered(numbered(2));
    BOOST_TEST(b.counts.messages_dropped_no_slot.value() == 0u);
}

BOOST_AUTO_TEST_CASE(drops_duplicates_and_late_packets)
{
    responder_bench b(uc_config());
    b.post(1024);
    b.post(1024);
    b.post(1024);
    const bytes_t m = numbered(0);
    b.give_part(m, 0, wire::psn(100));
    b.give_part(m, 0, wire::psn(100)); // duplicate
    b.give_part(m, 1, wire::psn(101));
    b.give_part(m, 0, wire::psn(100));
    b.give_part(m, 2, wire::psn(102));
    b.expect_delivered(m);
    BOOST_TEST(b.counts.duplicates.value() == 2u);
    // Two packets swapped cost their message, and only that.
    const std::uint64_t discarded = b.counts.packets_discarded.value();
    b.next_psn = wire::psn(103);
    b.give_part(numbered(1), 0, wire::psn(103));
    b.give_part(numbered(1), 2, wire::psn(105));
    b.give_part(numbered(1), 1, wire::psn(104));
    b.next_psn = wire::psn(106);
    b.give_message(numbered(2));
    const completion c = b.pop();
    check_gap(c.lost, gap_reason::packet_loss, 1);
    BOOST_TEST((b.stored(b.slot_of(c), c.bytes) == numbered(2)));
    BOOST_TEST(b.counts.duplicates.value() == 3u);
    BOOST_TEST(b.counts.packets_lost.value() == 1u);
    BOOST_TEST(b.counts.packets_discarded.value() == discarded + 1);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(follows_a_sender_that_starts_again)
{
    responder_bench b(uc_config());
    for (unsigned i = 0; i < 12; ++i)
        b.post(1024);
    for (unsigned m = 0; m < 8; ++m) { // PSNs 100 to 123
        b.give_message(numbered(m));
        b.pop();
    }
    b.give_part(numbered(8), 0, b.next_psn); // inside a message
    b.next_psn = wire::psn(100);
    for (unsigned m = 0; m < 5; ++m)
        BOOST_TEST(!b.give_message(numbered(m)));
    BOOST_TEST(b.counts.duplicates.value() == 15u); // so many could still be late
    BOOST_TEST(b.give_message(numbered(5)));
    const completion c = b.pop();
    check_gap(c.lost, gap_reason::reconnect);
    BOOST_TEST((b.stored(b.slot_of(c), c.bytes) == numbered(5)));
    BOOST_TEST(b.counts.messages_dropped_incomplete.value() == 1u);
    BOOST_TEST(b.give_message(numbered(6)));
    BOOST_TEST(!b.pop().lost);
}

BOOST_AUTO_TEST_CASE(late_packets_with_holes_are_no_new_start)
{
    responder_bench b(uc_config());
    for (unsigned i = 0; i < 4; ++i)
        b.post(1024);
    for (unsigned m = 0; m < 2; ++m)
        b.give_message(numbered(m));
    for (unsigned k = 0; k < 60; ++k)
        b.give(op::send_only, wire::psn(40 - 2 * (k % 20)), pattern(1, 5));
    BOOST_TEST(b.counts.duplicates.value() == 60u);
    b.give_message(numbered(2));
    b.pop();
    b.pop();
    BOOST_TEST(!b.pop().lost);
}

BOOST_AUTO_TEST_CASE(joins_a_stream_that_is_running)
{
    for (const unsigned first_part : { 0u, 1u, 2u }) {
        responder_bench b(uc_config(100, message_bytes));
        b.post(1024);
        b.post(1024);
        const wire::psn start(100 + 3 * 1000); // as if a thousand messages were lost
        for (unsigned k = first_part; k < 3; ++k)
            b.give_part(numbered(0), k, start + k);
        b.next_psn = start + 3;
        b.give_message(numbered(1));
        BOOST_TEST(b.rx.heard());
        const completion c = b.pop();
        check_gap(c.lost, gap_reason::late_start);
        const unsigned whole = first_part == 0 ? 0 : 1;
        BOOST_TEST((b.stored(b.slot_of(c), c.bytes) == numbered(whole)));
        if (whole == 0)
            BOOST_TEST(!b.pop().lost);
        BOOST_TEST(b.completions.empty());
        BOOST_TEST(b.counts.packets_lost.value() == 0u);
        BOOST_TEST(b.counts.dropped_opcode.value() == 0u);
        BOOST_TEST(b.counts.messages_dropped_incomplete.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_message_without_a_slot_is_a_gap)
{
    responder_bench b(uc_config());
    b.post(1024);
    b.give_message(numbered(0));
    b.expect_delivered(numbered(0));
    BOOST_TEST(!b.give_message(numbered(1)));
    BOOST_TEST(!b.give_message(numbered(2)));
    check_gap(b.rx.pending_gap(), gap_reason::no_slot, 2);
    b.post(1024);
    b.give_message(numbered(3));
    const completion c = b.pop();
    check_gap(c.lost, gap_reason::no_slot, 2);
    BOOST_TEST((b.stored(b.slot_of(c), c.bytes) == numbered(3)));
    BOOST_TEST(b.counts.messages_dropped_no_slot.value() == 2u);
    BOOST_TEST(b.counts.packets_lost.value() == 0u);
    BOOST_TEST(b.counts.gaps.value() == 1u);
    BOOST_TEST(!b.rx.pending_gap());
}

BOOST_AUTO_TEST_CASE(sizes_a_loss_only_by_what_is_known)
{
    { // the configured length, before anything was delivered
        responder_bench b(uc_config(100, message_bytes));
        b.post(1024);
        b.give_part(numbered(0), 0, wire::psn(100));
        b.next_psn = wire::psn(106);
        b.give_message(numbered(2));
        check_gap(b.pop().lost, gap_reason::packet_loss, 2);
    }
    { // no length known
        responder_bench b(uc_config());
        b.post(1024);
        b.give_part(numbered(0), 0, wire::psn(100));
        b.next_psn = wire::psn(106);
        b.give_message(numbered(2));
        check_gap(b.pop().lost, gap_reason::packet_loss);
    }
    { // packets that do not divide by it
        responder_bench b(uc_config());
        b.post(1024);
        b.post(1024);
        b.give_message(numbered(0));
        b.next_psn = b.next_psn + 4;
        b.give_message(numbered(1));
        b.pop();
        check_gap(b.pop().lost, gap_reason::packet_loss);
        BOOST_TEST(b.counts.packets_lost.value() == 4u);
    }
}

BOOST_AUTO_TEST_CASE(a_message_longer_than_its_slot_is_a_gap_of_unknown_size)
{
    responder_bench b(uc_config());
    b.post(700);
    b.post(700);
    b.give_message(numbered(0));
    b.expect_delivered(numbered(0));
    BOOST_TEST(!b.give_message(pattern(5, 6 * mtu))); // packets of two usual messages
    BOOST_TEST(b.counts.dropped_length.value() == 1u);
    check_gap(b.rx.pending_gap(), gap_reason::length_error);
    b.give_message(numbered(1), 1); // joined by another loss
    b.give_message(numbered(2));
    check_gap(b.pop().lost, gap_reason::length_error);
    b.check_guards();
    b.post(1024);
    b.give_message(numbered(3), 1);
    b.give_message(numbered(4));
    check_gap(b.pop().lost, gap_reason::packet_loss, 1); // sized again
}

BOOST_AUTO_TEST_CASE(a_message_that_the_sender_gives_up_is_dropped)
{
    responder_bench b(uc_config());
    b.post(1024);
    b.post(1024);
    b.give_message(numbered(0));
    b.pop();
    b.give(op::send_first, pattern(1, mtu));
    b.give(op::send_middle, pattern(1, mtu));
    BOOST_TEST(b.give_message(numbered(2)));
    const completion c = b.pop();
    check_gap(c.lost, gap_reason::packet_loss); // two packets are no message of three
    BOOST_TEST((b.stored(b.slot_of(c), c.bytes) == numbered(2)));
    BOOST_TEST(b.counts.messages_dropped_incomplete.value() == 1u);
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(counts_opcodes_and_lengths_out_of_place)
{
    responder_bench b(uc_config());
    b.post(1024);
    BOOST_TEST(!b.give(op::send_middle, pattern(1, mtu))); // of no message
    BOOST_TEST(b.counts.dropped_opcode.value() == 1u);
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (opcode >= 0x20 && opcode <= 0x2b) // SENDs and WRITEs
            continue;
        wire::packet p;
        p.bth.opcode = static_cast<std::uint8_t>(opcode);
        p.bth.psn = b.next_psn;
        BOOST_TEST(!b.rx.on_packet(p, 1));
    }
    BOOST_TEST(b.counts.dropped_opcode.value() == 245u);
    for (const std::size_t n : { 0u, 252u, 260u }) {
        BOOST_TEST(!b.give(op::send_first, b.next_psn, pattern(1, n)));
        BOOST_TEST(!b.give(op::send_middle, b.next_psn, pattern(1, n)));
    }
    BOOST_TEST(!b.give(op::send_last, b.next_psn, {}));
    BOOST_TEST(!b.give(op::send_last, b.next_psn, pattern(1, 257)));
    BOOST_TEST(!b.give(op::send_only, b.next_psn, pattern(1, 257)));
    BOOST_TEST(b.counts.dropped_length.value() == 9u);
    b.give_message(numbered(0));
    b.expect_delivered(numbered(0));
    b.check_guards();
}

BOOST_AUTO_TEST_CASE(a_stray_psn_far_away_does_not_break_the_stream)
{
    responder_bench b(uc_config());
    b.post(1024);
    b.post(1024);
    b.give_part(numbered(0), 0, wire::psn(100));
    constexpr std::uint32_t far = (1u << 22) + 1;
    b.give(op::send_only, wire::psn(101 + far), pattern(1, 9));
    b.give(op::send_only, wire::psn(101) - far, pattern(1, 9));
    BOOST_TEST(b.counts.dropped_psn.value() == 2u);
    b.give_part(numbered(0), 1, wire::psn(101));
    b.give_part(numbered(0), 2, wire::psn(102));
    b.expect_delivered(numbered(0));
    BOOST_TEST(b.counts.packets_lost.value() == 0u);
    BOOST_TEST(b.counts.duplicates.value() == 0u);
    // A sender that starts again there is followed.
    b.next_psn = wire::psn(0x900000);
    for (unsigned k = 0; k < 15; ++k)
        BOOST_TEST(!b.give(op::send_only, pattern(k, 9)));
    BOOST_TEST(b.give(op::send_only, pattern(15, 9)));
    check_gap(b.pop().lost, gap_reason::reconnect);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_stream_tells_what_is_missing)
{
    responder_bench b(uc_config());
    b.post(1024);
    b.post(1024);
    BOOST_TEST(!b.rx.pending_gap());
    b.give_message(numbered(0));
    BOOST_TEST(!b.rx.pending_gap());
    b.give_part(numbered(1), 0, b.next_psn);
    check_gap(b.rx.pending_gap(), gap_reason::packet_loss); // began and did not end
    b.give_part(numbered(1), 2, b.next_psn + 2);
    check_gap(b.rx.pending_gap(), gap_reason::packet_loss, 1);
}

BOOST_AUTO_TEST_CASE(a_packet_of_the_other_kind_leaves_a_hole)
{
    responder_bench b(uc_config());
    b.post(1024);
    for (const op o : { op::send_first, op::write_middle, op::send_last })
        BOOST_TEST(!b.give(o, bytes_t(mtu)));
    BOOST_TEST(b.counts.dropped_opcode.value() == 1u);
    b.give_message(numbered(1));
    b.expect_delivered(numbered(1));
}
