/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_RESPONDER_H
#define INCLUDED_RDMA_IO_SOFTROCE_RESPONDER_H

#include "core/spsc_queue.h"
#include "io/endpoint.h"
#include "wire/packet.h"

#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

struct responder_config {
    service_type service = service_type::rc;
    std::uint32_t mtu = 1024;
    wire::psn first_psn; //!< the first that the peer sends
    std::uint32_t header_bytes = 0;
    std::uint64_t message_bytes = 0; //!< the usual message, header included; 0: unknown
    std::uint8_t rnr_timer = 12;
    std::uint32_t rkey = 0; //!< that WRITEs must give; 0: none are allowed
    std::uint32_t qkey = 0; //!< that UD packets must give
    //! Another peer's messages came before: the first one carries a gap of reason
    //! reconnect.
    bool follows_another = false;
};

//! Farther from the expected PSN than the longest message (1 GiB at MTU 256): no loss and
//! no late packet.
constexpr bool is_far(std::int32_t ahead) noexcept
{
    return ahead > 1 << 22 || ahead < -(1 << 22);
}

/*!
 * \brief Receiving half of a queue pair as a pure machine: packets and time in; writes
 * into the attached memory, completions and acknowledgements out.
 *
 * RC follows InfiniBand spec vol. 1, 9.7.4 and 9.7.5: in-order delivery, one NAK per
 * missing PSN, RNR NAK when a message starts and no slot is posted, duplicates
 * acknowledged again. UC follows 9.8.2: a message with a missing packet is dropped; the
 * next completion says what was lost. UD (9.8.3): one packet is one message,
 * whoever sent it, and its PSN says nothing; what finds no slot, or is longer than slot
 * or MTU, is lost with known bytes.
 *
 * RDMA WRITE (RC, UC): memory addresses count from the ring's first byte. A WRITE must
 * lie inside the next posted slot, so that it cannot touch what a reader still reads;
 * without a posted slot it is refused like a SEND. A WRITE alone completes nothing; one
 * with immediate uses up the slot, and its completion has the length of what was written
 * into it.
 *
 * Not thread-safe: one thread calls everything except the far ends of the two queues
 * (slots are pushed and completions popped by the consumer). No allocation, no system
 * call, no log. Every rejected packet has a counter; no byte outside the slot in use is
 * ever written.
 */
class responder
{
public:
    using slot_queue = core::spsc_queue<recv_slot>;
    using completion_queue = core::spsc_queue<completion>;

    //! The queues and counters must outlive the machine; \p completions holds at least as
    //! many items as \p slots.
    responder(const responder_config& config,
              slot_queue& slots,
              completion_queue& completions,
              counters& counts) noexcept;

    //! Memory that the slots' offsets refer to. Slots are checked against it.
    void attach(const mem::region& ring, const mem::region& headers) noexcept;

    /*!
     * Take one packet whose ICRC, address and QPN were found right.
     * \param now_ns wall clock, for the completion's time
     * \return true if a completion was pushed
     */
    bool on_packet(const wire::packet& packet, std::int64_t now_ns) noexcept;

    //! Where the payload of the next packets in order would go, as far as that is known
    //! now.
    struct landing {
        std::byte* at = nullptr; //!< nullptr: not known
        std::size_t room = 0;    //!< bytes up to the end of the slot
        std::size_t mtu = 0;
        bool inside = false; //!< of a message
        wire::psn psn;       //!< of the next packet
    };
    landing next_landing() noexcept;

    //! Is an acknowledgement to be sent? RC only; several packets are answered by one.
    bool ack_due() const noexcept { return d_ack_due || d_nak_due; }
    //! Fill in AETH, PSN and opcode of the acknowledgement that is due, and clear it.
    void take_ack(wire::packet& out) noexcept;

    //! Lost since the last delivered message, as far as seen.
    gap pending_gap() const noexcept;
    //! Why the last request was refused for good (RC: NAK invalid request or remote
    //! access error), which ends the peer's sending, or led nowhere; none: it was not.
    enum class refusal : std::uint8_t {
        none,
        message_length, //!< longer than slot_bytes() and header
        packet_length,  //!< does not fit the MTU
        sequence,       //!< a FIRST inside a message, a MIDDLE outside, and the like
        access,         //!< of an RDMA WRITE
        begins_again,   //!< the first PSN again, after a silence: another sender's
    };
    refusal refused() const noexcept { return d_refusal; }
    std::uint32_t mtu() const noexcept { return d_config.mtu; }
    wire::psn first_psn() const noexcept { return d_config.first_psn; }
    wire::psn expected_psn() const noexcept { return d_expected; }
    //! The longest message that the slot in use takes, header included.
    std::uint64_t most_bytes() const noexcept
    {
        return std::uint64_t(d_slot.bytes) + d_config.header_bytes;
    }
    //! True from the first packet that was in its place.
    bool heard() const noexcept { return d_heard; }

private:
    void on_request_rc(const wire::packet& p, std::int64_t now_ns) noexcept;
    void on_request_uc(const wire::packet& p, std::int64_t now_ns) noexcept;
    void on_datagram(const wire::packet& p, std::int64_t now_ns) noexcept;
    bool write_is_allowed(const wire::packet& p) noexcept;
    bool follow_psn_uc(const wire::packet& p, bool starts) noexcept;
    bool lengths_fit(const wire::packet& p, const wire::opcode_traits& t) const noexcept;
    bool open_message(std::int64_t now_ns) noexcept;
    bool accept_payload(const wire::packet& p) noexcept;
    void place(const std::byte* data, std::size_t bytes) noexcept;
    void finish_message(const wire::packet& p, const wire::opcode_traits& t) noexcept;
    void refuse_rc(wire::nak_code code, refusal why) noexcept;
    void schedule_nak(wire::aeth_kind kind, std::uint8_t value) noexcept;
    void drop_message(gap_reason reason) noexcept;
    gap sized(wire::psn end) const noexcept;
    bool slot_is_inside(const recv_slot& slot) const noexcept;

    const responder_config d_config;
    slot_queue& d_slots;
    completion_queue& d_completions;
    counters& d_counts;
    mem::region d_ring;
    mem::region d_headers;

    wire::psn d_expected; // next PSN in order
    wire::psn d_boundary; // PSN behind the last delivered message (UC: sizes a loss)
    bool d_heard = false;
    bool d_in_message = false;
    recv_slot d_slot;                // in use while d_in_message
    bool d_writing = false;          // the message is an RDMA WRITE
    std::uint64_t d_received = 0;    // bytes of the message so far
    std::uint64_t d_write_at = 0;    // offset in the slot where the WRITE began
    std::uint64_t d_write_bytes = 0; // as its RETH announced
    std::uint64_t d_written = 0;     // of the next slot, by WRITEs without immediate
    std::int64_t d_started_ns = 0;
    bool d_pushed = false; // a completion, by the packet at hand
    std::uint64_t d_sequence = 0;
    std::uint32_t d_msn = 0;

    // RC
    bool d_ack_due = false;
    bool d_nak_due = false;
    bool d_nak_sent = false;     // d_expected was asked for; silent until it comes
    std::int64_t d_taken_ns = 0; // when the last packet was in its place
    wire::aeth d_nak;
    refusal d_refusal = refusal::none;

    // UC
    gap d_lost;
    bool d_odd_length = false;      // what was lost is not all of the usual length
    bool d_skipping = false;        // inside a message that was dropped
    std::uint64_t d_last_bytes = 0; // length of the last delivered message
    wire::psn d_late_next;          // a restarted sender shows as a run of "late" packets
    unsigned d_late_run = 0;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_RESPONDER_H */
