/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_FUZZ_RESPONDER_BENCH_H
#define INCLUDED_RDMA_FUZZ_RESPONDER_BENCH_H

#include "fuzz/input.h"
#include "fuzz/responder_account.h"
#include "io/softroce/responder.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace gr {
namespace rdma {
namespace fuzz {

//! What a RETH, or the DETH of a datagram, is to say.
struct extension {
    bool right_key = true;
    std::int32_t beyond = 0; //!< address, from the begin of the next slot
    std::uint32_t bytes = 0;
};

/*!
 * \brief A responder with its queues and memory, and a second account of what it should
 * have done, by which everything that it does is checked.
 *
 * Packet \p index carries PSN first_psn + index and a payload made from that. The second
 * account goes by which packets the responder counts as accepted; from these follow the
 * contents of all memory, every completion and every acknowledgement.
 */
class responder_bench
{
public:
    //! \param uniform_bytes length of every message of the stream; 0: no stream, packets
    //! of any kind
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
          d_headers(places * (config.header_bytes + room) + room, guard),
          d_right(config, d_ring, d_headers)
    {
        d_rx.attach(region_of(d_ring), region_of(d_headers));
        for (std::size_t p = 0; p < places; ++p)
            d_free.push_back(p);
    }

    void post(input& in)
    {
        if (d_right.waiting.size() + d_right.done.size() == d_depth || d_free.empty())
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
        d_right.waiting.push_back(s);
    }

    void give(std::int64_t index,
              std::uint8_t opcode,
              std::size_t bytes,
              bool ask,
              const extension& e = extension())
    {
        const wire::opcode_traits& t = wire::traits(opcode);
        if (!t.known)
            return; // no parser lets it through
        wire::packet p;
        p.bth.opcode = opcode;
        p.bth.psn = d_right.psn_of(index);
        p.bth.ack_request = ask;
        bytes = t.has_payload ? bytes : 0;
        p.bth.pad = static_cast<std::uint8_t>((4 - bytes % 4) % 4);
        p.immediate = t.has_immdt ? p.bth.psn.value() * 3 : 0;
        if (t.has_deth)
            p.deth.qkey = d_config.qkey + !e.right_key;
        if (t.has_reth) {
            const auto next = std::find_if(d_right.waiting.begin(),
                                           d_right.waiting.end(),
                                           [](const slot_state& s) { return s.inside; });
            p.reth.address = (next != d_right.waiting.end() ? next->slot.offset : 0) +
                             static_cast<std::uint64_t>(std::int64_t{ e.beyond });
            p.reth.rkey = d_config.rkey + !e.right_key;
            p.reth.bytes = e.bytes;
        }
        const bytes_t payload = payload_of(p.bth.psn, bytes);
        p.payload = payload.data();
        p.payload_bytes = bytes;
        if (scatters)
            scatter(p);
        offer(p, index);
    }

    //! Packet \p index of a stream of messages of the uniform length.
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
        FUZZ_REQUIRE(!d_right.done.empty());
        const right_completion right = d_right.done.front();
        d_right.done.pop_front();
        const slot_state& s = right.slot;
        FUZZ_REQUIRE(c.cookie == s.slot.cookie);
        FUZZ_REQUIRE(c.status ==
                     (s.inside ? io::wc_status::success : io::wc_status::access_error));
        if (s.inside) {
            FUZZ_REQUIRE(c.bytes == right.bytes && c.header_bytes == right.header_bytes);
            FUZZ_REQUIRE(c.bytes <= s.slot.bytes + d_config.header_bytes);
            FUZZ_REQUIRE(c.opcode == right.opcode);
            FUZZ_REQUIRE(c.has_immediate == right.has_immediate);
            FUZZ_REQUIRE(!c.has_immediate || c.immediate == right.immediate);
            FUZZ_REQUIRE(c.sequence == d_popped++);
            if (d_config.service == io::service_type::ud)
                FUZZ_REQUIRE(c.lost.messages == right.dropped &&
                             bool(c.lost) == (right.dropped != 0));
            else if (d_uniform != 0)
                check_gap(c, right.first_packet);
        }
        d_free.push_back(s.place);
    }

    //! \return the index of the packet that the peer should send next, or -1 if it is
    //! told nothing
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
        FUZZ_REQUIRE(a.aeth.msn == (d_right.messages() & wire::psn::mask));
        const bool is_ack = a.aeth.kind == wire::aeth_kind::ack;
        FUZZ_REQUIRE(a.bth.psn == d_right.psn_of(d_right.next() - (is_ack ? 1 : 0)));
        if (is_ack && a.aeth.value != 31)
            FUZZ_REQUIRE(wire::credits_of(a.aeth.value) <= d_slots.size());
        return is_ack ? -1 : d_right.next();
    }

    void finish()
    {
        while (!d_completions.empty())
            pop_one();
        FUZZ_REQUIRE(d_right.done.empty());
        FUZZ_REQUIRE(d_right.memory_is(d_ring, d_headers));
        if (d_uniform != 0 && d_strict && d_config.service == io::service_type::uc &&
            !d_rx.pending_gap())
            FUZZ_REQUIRE(d_highest < (d_last_message + 1) * packets_each());
    }

    wire::service service() const
    {
        return d_config.service == io::service_type::rc   ? wire::service::rc
               : d_config.service == io::service_type::uc ? wire::service::uc
                                                          : wire::service::ud;
    }
    //! Read payloads straight to where the next one is expected, as a device may.
    bool scatters = false;

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

    // What is not the expected packet is taken from elsewhere.
    void scatter(wire::packet& p)
    {
        const io::softroce::responder::landing l = d_rx.next_landing();
        if (!l.at)
            return;
        const std::size_t guessed = std::min(l.mtu, l.room);
        const std::size_t n = std::min(guessed, p.payload_bytes);
        d_right.guess(l, d_ring.data(), p.payload, n);
        if (n != 0)
            std::memcpy(l.at, p.payload, n);
        const wire::opcode_traits& t = wire::traits(p.bth.opcode);
        if (t.is_send && t.header_bytes == wire::bth_bytes && p.bth.pad == 0 &&
            p.payload_bytes == guessed && t.starts != l.inside && p.bth.psn == l.psn)
            p.payload = l.at;
    }

    void offer(const wire::packet& p, std::int64_t index)
    {
        const std::uint64_t packets = d_counts.packets_received.value();
        const std::uint64_t messages = d_counts.messages_received.value();
        const std::uint64_t rnr = d_counts.rnr_naks_sent.value();
        const std::uint64_t no_slot = d_counts.messages_dropped_no_slot.value();
        const std::uint64_t too_long = d_counts.dropped_length.value();
        const std::size_t before = d_completions.size();
        const std::uint64_t counted = sum_of_counters();
        const bool pushed = d_rx.on_packet(p, ++d_now_ns);
        FUZZ_REQUIRE(sum_of_counters() > counted); // none goes uncounted
        const std::size_t completions = d_completions.size() - before;
        FUZZ_REQUIRE(pushed == (completions != 0));
        if (d_counts.rnr_naks_sent.value() != rnr)
            FUZZ_REQUIRE(d_slots.empty());
        d_highest = std::max(d_highest, index);
        if (d_config.service == io::service_type::ud)
            d_right.drop(d_counts.messages_dropped_no_slot.value() - no_slot +
                         d_counts.dropped_length.value() - too_long);

        const std::uint64_t accepted = d_counts.packets_received.value() - packets;
        const std::uint64_t delivered = d_counts.messages_received.value() - messages;
        FUZZ_REQUIRE(accepted <= 1 && delivered <= accepted);
        FUZZ_REQUIRE(delivered <= completions);
        for (std::size_t i = delivered; i < completions; ++i)
            d_right.refuse_slot();
        if (accepted != 0)
            d_right.accept(p, index, delivered != 0);
    }

    // Of a stream of equal messages it is known which ones are missing.
    void check_gap(const io::completion& c, std::int64_t first_packet)
    {
        const std::int64_t message = first_packet / packets_each();
        const std::int64_t missing = message - d_last_message - 1;
        if (d_config.service == io::service_type::rc)
            FUZZ_REQUIRE(!c.lost);
        if (c.lost.reason == io::gap_reason::reconnect)
            d_strict = false; // a run of late packets passes as a sender that began anew
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

    const io::softroce::responder_config d_config;
    const std::uint32_t d_uniform;
    const std::size_t d_depth;
    io::counters d_counts;
    io::softroce::responder::slot_queue d_slots;
    io::softroce::responder::completion_queue d_completions;
    io::softroce::responder d_rx;
    bytes_t d_ring;
    bytes_t d_headers;
    responder_account d_right;
    std::deque<std::size_t> d_free; // places
    std::uint64_t d_next_cookie = 100;
    std::int64_t d_now_ns = 0;
    std::int64_t d_highest = -1;
    std::uint64_t d_popped = 0;
    std::int64_t d_last_message = -1;
    bool d_strict = true;
};

} // namespace fuzz
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_FUZZ_RESPONDER_BENCH_H */
