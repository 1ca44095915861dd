/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_FUZZ_RESPONDER_BENCH_H
#define INCLUDED_RDMA_FUZZ_RESPONDER_BENCH_H

#include "fuzz/input.h"
#include "io/softroce/responder.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace gr {
namespace rdma {
namespace fuzz {

using bytes_t = std::vector<std::byte>;

constexpr std::byte guard{ 0xa5 };
constexpr std::size_t place_bytes = 1200;
constexpr std::size_t places = 8;
constexpr std::size_t room = 64; // between places

// What a message that was accepted packet by packet should look like.
struct accepted_message {
    bytes_t bytes;
    bool has_immediate = false;
    std::uint32_t immediate = 0;
    std::int64_t first_packet = 0;
};

struct slot_state {
    io::recv_slot slot;
    std::size_t place = 0;
    bool inside = true;
};

/*!
 * \brief A responder with its queues and memory, and a second account of what it should
 * have done, by which everything that it does is checked.
 *
 * Packet \p index carries PSN first_psn + index and a payload made from that.
 */
class responder_bench
{
public:
    responder_bench(const io::softroce::responder_config& config,
                    std::size_t depth,
                    std::uint32_t uniform_bytes)
        : d_config(config),
          d_uniform(uniform_bytes),
          d_depth(depth),
          d_slots(depth),
          d_completions(depth),
          d_rx(config, d_slots, d_completions, d_counts),
          d_ring(places * (place_bytes + room) + room, guard),
          d_headers(places * (config.header_bytes + room) + room, guard)
    {
        d_rx.attach(region_of(d_ring), region_of(d_headers));
        for (std::size_t p = 0; p < places; ++p)
            d_free.push_back(p);
    }

    void post(input& in)
    {
        if (d_posted.size() == d_depth || d_free.empty())
            return;
        slot_state s;
        s.place = d_free.front();
        s.slot.offset = room + s.place * (place_bytes + room);
        s.slot.header_offset = room + s.place * (d_config.header_bytes + room);
        s.slot.bytes = in.u16() % (place_bytes + 1);
        s.slot.cookie = d_next_cookie++;
        switch (in.less_than(16)) {
        case 0:
            s.slot.offset = d_ring.size() - s.slot.bytes + 1;
            s.inside = false;
            break;
        case 1:
            s.slot.offset = ~std::uint64_t{ 0 } - in.u8();
            s.inside = false;
            break;
        case 2:
            s.slot.header_offset = ~std::uint64_t{ 0 } - in.u8();
            s.inside = d_config.header_bytes == 0;
            break;
        default:
            break;
        }
        d_free.pop_front();
        FUZZ_REQUIRE(d_slots.push(s.slot));
        d_posted.push_back(s);
    }

    // A packet whose payload is a function of its place in the stream.
    void give(std::int64_t index, std::uint8_t opcode, std::size_t bytes, bool ask)
    {
        wire::packet p;
        p.bth.opcode = opcode;
        p.bth.psn = psn_of(index);
        p.bth.ack_request = ask;
        const wire::opcode_traits& t = wire::traits(opcode);
        if (!t.known)
            return; // no parser lets it through
        bytes = t.has_payload ? bytes : 0;
        p.bth.pad = static_cast<std::uint8_t>((4 - bytes % 4) % 4);
        p.immediate = t.has_immdt ? p.bth.psn.value() * 3 : 0;
        const bytes_t payload = payload_of(p.bth.psn, bytes);
        p.payload = payload.data();
        p.payload_bytes = bytes;
        offer(p, index, t);
    }

    // Packet \p index of a stream of messages of d_uniform bytes.
    void give_of_stream(std::int64_t index, bool ask)
    {
        const std::int64_t n = packets_each();
        const bool starts = index % n == 0;
        const bool ends = index % n == n - 1;
        const auto o = starts && ends ? wire::operation::send_only
                       : starts       ? wire::operation::send_first
                       : ends         ? wire::operation::send_last
                                      : wire::operation::send_middle;
        const std::size_t from = static_cast<std::size_t>(index % n) * d_config.mtu;
        give(index,
             wire::make_opcode(service(), o),
             std::min<std::size_t>(d_config.mtu, d_uniform - from),
             ask);
    }

    void pop_one()
    {
        io::completion c;
        if (!d_completions.pop(c))
            return;
        FUZZ_REQUIRE(!d_posted.empty());
        const slot_state s = d_posted.front();
        d_posted.pop_front();
        FUZZ_REQUIRE(c.cookie == s.slot.cookie);
        FUZZ_REQUIRE((c.status == io::wc_status::success) == s.inside);
        if (s.inside)
            check_message(c, s);
        else
            FUZZ_REQUIRE(c.status == io::wc_status::access_error);
        d_free.push_back(s.place);
    }

    // \return the PSN's index that the peer should send next, or -1 if it is told nothing
    std::int64_t take_ack()
    {
        if (!d_rx.ack_due())
            return -1;
        FUZZ_REQUIRE(d_config.service == io::service_type::rc);
        wire::packet a;
        d_rx.take_ack(a);
        FUZZ_REQUIRE(!d_rx.ack_due());
        FUZZ_REQUIRE(a.bth.opcode ==
                     wire::make_opcode(wire::service::rc, wire::operation::acknowledge));
        FUZZ_REQUIRE(a.aeth.msn == (d_delivered & wire::psn::mask));
        const bool is_ack = a.aeth.kind == wire::aeth_kind::ack;
        FUZZ_REQUIRE(a.bth.psn == psn_of(d_next - (is_ack ? 1 : 0)));
        return is_ack ? -1 : d_next;
    }

    void finish()
    {
        while (!d_completions.empty())
            pop_one();
        FUZZ_REQUIRE(d_accepted.empty());
        check_guards();
        if (d_uniform != 0 && d_strict && d_config.service == io::service_type::uc &&
            !d_rx.pending_gap())
            FUZZ_REQUIRE(d_highest < (d_last_message + 1) * packets_each());
    }

    wire::service service() const
    {
        return d_config.service == io::service_type::rc ? wire::service::rc
                                                        : wire::service::uc;
    }
    std::int64_t packets_each() const
    {
        return std::max<std::int64_t>(1, (d_uniform + d_config.mtu - 1) / d_config.mtu);
    }

private:
    static mem::region region_of(bytes_t& memory)
    {
        mem::region r;
        r.host = memory.data();
        r.address = reinterpret_cast<std::uintptr_t>(r.host);
        r.bytes = memory.size();
        return r;
    }
    wire::psn psn_of(std::int64_t index) const
    {
        return d_config.first_psn +
               static_cast<std::uint32_t>(static_cast<std::uint64_t>(index) &
                                          wire::psn::mask);
    }
    // Byte i is 31 psn + 7 i, modulo 256: a piece of one table, since 7 * 183 is 1.
    static bytes_t payload_of(wire::psn psn, std::size_t bytes)
    {
        static const bytes_t table = [] {
            bytes_t t(1024);
            for (std::size_t i = 0; i < t.size(); ++i)
                t[i] = static_cast<std::byte>(i * 7 & 0xff);
            return t;
        }();
        const auto from = table.begin() + (psn.value() * 31 * 183 & 0xff);
        return bytes_t(from, from + std::ptrdiff_t(bytes));
    }
    std::uint64_t sum_of_counters() const
    {
        std::uint64_t sum = 0;
        d_counts.for_each(
            [&sum](const char*, const char*, std::uint64_t n) { sum += n; });
        return sum;
    }
    static bool same(const bytes_t& a,
                     std::size_t at_a,
                     const bytes_t& b,
                     std::size_t at_b,
                     std::size_t n)
    {
        return n == 0 || std::memcmp(a.data() + at_a, b.data() + at_b, n) == 0;
    }

    void offer(const wire::packet& p, std::int64_t index, const wire::opcode_traits& t)
    {
        const std::uint64_t packets = d_counts.packets_received.value();
        const std::uint64_t messages = d_counts.messages_received.value();
        const std::uint64_t rnr = d_counts.rnr_naks_sent.value();
        const std::size_t waiting = d_completions.size();
        const std::uint64_t counted = sum_of_counters();
        const bool pushed = d_rx.on_packet(p, ++d_now_ns);
        FUZZ_REQUIRE(sum_of_counters() > counted); // none goes uncounted
        FUZZ_REQUIRE(pushed == (d_completions.size() != waiting));
        if (d_counts.rnr_naks_sent.value() != rnr)
            FUZZ_REQUIRE(d_slots.empty());
        d_highest = std::max(d_highest, index);

        const std::uint64_t accepted = d_counts.packets_received.value() - packets;
        const std::uint64_t delivered = d_counts.messages_received.value() - messages;
        FUZZ_REQUIRE(accepted <= 1 && delivered <= accepted);
        if (accepted == 0)
            return;
        FUZZ_REQUIRE(t.is_send);
        FUZZ_REQUIRE((delivered == 1) == t.ends);
        if (d_config.service == io::service_type::rc)
            FUZZ_REQUIRE(p.bth.psn == psn_of(d_next));
        if (t.starts) {
            d_current = accepted_message();
            d_current.first_packet = index;
        } else {
            FUZZ_REQUIRE(p.bth.psn == psn_of(d_next)); // no hole inside a message
        }
        d_next = d_config.service == io::service_type::rc ? d_next + 1 : index + 1;
        d_current.bytes.insert(
            d_current.bytes.end(), p.payload, p.payload + p.payload_bytes);
        d_current.has_immediate = t.has_immdt;
        d_current.immediate = p.immediate;
        if (t.ends) {
            d_accepted.push_back(d_current);
            ++d_delivered;
        }
    }

    void check_message(const io::completion& c, const slot_state& s)
    {
        FUZZ_REQUIRE(!d_accepted.empty());
        const accepted_message m = d_accepted.front();
        d_accepted.pop_front();
        FUZZ_REQUIRE(c.bytes == m.bytes.size());
        FUZZ_REQUIRE(c.bytes <= s.slot.bytes + d_config.header_bytes);
        const std::size_t head = std::min<std::size_t>(c.bytes, d_config.header_bytes);
        FUZZ_REQUIRE(same(m.bytes, 0, d_headers, s.slot.header_offset, head));
        FUZZ_REQUIRE(same(m.bytes, head, d_ring, s.slot.offset, c.bytes - head));
        FUZZ_REQUIRE(c.has_immediate == m.has_immediate);
        FUZZ_REQUIRE(!c.has_immediate || c.immediate == m.immediate);
        FUZZ_REQUIRE(c.sequence == d_popped++);
        if (d_uniform != 0)
            check_gap(c, m);
    }

    // Of a stream of equal messages it is known which ones are missing.
    void check_gap(const io::completion& c, const accepted_message& m)
    {
        const std::int64_t message = m.first_packet / packets_each();
        const std::int64_t missing = message - d_last_message - 1;
        if (d_config.service == io::service_type::rc)
            FUZZ_REQUIRE(!c.lost);
        if (c.lost.reason == io::gap_reason::reconnect)
            d_strict =
                false; // a run of late packets may pass as a sender that began anew
        else if (!c.lost)
            FUZZ_REQUIRE(missing == 0);
        else
            FUZZ_REQUIRE(missing > 0);
        if (c.lost.messages_known)
            FUZZ_REQUIRE(std::int64_t(c.lost.messages) == missing);
        if (c.lost.bytes_known)
            FUZZ_REQUIRE(std::int64_t(c.lost.bytes) == missing * std::int64_t(d_uniform));
        d_last_message = message;
    }

    void check_guards() const
    {
        static const bytes_t guards(room, guard);
        const auto untouched = [](const bytes_t& memory, std::size_t place) {
            for (std::size_t from = 0; from < memory.size(); from += place + room)
                FUZZ_REQUIRE(same(memory, from, guards, 0, room));
        };
        untouched(d_ring, place_bytes);
        untouched(d_headers, d_config.header_bytes);
    }

    const io::softroce::responder_config d_config;
    const std::uint32_t d_uniform; // bytes of every message, or 0: packets of any kind
    const std::size_t d_depth;
    io::counters d_counts;
    io::softroce::responder::slot_queue d_slots;
    io::softroce::responder::completion_queue d_completions;
    io::softroce::responder d_rx;
    bytes_t d_ring;
    bytes_t d_headers;

    std::deque<std::size_t> d_free;
    std::deque<slot_state> d_posted; // and not popped
    std::uint64_t d_next_cookie = 100;
    std::int64_t d_now_ns = 0;

    std::int64_t d_next = 0; // index behind the last accepted packet
    std::int64_t d_highest = -1;
    accepted_message d_current;
    std::deque<accepted_message> d_accepted; // completed, and not popped
    std::uint32_t d_delivered = 0;
    std::uint64_t d_popped = 0;
    std::int64_t d_last_message = -1;
    bool d_strict = true;
};

} // namespace fuzz
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_FUZZ_RESPONDER_BENCH_H */
