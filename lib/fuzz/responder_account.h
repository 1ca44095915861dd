/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_FUZZ_RESPONDER_ACCOUNT_H
#define INCLUDED_RDMA_FUZZ_RESPONDER_ACCOUNT_H

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

constexpr std::byte guard{ 0xa5 }; // what memory holds where nothing was written
// A slot is a place of the ring, or the begin of one.
constexpr std::size_t place_bytes = 1200;
constexpr std::size_t places = 8;
constexpr std::size_t room = 64; // between places

//! A slot that was posted; if it is not inside, on purpose.
struct slot_state {
    io::recv_slot slot;
    std::size_t place = 0;
    bool inside = true;
};
//! A completion as it should be.
struct right_completion {
    slot_state slot;
    std::uint64_t bytes = 0;
    std::uint64_t header_bytes = 0;
    io::wc_opcode opcode = io::wc_opcode::send;
    bool has_immediate = false;
    std::uint32_t immediate = 0;
    std::int64_t first_packet = 0;
    std::uint64_t dropped = 0; // datagrams before this one
};

/*!
 * \brief The second account of what a responder should have done.
 *
 * It is told which packets were accepted; from these follow the contents of all memory,
 * the completions and the acknowledgements.
 */
class responder_account
{
public:
    responder_account(const io::softroce::responder_config& config,
                      const bytes_t& ring,
                      const bytes_t& headers)
        : d_config(config), d_ring(ring), d_headers(headers)
    {
    }

    std::deque<slot_state> waiting;    //!< posted, not completed
    std::deque<right_completion> done; //!< completed, not popped

    //! Index of the packet behind the last accepted one.
    std::int64_t next() const { return d_next; }
    //! Messages that have ended, WRITEs included.
    std::uint32_t messages() const { return d_messages; }
    bool memory_is(const bytes_t& ring, const bytes_t& headers) const
    {
        return std::memcmp(ring.data(), d_ring.data(), ring.size()) == 0 &&
               std::memcmp(headers.data(), d_headers.data(), headers.size()) == 0;
    }
    wire::psn psn_of(std::int64_t index) const
    {
        return d_config.first_psn +
               static_cast<std::uint32_t>(static_cast<std::uint64_t>(index) &
                                          wire::psn::mask);
    }
    void drop(std::uint64_t datagrams) { d_dropped += datagrams; }

    //! Bytes that were read to \p at before anybody looked at them: they may stand where
    //! the next payload is expected, and destroy nothing that was accepted.
    void guess(const io::softroce::responder::landing& at,
               const std::byte* ring,
               const std::byte* data,
               std::size_t bytes)
    {
        const auto next = std::find_if(
            waiting.begin(), waiting.end(), [](const slot_state& s) { return s.inside; });
        FUZZ_REQUIRE(next != waiting.end());
        const std::uint64_t from = static_cast<std::uint64_t>(at.at - ring);
        FUZZ_REQUIRE(from == next->slot.offset + (at.inside ? d_received : 0));
        FUZZ_REQUIRE(bytes <= at.room &&
                     from + at.room == next->slot.offset + next->slot.bytes);
        FUZZ_REQUIRE(d_written == 0); // a WRITE that has ended
        if (bytes != 0)
            std::memcpy(&d_ring[from], data, bytes);
    }

    // A slot outside the memory comes back at once.
    void refuse_slot()
    {
        FUZZ_REQUIRE(!waiting.empty() && !waiting.front().inside);
        right_completion c;
        c.slot = waiting.front();
        waiting.pop_front();
        done.push_back(c);
    }

    void accept(const wire::packet& p, std::int64_t index, bool delivered)
    {
        const wire::opcode_traits& t = wire::traits(p.bth.opcode);
        FUZZ_REQUIRE(t.is_send || t.is_write);
        FUZZ_REQUIRE(!t.has_deth || p.deth.qkey == d_config.qkey);
        FUZZ_REQUIRE(delivered == (t.ends && (t.is_send || t.has_immdt)));
        if (d_config.service == io::service_type::rc || !t.starts)
            FUZZ_REQUIRE(p.bth.psn == psn_of(d_next)); // no hole inside a message
        d_next = d_config.service == io::service_type::rc ? d_next + 1 : index + 1;
        FUZZ_REQUIRE(!waiting.empty() && waiting.front().inside);
        if (t.starts) {
            d_first_packet = index;
            d_received = 0;
            d_writing = t.is_write;
            d_reth = p.reth;
            if (t.is_write && p.reth.bytes != 0)
                FUZZ_REQUIRE(d_config.rkey != 0 && p.reth.rkey == d_config.rkey);
        }
        FUZZ_REQUIRE(t.is_write == d_writing);
        place(p, waiting.front().slot);
        d_received += p.payload_bytes;
        if (t.ends)
            end_message(p, t, delivered);
    }

private:
    // In the second account's memory.
    void place(const wire::packet& p, const io::recv_slot& slot)
    {
        const std::uint64_t header = d_writing ? 0 : d_config.header_bytes;
        for (std::size_t i = 0; i < p.payload_bytes;) {
            const std::uint64_t at = d_received + i;
            std::size_t n = p.payload_bytes - i;
            std::byte* to;
            if (at < header) {
                n = std::min<std::size_t>(n, header - at);
                to = &d_headers[slot.header_offset + at];
            } else {
                const std::uint64_t begin = d_writing ? d_reth.address : slot.offset;
                FUZZ_REQUIRE(begin >= slot.offset);
                FUZZ_REQUIRE(begin - slot.offset + (at - header) + n <= slot.bytes);
                to = &d_ring[begin + (at - header)];
            }
            std::memcpy(to, p.payload + i, n);
            i += n;
        }
    }

    void end_message(const wire::packet& p, const wire::opcode_traits& t, bool delivered)
    {
        const slot_state s = waiting.front();
        ++d_messages;
        if (d_writing) {
            FUZZ_REQUIRE(d_received == d_reth.bytes);
            if (d_received != 0)
                d_written =
                    std::max(d_written, d_reth.address - s.slot.offset + d_received);
        }
        if (!delivered)
            return;
        right_completion c;
        c.slot = s;
        c.header_bytes =
            d_writing ? 0 : std::min<std::uint64_t>(d_received, d_config.header_bytes);
        c.bytes = d_writing ? d_written
                  : d_written != 0
                      ? std::max(d_written + d_config.header_bytes, d_received)
                      : d_received;
        c.opcode = d_writing     ? io::wc_opcode::write_immediate
                   : t.has_immdt ? io::wc_opcode::send_immediate
                                 : io::wc_opcode::send;
        c.has_immediate = t.has_immdt;
        c.immediate = p.immediate;
        c.first_packet = d_first_packet;
        c.dropped = d_dropped;
        d_dropped = 0;
        d_written = 0;
        waiting.pop_front();
        done.push_back(c);
    }

    const io::softroce::responder_config d_config;
    bytes_t d_ring;
    bytes_t d_headers;
    std::int64_t d_next = 0;
    std::int64_t d_first_packet = 0; // of the message at hand, as the next four
    std::uint64_t d_received = 0;
    bool d_writing = false;
    wire::reth d_reth;
    std::uint64_t d_written = 0;  // of the next slot, by WRITEs that have ended
    std::uint32_t d_messages = 0; // ended, WRITEs included
    std::uint64_t d_dropped = 0;  // datagrams
};

} // namespace fuzz
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_FUZZ_RESPONDER_ACCOUNT_H */
