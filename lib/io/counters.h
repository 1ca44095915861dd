/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_COUNTERS_H
#define INCLUDED_RDMA_IO_COUNTERS_H

#include <atomic>
#include <cstdint>

namespace gr {
namespace rdma {
namespace io {

/*!
 * \brief One monotonic count, one writer thread, any readers; relaxed order: for people,
 * not for control flow.
 */
class counter
{
public:
    void add(std::uint64_t n = 1) noexcept
    {
        d_value.store(d_value.load(std::memory_order_relaxed) + n,
                      std::memory_order_relaxed);
    }
    std::uint64_t value() const noexcept
    {
        return d_value.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> d_value{ 0 };
};

/*!
 * \brief What an endpoint counts. Each has one meaning, given beside it; names appear as
 * they stand here in the status message, in --json and in the manual.
 */
#define RDMA_IO_COUNTERS(X)                                                            \
    X(messages_received, "messages delivered")                                         \
    X(bytes_received, "payload bytes of delivered messages")                           \
    X(packets_received, "packets accepted by this connection")                         \
    X(messages_sent, "messages sent; RC: and acknowledged")                            \
    X(bytes_sent, "payload bytes of sent messages, without retransmissions")           \
    X(packets_sent, "data packets sent, retransmissions included")                     \
    X(acks_sent, "acknowledge packets sent")                                           \
    X(acks_received, "acknowledge packets received")                                   \
    X(rnr_naks_sent, "times a message came and no receive was posted (RC)")            \
    X(rnr_naks_received, "times the peer had no receive posted (RC)")                  \
    X(sequence_naks_sent, "times a packet was missing and we asked again (RC)")        \
    X(sequence_naks_received, "times the peer asked again (RC)")                       \
    X(retransmissions, "data packets sent again")                                      \
    X(timeouts, "times the peer did not acknowledge in time (RC)")                     \
    X(duplicates, "packets received again and dropped")                                \
    X(gaps, "losses that the stream shows as rx_gap")                                  \
    X(packets_lost, "packets missing by PSN (UC)")                                     \
    X(packets_discarded, "packets dropped because one before them is missing")         \
    X(messages_dropped_no_slot, "messages dropped, no receive posted (UC, UD)")        \
    X(messages_dropped_incomplete, "messages dropped, a packet was missing (UC)")      \
    X(dropped_short, "packets too short for their headers")                            \
    X(dropped_opcode, "packets with an opcode of another service or out of place")     \
    X(dropped_qpn, "packets for a queue pair that is not here")                        \
    X(dropped_version, "packets with a transport version other than 0")                \
    X(dropped_pad, "packets whose pad count does not fit their length")                \
    X(dropped_psn, "packets with a PSN far outside the window")                        \
    X(dropped_icrc, "packets with a wrong ICRC")                                       \
    X(dropped_length, "packets or messages of a wrong length for opcode, MTU or slot") \
    X(dropped_source, "packets from an address other than the peer's")                 \
    X(dropped_access, "RDMA WRITEs with a wrong R_Key or outside the next slot")       \
    X(dropped_pkey, "packets of another partition (P_Key)")                            \
    X(dropped_qkey, "datagrams with a wrong Q_Key")                                    \
    X(cm_requests, "connection requests received (REQ, SIDR_REQ)")                     \
    X(cm_refused, "connection requests that were refused")                             \
    X(cm_timeouts, "handshakes that the peer never finished")                          \
    X(cm_replaced, "peers that no longer answered and gave way to another")            \
    X(cm_malformed, "connection manager messages that could not be read")              \
    X(cm_ignored, "connection manager messages that belong to no connection")          \
    X(icrc_checked, "packets whose ICRC was verified")                                 \
    X(icrc_unchecked, "packets whose ICRC could not be verified")                      \
    X(faults_dropped, "packets dropped on purpose")                                    \
    X(faults_duplicated, "packets sent twice on purpose")                              \
    X(faults_reordered, "packets held back on purpose")                                \
    X(faults_corrupted, "packets damaged on purpose")                                  \
    X(send_errors, "packets that the kernel refused to send")                          \
    X(socket_drops, "datagrams dropped by the kernel, socket buffer full")             \
    X(receive_queue_empty, "times the last posted receive was used up")                \
    X(requests_flushed, "posted receives and sends that came back unused (verbs)")

struct counters {
#define RDMA_IO_COUNTER_FIELD(name, meaning) counter name;
    RDMA_IO_COUNTERS(RDMA_IO_COUNTER_FIELD)
#undef RDMA_IO_COUNTER_FIELD

    //! Call \p f(name, meaning, value) for each.
    template <typename F>
    void for_each(F&& f) const
    {
#define RDMA_IO_COUNTER_VISIT(name, meaning) f(#name, meaning, name.value());
        RDMA_IO_COUNTERS(RDMA_IO_COUNTER_VISIT)
#undef RDMA_IO_COUNTER_VISIT
    }
};

} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_COUNTERS_H */
