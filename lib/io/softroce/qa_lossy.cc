/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/icrc_check.h"
#include "io/softroce/requester.h"
#include "io/softroce/responder.h"
#include "testing/lossy_link.h"

#include <boost/test/unit_test.hpp>

#include <deque>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint32_t mtu = 256;
constexpr std::size_t depth = 8;
constexpr std::uint32_t slot_bytes = 4096;
using bytes_t = std::vector<std::byte>;
constexpr std::uint32_t qpn = 0x222222;

/*
 * A requester and a responder with a lossy link each way, on simulated time. Packets
 * cross as bytes; what is corrupted must be found by parser, QPN or ICRC.
 */
class two_ends
{
public:
    two_ends(service_type service, std::uint32_t first_psn, lossy_link_config link)
        : d_there(link),
          d_back(other(link)),
          d_slots(depth),
          d_completions(depth),
          d_requests(depth),
          d_done(depth),
          d_rx(receiving(service, first_psn), d_slots, d_completions, counts),
          d_tx(sending(service, first_psn), depth, d_requests, d_done, counts),
          d_ring(depth * slot_bytes)
    {
        mem::region r;
        r.host = d_ring.data();
        r.bytes = d_ring.size();
        d_rx.attach(r, mem::region());
        for (std::size_t i = 0; i < depth; ++i)
            d_slots.push({ i * slot_bytes, slot_bytes, i, 0 });
    }

    static responder_config receiving(service_type service, std::uint32_t first_psn)
    {
        responder_config c;
        c.service = service;
        c.mtu = mtu;
        c.first_psn = wire::psn(first_psn);
        c.rnr_timer = 1; // 10 us
        return c;
    }
    static requester_config sending(service_type service, std::uint32_t first_psn)
    {
        requester_config c;
        c.service = service;
        c.mtu = mtu;
        c.first_psn = wire::psn(first_psn);
        c.dest_qpn = qpn;
        c.window_bytes = 64 * mtu;
        c.ack_timeout_ns = 1000000;
        c.rate_bytes = service == service_type::uc ? 1e9 : 0;
        return c;
    }
    static lossy_link_config other(lossy_link_config c)
    {
        c.seed += 1000;
        return c;
    }

    bool post(const bytes_t& message, std::uint64_t cookie)
    {
        if (d_posted - d_finished == depth)
            return false;
        ++d_posted;
        send_request r;
        r.data = message.data();
        r.bytes = message.size();
        r.cookie = cookie;
        return d_requests.push(r);
    }
    bool poll_send(send_completion& c)
    {
        const bool got = d_done.pop(c);
        d_finished += got;
        return got;
    }
    //! A message that came, taken out of its slot, which is posted again.
    bool poll(completion& c, bytes_t& message)
    {
        if (!d_completions.pop(c))
            return false;
        const auto at = d_ring.begin() + std::ptrdiff_t(c.cookie * slot_bytes);
        message.assign(at, at + std::ptrdiff_t(c.bytes));
        std::fill(at, at + slot_bytes, std::byte{ 0 });
        d_slots.push({ c.cookie * slot_bytes, slot_bytes, c.cookie, 0 });
        return true;
    }

    //! Let everything happen that is due, then go to the next event.
    //! \return false: nothing will ever happen again
    bool step()
    {
        outgoing out;
        d_tx.on_time(d_now);
        while (d_tx.next(out, d_now))
            d_there.send(to_wire(out.packet, flow), d_now);
        d_tx.handed_over();
        datagram d;
        wire::packet p;
        while (d_there.receive(d, d_now)) {
            if (arrives(d, p, qpn, d_check_there))
                d_rx.on_packet(p, d_now);
            if (d_rx.ack_due()) {
                wire::packet ack;
                d_rx.take_ack(ack);
                d_back.send(to_wire(ack, flow), d_now);
            }
        }
        while (d_back.receive(d, d_now))
            if (arrives(d, p, 0, d_check_back) && wire::traits(p.bth.opcode).has_aeth)
                d_tx.on_acknowledge(p, d_now);
        std::int64_t next = std::min(d_there.next_ns(), d_back.next_ns());
        const std::int64_t wait = d_tx.ready_in(d_now);
        if (wait != INT64_MAX)
            next = std::min(next, d_now + wait);
        if (next == INT64_MAX)
            return false;
        d_now = std::max(d_now, next);
        return true;
    }

    wc_status failure() const { return d_tx.failure(); }
    gap trailing() const { return d_rx.pending_gap(); }
    const lossy_link& there() const { return d_there; }

    counters counts;
    std::uint64_t refused = 0; //!< datagrams that parser, QPN or ICRC turned away

private:
    bool arrives(const datagram& d, wire::packet& p, std::uint32_t own, icrc_check& check)
    {
        const bool right =
            wire::parse(d.data(), d.size(), p) == wire::parse_status::ok &&
            p.bth.dest_qpn == own &&
            check.right(flow, d.data(), d.size() - wire::icrc_bytes, p.icrc);
        refused += !right;
        return right;
    }

    const wire::ipv4_flow flow{ 0x0a000001, 0x0a000002, 4791, 4791 };
    lossy_link d_there;
    lossy_link d_back;
    responder::slot_queue d_slots;
    responder::completion_queue d_completions;
    requester::request_queue d_requests;
    requester::done_queue d_done;
    responder d_rx;
    requester d_tx;
    bytes_t d_ring;
    icrc_check d_check_there;
    icrc_check d_check_back;
    std::int64_t d_now = 0;
    std::size_t d_posted = 0;
    std::size_t d_finished = 0;
};

lossy_link_config bad_link(std::uint32_t seed, double rate)
{
    lossy_link_config c;
    c.delay_ns = 10000;
    c.seed = seed;
    c.drop = c.duplicate = c.reorder = rate;
    c.corrupt = rate / 2;
    return c;
}

lossy_link_config perfect_link()
{
    lossy_link_config c;
    c.delay_ns = 10000;
    return c;
}

// Messages of many lengths, bit for bit, in order, each completed once at both ends.
void rc_delivers(std::uint32_t first_psn, const lossy_link_config& link, unsigned count)
{
    two_ends e(service_type::rc, first_psn, link);
    std::deque<bytes_t> sent;
    unsigned posted = 0;
    unsigned received = 0;
    unsigned done = 0;
    std::mt19937 random(link.seed);
    while (received < count || done < count) {
        while (posted < count) {
            if (sent.size() == posted)
                sent.push_back(pattern(posted, random() % (slot_bytes + 1)));
            if (!e.post(sent[posted], posted))
                break;
            ++posted;
        }
        const bool more = e.step();
        BOOST_REQUIRE((e.failure() == wc_status::success));
        completion c;
        bytes_t message;
        while (e.poll(c, message)) {
            BOOST_REQUIRE(received < count);
            BOOST_REQUIRE((c.status == wc_status::success));
            BOOST_REQUIRE((message == sent[received]));
            BOOST_REQUIRE(c.sequence == received);
            BOOST_REQUIRE(!c.lost);
            ++received;
        }
        send_completion s;
        while (e.poll_send(s)) {
            BOOST_REQUIRE(s.cookie == done);
            BOOST_REQUIRE((s.status == wc_status::success));
            ++done;
            BOOST_REQUIRE(done <= received); // never before it was delivered
        }
        BOOST_REQUIRE((more || (received == posted && done == posted)));
    }
    BOOST_TEST(e.counts.messages_received.value() == count);
    BOOST_TEST(e.counts.messages_sent.value() == count);
    BOOST_TEST(e.counts.bytes_received.value() == e.counts.bytes_sent.value());
    BOOST_TEST((e.counts.retransmissions.value() != 0) == (link.drop > 0));
    BOOST_TEST((e.refused != 0) == (link.corrupt > 0));
}

// All messages have the same length: what came and what the gaps say is all there was.
void uc_accounts(std::uint32_t first_psn, const lossy_link_config& link, unsigned count)
{
    two_ends e(service_type::uc, first_psn, link);
    constexpr std::size_t bytes_each = 5 * mtu - 3;
    std::vector<bytes_t> sent;
    for (unsigned m = 0; m < count; ++m)
        sent.push_back(pattern(m, bytes_each));
    unsigned posted = 0;
    unsigned next = 0;
    std::uint64_t gaps = 0;
    bool running = true;
    while (running) {
        while (posted < count && e.post(sent[posted], posted))
            ++posted;
        running = e.step();
        completion c;
        bytes_t message;
        while (e.poll(c, message)) {
            if (c.lost) {
                ++gaps;
                if (next == 0) // nothing was known about the stream yet
                    while (next < count && message != sent[next])
                        ++next;
                else {
                    BOOST_REQUIRE(c.lost.messages_known);
                    BOOST_REQUIRE(c.lost.bytes == c.lost.messages * bytes_each);
                    next += unsigned(c.lost.messages);
                }
            }
            BOOST_REQUIRE(next < count);
            BOOST_REQUIRE((message == sent[next]));
            ++next;
        }
        send_completion s;
        while (e.poll_send(s))
            BOOST_REQUIRE((s.status == wc_status::success));
    }
    if (const gap end = e.trailing()) {
        // Whole messages may have been lost behind the last packet that came.
        BOOST_TEST((!end.messages_known || next + end.messages <= count));
    } else {
        BOOST_TEST((next == count || link.drop > 0));
    }
    BOOST_TEST(next > count / 2);
    BOOST_TEST((gaps != 0) == (link.drop > 0));
    BOOST_TEST(e.counts.gaps.value() == gaps);
}

} // namespace

BOOST_AUTO_TEST_CASE(rc_is_perfect_over_a_perfect_link)
{
    rc_delivers(0, perfect_link(), 300);
}

BOOST_AUTO_TEST_CASE(rc_delivers_bit_for_bit_at_one_percent)
{
    for (std::uint32_t seed = 1; seed <= 10; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            rc_delivers(77, bad_link(seed, 0.01), 300);
        }
}

BOOST_AUTO_TEST_CASE(rc_delivers_bit_for_bit_at_five_percent)
{
    for (std::uint32_t seed = 1; seed <= 5; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            rc_delivers(77, bad_link(seed, 0.05), 300);
        }
}

BOOST_AUTO_TEST_CASE(rc_delivers_across_the_psn_wrap)
{
    for (std::uint32_t first = 0xffff00; first <= 0xffffff; first += 51)
        BOOST_TEST_CONTEXT("first PSN " << first)
        {
            rc_delivers(first, bad_link(first, 0.02), 100);
        }
}

BOOST_AUTO_TEST_CASE(uc_is_perfect_over_a_perfect_link)
{
    uc_accounts(0, perfect_link(), 300);
}

BOOST_AUTO_TEST_CASE(uc_accounts_for_every_byte)
{
    for (std::uint32_t seed = 1; seed <= 10; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            uc_accounts(77, bad_link(seed, 0.01), 500);
        }
    for (std::uint32_t seed = 1; seed <= 5; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            uc_accounts(77, bad_link(seed, 0.05), 500);
        }
}

BOOST_AUTO_TEST_CASE(uc_accounts_across_the_psn_wrap)
{
    for (std::uint32_t first = 0xffff00; first <= 0xffffff; first += 51)
        BOOST_TEST_CONTEXT("first PSN " << first)
        {
            uc_accounts(first, bad_link(first, 0.02), 200);
        }
}
