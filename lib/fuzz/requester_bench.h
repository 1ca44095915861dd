/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_FUZZ_REQUESTER_BENCH_H
#define INCLUDED_RDMA_FUZZ_REQUESTER_BENCH_H

#include "fuzz/input.h"
#include "io/softroce/requester.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>

namespace gr {
namespace rdma {
namespace fuzz {

constexpr std::size_t longest = 3000; // message

/*!
 * \brief A requester with its queues, and a second account of what it should do, by which
 * everything that it does is checked.
 *
 * Packets are counted from 0; from the messages posted follows what each of them is, and
 * from the acknowledgements given what the peer has.
 */
class requester_bench
{
public:
    requester_bench(const io::softroce::requester_config& config,
                    std::size_t depth,
                    std::size_t queue)
        : d_config(config),
          d_queue(queue),
          d_requests(queue),
          d_done(queue + depth),
          d_tx(config, depth, d_requests, d_done, d_counts)
    {
    }

    void post(std::size_t bytes, bool immediate, bool write)
    {
        if (d_requests.size() == d_queue || d_messages.size() >= d_done.capacity())
            return;
        message m;
        m.memory.reset(new std::byte[bytes]); // exact: a sanitizer sees any read beyond
        std::memcpy(m.memory.get(), pattern().data(), bytes);
        m.request.data = m.memory.get();
        m.request.bytes = bytes;
        m.request.cookie = d_next_cookie++;
        m.request.has_immediate = immediate;
        m.request.immediate = static_cast<std::uint32_t>(m.request.cookie * 3);
        m.request.write = write;
        m.request.remote_address = m.request.cookie << 32;
        m.request.rkey = static_cast<std::uint32_t>(m.request.cookie * 5);
        m.sendable =
            d_config.service != io::service_type::ud || (bytes <= d_config.mtu && !write);
        m.first = d_packets;
        if (m.sendable)
            m.packets =
                std::max<std::uint64_t>(1, (bytes + d_config.mtu - 1) / d_config.mtu);
        d_packets += m.packets;
        FUZZ_REQUIRE(d_requests.push(m.request));
        d_messages.push_back(std::move(m));
    }

    bool send()
    {
        io::softroce::outgoing out;
        const std::int64_t ready = d_tx.ready_in(d_now_ns);
        FUZZ_REQUIRE(ready >= 0);
        if (!d_tx.next(out, d_now_ns)) {
            // With nothing to do now, or a pump would spin.
            if (ready == 0 && d_tx.failure() == io::wc_status::success) {
                FUZZ_REQUIRE(d_config.service != io::service_type::uc);
                if (d_config.service == io::service_type::rc)
                    FUZZ_REQUIRE(time_out());
            }
            return false;
        }
        FUZZ_REQUIRE(ready <= 1); // pacing rounds up
        FUZZ_REQUIRE(d_tx.failure() == io::wc_status::success);
        // Within 2^23 of the oldest, so that its PSN tells its number.
        const std::int32_t ahead = wire::psn::distance(psn_of(d_una), out.packet.bth.psn);
        FUZZ_REQUIRE(ahead >= 0);
        const std::uint64_t packet = d_una + static_cast<std::uint64_t>(ahead);
        FUZZ_REQUIRE(packet <= d_highest);
        FUZZ_REQUIRE(out.again == (packet < d_highest));
        FUZZ_REQUIRE(d_config.service == io::service_type::rc || !out.again);
        d_highest = std::max(d_highest, packet + 1);
        check_packet(out.packet, packet);
        return true;
    }

    void hand_over()
    {
        const bool any = d_tx.handed_over();
        if (d_config.service != io::service_type::rc &&
            d_tx.failure() == io::wc_status::success)
            d_una = d_highest;
        if (d_config.service != io::service_type::rc)
            check_done(any);
    }

    //! \param offset of the packet, from the oldest that the peer does not have
    //! \param msn how far the message sequence number is from the truth
    void acknowledge(wire::aeth_kind kind,
                     std::uint8_t value,
                     std::int32_t offset,
                     std::int32_t msn = 0)
    {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::rc, wire::operation::acknowledge);
        p.bth.psn = psn_of(d_una) + static_cast<std::uint32_t>(offset);
        p.aeth.kind = kind;
        p.aeth.value = value & 31;
        if (d_config.service == io::service_type::rc &&
            d_tx.failure() == io::wc_status::success) {
            // An ACK says that its packet has come, a NAK that those before have; of
            // packets never sent neither says anything.
            const std::int64_t packet = std::int64_t(d_una) + offset;
            const std::int64_t upto = packet + (kind == wire::aeth_kind::ack ? 1 : 0);
            if (packet < std::int64_t(d_highest) && upto >= std::int64_t(d_una))
                d_una = static_cast<std::uint64_t>(upto);
        }
        const std::uint64_t finished =
            std::count_if(d_messages.begin(), d_messages.end(), [this](const message& m) {
                return m.first + m.packets <= d_una;
            });
        p.aeth.msn = static_cast<std::uint32_t>(d_popped + finished +
                                                static_cast<std::uint64_t>(msn)) &
                     wire::psn::mask;
        check_done(d_tx.on_acknowledge(p, d_now_ns));
    }

    void pass_time(std::int64_t ns)
    {
        d_now_ns += ns;
        const std::int64_t ready = d_tx.ready_in(d_now_ns);
        if (time_out())
            FUZZ_REQUIRE(ready == 0);
    }
    void pass_until_ready()
    {
        const std::int64_t ready = d_tx.ready_in(d_now_ns);
        if (ready != INT64_MAX)
            pass_time(ready);
    }

    // Completions come in order; only then is a message's memory given back.
    void pop_all()
    {
        io::send_completion c;
        while (d_done.pop(c)) {
            FUZZ_REQUIRE(!d_messages.empty());
            const message& m = d_messages.front();
            FUZZ_REQUIRE(c.cookie == m.request.cookie);
            const bool finished = m.first + m.packets <= d_una;
            if (c.status == io::wc_status::success) {
                FUZZ_REQUIRE(finished && m.sendable &&
                             d_failed == io::wc_status::success);
            } else if (c.status == io::wc_status::length_error) {
                FUZZ_REQUIRE(!m.sendable && d_failed == io::wc_status::success);
            } else {
                FUZZ_REQUIRE(d_tx.failure() != io::wc_status::success);
                // The first says why, the others that they went with it.
                FUZZ_REQUIRE(c.status == (d_failed == io::wc_status::success
                                              ? d_tx.failure()
                                              : io::wc_status::flushed));
                d_failed = c.status;
            }
            ++d_popped;
            d_messages.pop_front();
        }
    }

    // Nothing may be forgotten: acknowledged messages are done, others are waited for.
    void check_progress()
    {
        if (d_tx.failure() != io::wc_status::success)
            return;
        pop_all();
        if (!d_messages.empty()) {
            const message& m = d_messages.front();
            FUZZ_REQUIRE(m.first + m.packets > d_una || !m.sendable);
            FUZZ_REQUIRE(!d_tx.idle());
            if (d_config.service == io::service_type::rc)
                FUZZ_REQUIRE(d_tx.ready_in(d_now_ns) != INT64_MAX);
        } else {
            FUZZ_REQUIRE(d_tx.idle());
        }
    }

    // A peer that takes everything from now on gets everything.
    void drain()
    {
        for (int round = 0; round < 10000 && !d_tx.idle(); ++round) {
            if (d_tx.failure() != io::wc_status::success)
                break;
            bool sent = false;
            while (send())
                sent = true;
            hand_over();
            if (sent && d_config.service == io::service_type::rc)
                acknowledge(wire::aeth_kind::ack,
                            31,
                            static_cast<std::int32_t>(d_highest - d_una) - 1);
            else if (!d_tx.idle())
                pass_until_ready();
            pop_all();
        }
        FUZZ_REQUIRE(d_tx.idle() || d_tx.failure() != io::wc_status::success);
    }

    void abort()
    {
        pop_all();
        const bool failed = d_tx.failure() != io::wc_status::success;
        d_tx.abort(io::wc_status::flushed);
        if (!failed)
            d_failed = io::wc_status::flushed; // the first says no more than the others
        FUZZ_REQUIRE(d_tx.idle());
        FUZZ_REQUIRE(!send());
        pop_all();
        FUZZ_REQUIRE(d_messages.empty());
    }

private:
    struct message {
        io::send_request request;
        std::unique_ptr<std::byte[]> memory;
        bool sendable = true;
        std::uint64_t first = 0; // packets are counted from 0
        std::uint64_t packets = 0;
    };

    wire::psn psn_of(std::uint64_t packet) const
    {
        return d_config.first_psn + static_cast<std::uint32_t>(packet & wire::psn::mask);
    }

    static const std::array<std::byte, longest>& pattern()
    {
        static const std::array<std::byte, longest> bytes = [] {
            std::array<std::byte, longest> b{};
            for (std::size_t i = 0; i < b.size(); ++i)
                b[i] = static_cast<std::byte>(i * 7 + i / 256);
            return b;
        }();
        return bytes;
    }

    bool time_out()
    {
        const std::uint64_t timeouts = d_counts.timeouts.value();
        const bool any = d_tx.on_time(d_now_ns);
        if (d_config.service == io::service_type::rc)
            check_done(any);
        return d_counts.timeouts.value() != timeouts;
    }

    // Are completions announced? Those since the last announcement.
    void check_done(bool any)
    {
        const std::uint64_t all = d_popped + d_done.size();
        FUZZ_REQUIRE(any == (all != d_announced));
        d_announced = all;
    }

    void check_packet(const wire::packet& p, std::uint64_t packet)
    {
        const auto m = std::find_if(
            d_messages.begin(), d_messages.end(), [packet](const message& x) {
                return packet >= x.first && packet < x.first + x.packets;
            });
        FUZZ_REQUIRE(m != d_messages.end());
        const std::uint64_t k = packet - m->first;
        const std::uint64_t from = k * d_config.mtu;
        FUZZ_REQUIRE(p.payload == m->request.data + from);
        FUZZ_REQUIRE(p.payload_bytes ==
                     std::min<std::uint64_t>(d_config.mtu, m->request.bytes - from));
        FUZZ_REQUIRE((p.payload_bytes + p.bth.pad) % 4 == 0);
        FUZZ_REQUIRE(p.payload_bytes == 0 ||
                     std::memcmp(p.payload, pattern().data() + from, p.payload_bytes) ==
                         0);
        const wire::opcode_traits& t = wire::traits(p.bth.opcode);
        FUZZ_REQUIRE(m->request.write ? t.is_write : t.is_send);
        FUZZ_REQUIRE(t.starts == (k == 0) && t.ends == (k + 1 == m->packets));
        FUZZ_REQUIRE(t.has_immdt == (t.ends && m->request.has_immediate));
        FUZZ_REQUIRE(!t.has_immdt || p.immediate == m->request.immediate);
        if (t.has_reth)
            FUZZ_REQUIRE(p.reth.address == m->request.remote_address &&
                         p.reth.rkey == m->request.rkey &&
                         p.reth.bytes == m->request.bytes);
        if (t.has_deth)
            FUZZ_REQUIRE(p.deth.qkey == d_config.qkey &&
                         p.deth.source_qpn == d_config.own_qpn);
        FUZZ_REQUIRE(p.bth.dest_qpn == d_config.dest_qpn);
        const bool rc = d_config.service == io::service_type::rc;
        FUZZ_REQUIRE(wire::service(p.bth.opcode & 0xe0) ==
                     (rc                                         ? wire::service::rc
                      : d_config.service == io::service_type::uc ? wire::service::uc
                                                                 : wire::service::ud));
        FUZZ_REQUIRE(rc ? !t.ends || p.bth.ack_request : !p.bth.ack_request);
    }

    const io::softroce::requester_config d_config;
    const std::size_t d_queue;
    io::counters d_counts;
    io::softroce::requester::request_queue d_requests;
    io::softroce::requester::done_queue d_done;
    io::softroce::requester d_tx;

    std::deque<message> d_messages; // posted, and their completions not popped
    std::uint64_t d_next_cookie = 1;
    std::uint64_t d_popped = 0;
    std::uint64_t d_announced = 0; // completions
    std::uint64_t d_packets = 0;   // of all messages posted
    std::uint64_t d_una = 0;       // packets that the peer has
    std::uint64_t d_highest = 0;   // packets sent at least once
    std::int64_t d_now_ns = 1000000;
    io::wc_status d_failed =
        io::wc_status::success; // status of the last completion if not success
};

} // namespace fuzz
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_FUZZ_REQUESTER_BENCH_H */
