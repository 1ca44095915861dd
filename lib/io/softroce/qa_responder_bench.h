/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_QA_RESPONDER_BENCH_H
#define INCLUDED_RDMA_IO_SOFTROCE_QA_RESPONDER_BENCH_H

#include "io/softroce/responder.h"
#include "testing/datagram.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

using op = wire::operation;
using bytes_t = std::vector<std::byte>;

/*!
 * \brief A responder, its queues and its memory, fed packet by packet.
 *
 * Every byte outside the slots that were posted is a guard; check_guards() finds the
 * first that was written.
 */
struct responder_bench {
    static constexpr std::byte guard{ 0xa5 };
    static constexpr std::uint32_t room = 48; // between slots

    explicit responder_bench(const responder_config& c,
                             std::size_t depth = 32,
                             std::size_t ring_bytes = 1 << 17)
        : config(c),
          slots(depth),
          completions(depth),
          rx(c, slots, completions, counts),
          ring(ring_bytes, guard),
          headers(ring_bytes, guard),
          next_psn(c.first_psn)
    {
        rx.attach(region_of(ring), region_of(headers));
    }

    static mem::region region_of(bytes_t& memory)
    {
        mem::region r;
        r.host = memory.data();
        r.address = reinterpret_cast<std::uintptr_t>(r.host);
        r.bytes = memory.size();
        return r;
    }

    //! The next free place, guards on both sides.
    recv_slot post(std::uint32_t bytes)
    {
        recv_slot s;
        s.offset = d_ring_next + room;
        s.bytes = bytes;
        s.cookie = 1000 + posted.size();
        s.header_offset = d_header_next + room;
        d_ring_next = s.offset + bytes;
        d_header_next = s.header_offset + config.header_bytes;
        BOOST_REQUIRE(d_ring_next + room <= ring.size());
        BOOST_REQUIRE(d_header_next + room <= headers.size());
        posted.push_back(s);
        BOOST_REQUIRE(slots.push(s));
        return s;
    }

    //! One packet as it comes from the parser.
    bool give(op o,
              wire::psn psn,
              const bytes_t& payload,
              bool ack_request = false,
              std::uint32_t immediate = 0)
    {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(
            config.service == service_type::rc ? wire::service::rc : wire::service::uc,
            o);
        p.bth.psn = psn;
        p.bth.ack_request = ack_request;
        p.bth.pad = static_cast<std::uint8_t>((4 - payload.size() % 4) % 4);
        p.immediate = immediate;
        p.payload = payload.data();
        p.payload_bytes = payload.size();
        return rx.on_packet(p, now_ns++);
    }
    bool give(op o, const bytes_t& payload, bool ack_request = false)
    {
        const bool pushed = give(o, next_psn, payload, ack_request);
        ++next_psn;
        return pushed;
    }

    std::size_t packets_of(std::size_t bytes) const
    {
        return std::max<std::size_t>(1, (bytes + config.mtu - 1) / config.mtu);
    }
    //! Packet \p k of a message.
    bool give_part(const bytes_t& message, std::size_t k, wire::psn psn)
    {
        const std::size_t n = packets_of(message.size());
        const std::size_t from = k * config.mtu;
        const std::size_t to = std::min(message.size(), from + config.mtu);
        const op o = n == 1       ? op::send_only
                     : k == 0     ? op::send_first
                     : k + 1 == n ? op::send_last
                                  : op::send_middle;
        return give(o,
                    psn,
                    bytes_t(message.begin() + std::ptrdiff_t(from),
                            message.begin() + std::ptrdiff_t(to)));
    }
    //! A whole message; packets k whose bit in \p lost is set do not arrive.
    bool give_message(const bytes_t& message, unsigned lost = 0)
    {
        bool pushed = false;
        for (std::size_t k = 0; k < packets_of(message.size()); ++k, ++next_psn)
            if ((lost >> k & 1) == 0)
                pushed = give_part(message, k, next_psn) || pushed;
        return pushed;
    }

    completion pop()
    {
        completion c;
        BOOST_REQUIRE(completions.pop(c));
        return c;
    }
    wire::packet ack()
    {
        BOOST_REQUIRE(rx.ack_due());
        wire::packet a;
        rx.take_ack(a);
        BOOST_TEST(!rx.ack_due());
        BOOST_TEST(a.bth.opcode == 0x11);
        return a;
    }

    //! What a message left in memory, header part first.
    bytes_t stored(const recv_slot& s, std::size_t bytes) const
    {
        const std::size_t head = std::min<std::size_t>(bytes, config.header_bytes);
        const auto h = headers.begin() + std::ptrdiff_t(s.header_offset);
        const auto r = ring.begin() + std::ptrdiff_t(s.offset);
        bytes_t out(h, h + std::ptrdiff_t(head));
        out.insert(out.end(), r, r + std::ptrdiff_t(bytes - head));
        return out;
    }
    const recv_slot& slot_of(const completion& c) const
    {
        return posted.at(c.cookie - 1000);
    }
    void expect_delivered(const bytes_t& message)
    {
        const completion c = pop();
        BOOST_TEST((c.status == wc_status::success));
        BOOST_TEST(c.bytes == message.size());
        BOOST_TEST((stored(slot_of(c), c.bytes) == message));
    }

    void check_guards() const
    {
        bytes_t r = ring;
        bytes_t h = headers;
        for (const recv_slot& s : posted) {
            std::fill_n(r.begin() + std::ptrdiff_t(s.offset), s.bytes, guard);
            std::fill_n(
                h.begin() + std::ptrdiff_t(s.header_offset), config.header_bytes, guard);
        }
        for (const bytes_t* m : { &r, &h }) {
            const auto bad =
                std::find_if(m->begin(), m->end(), [](auto b) { return b != guard; });
            if (bad != m->end())
                BOOST_ERROR((m == &r ? "ring" : "headers")
                            << ": byte " << bad - m->begin()
                            << " lies in no slot and was written");
        }
    }

    const responder_config config;
    counters counts;
    responder::slot_queue slots;
    responder::completion_queue completions;
    responder rx;
    bytes_t ring;
    bytes_t headers;
    std::vector<recv_slot> posted;
    wire::psn next_psn;
    std::int64_t now_ns = 5000;

private:
    std::uint64_t d_ring_next = 0;
    std::uint64_t d_header_next = 0;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_QA_RESPONDER_BENCH_H */
