/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The input is a script: messages are queued, packets taken, acknowledgements of every
// kind come, time passes. Whatever it says, each packet is the right piece of the right
// message, no message's memory is used after its completion, each completes once, in
// order and not before the peer has it, and something always remains to be done about one
// that has not.
#include "fuzz/input.h"
#include "io/softroce/requester.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>

namespace {

using namespace gr::rdma;
using io::wc_status;
using io::softroce::outgoing;
using io::softroce::requester;
using io::softroce::requester_config;
using op = wire::operation;

constexpr std::size_t longest = 3000; // message

requester_config config_of(fuzz::input& in)
{
    requester_config c;
    const unsigned bits = in.u8();
    c.service = bits & 1 ? io::service_type::uc : io::service_type::rc;
    c.mtu = 256;
    c.first_psn = wire::psn(in.u32());
    c.dest_qpn = 0x123456;
    c.retry_count = bits >> 1 & 7;
    c.rnr_retry = bits >> 4 & 7;
    c.wait_for_peer = bits & 128;
    c.window_bytes = 256 * (1 + in.less_than(64));
    c.rate_bytes = in.less_than(4) == 3 ? 1e6 : 0;
    return c;
}

class bench
{
public:
    bench(const requester_config& config, std::size_t depth, std::size_t queue)
        : d_config(config),
          d_queue(queue),
          d_requests(queue),
          d_done(queue + depth),
          d_tx(config, depth, d_requests, d_done, d_counts)
    {
    }

    void post(std::size_t bytes, bool immediate)
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
        m.first = d_packets;
        m.packets = std::max<std::uint64_t>(1, (bytes + d_config.mtu - 1) / d_config.mtu);
        d_packets += m.packets;
        FUZZ_REQUIRE(d_requests.push(m.request));
        d_messages.push_back(std::move(m));
    }

    bool send()
    {
        outgoing out;
        const std::int64_t ready = d_tx.ready_in(d_now_ns);
        FUZZ_REQUIRE(ready >= 0);
        if (!d_tx.next(out, d_now_ns))
            return false;
        FUZZ_REQUIRE(ready <= 1); // pacing rounds up
        FUZZ_REQUIRE(d_tx.failure() == wc_status::success);
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
        const std::size_t done = d_done.size();
        const bool any = d_tx.handed_over();
        if (d_config.service == io::service_type::uc &&
            d_tx.failure() == wc_status::success)
            d_una = d_highest;
        check_done(done, any);
    }

    void acknowledge(wire::aeth_kind kind, std::uint8_t value, std::int32_t offset)
    {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::rc, op::acknowledge);
        p.bth.psn = psn_of(d_una) + static_cast<std::uint32_t>(offset);
        p.aeth.kind = kind;
        p.aeth.value = value & 31;
        if (d_config.service == io::service_type::rc &&
            d_tx.failure() == wc_status::success) {
            // An ACK says that its packet has come, a NAK that those before have; of
            // packets never sent neither says anything.
            const std::int64_t packet = std::int64_t(d_una) + offset;
            const std::int64_t upto = packet + (kind == wire::aeth_kind::ack ? 1 : 0);
            if (packet < std::int64_t(d_highest) && upto >= std::int64_t(d_una))
                d_una = static_cast<std::uint64_t>(upto);
        }
        const std::size_t done = d_done.size();
        const bool any = d_tx.on_acknowledge(p, d_now_ns);
        check_done(done, any);
    }

    void pass_time(std::int64_t ns)
    {
        d_now_ns += ns;
        const std::int64_t ready = d_tx.ready_in(d_now_ns);
        const std::uint64_t timeouts = d_counts.timeouts.value();
        const std::size_t done = d_done.size();
        const bool any = d_tx.on_time(d_now_ns);
        if (d_counts.timeouts.value() != timeouts)
            FUZZ_REQUIRE(ready == 0);
        check_done(done, any);
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
            if (c.status == wc_status::success)
                FUZZ_REQUIRE(finished && d_failed == wc_status::success);
            else {
                FUZZ_REQUIRE(d_tx.failure() != wc_status::success);
                // The first says why, the others that they went with it.
                FUZZ_REQUIRE(c.status == (d_failed == wc_status::success
                                              ? d_tx.failure()
                                              : wc_status::flushed));
                d_failed = c.status;
            }
            d_messages.pop_front();
        }
    }

    // Nothing may be forgotten: acknowledged messages are done, others are waited for.
    void check_progress()
    {
        if (d_tx.failure() != wc_status::success)
            return;
        pop_all();
        if (!d_messages.empty()) {
            const message& m = d_messages.front();
            FUZZ_REQUIRE(m.first + m.packets > d_una);
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
            if (d_tx.failure() != wc_status::success)
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
        FUZZ_REQUIRE(d_tx.idle() || d_tx.failure() != wc_status::success);
    }

    void abort()
    {
        pop_all();
        const bool failed = d_tx.failure() != wc_status::success;
        d_tx.abort(wc_status::flushed);
        if (!failed)
            d_failed = wc_status::flushed; // the first says no more than the others
        FUZZ_REQUIRE(d_tx.idle());
        FUZZ_REQUIRE(!send());
        pop_all();
        FUZZ_REQUIRE(d_messages.empty());
    }

private:
    struct message {
        io::send_request request;
        std::unique_ptr<std::byte[]> memory;
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

    void check_done(std::size_t before, bool any)
    {
        FUZZ_REQUIRE(any == (d_done.size() != before));
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
        FUZZ_REQUIRE(t.is_send && t.starts == (k == 0) &&
                     t.ends == (k + 1 == m->packets));
        FUZZ_REQUIRE(t.has_immdt == (t.ends && m->request.has_immediate));
        FUZZ_REQUIRE(!t.has_immdt || p.immediate == m->request.immediate);
        FUZZ_REQUIRE(p.bth.dest_qpn == d_config.dest_qpn);
        const bool rc = d_config.service == io::service_type::rc;
        FUZZ_REQUIRE(
            (p.bth.opcode & 0xe0) ==
            static_cast<std::uint8_t>(rc ? wire::service::rc : wire::service::uc));
        FUZZ_REQUIRE(rc ? !t.ends || p.bth.ack_request : !p.bth.ack_request);
    }

    const requester_config d_config;
    const std::size_t d_queue;
    io::counters d_counts;
    requester::request_queue d_requests;
    requester::done_queue d_done;
    requester d_tx;

    std::deque<message> d_messages; // posted, and their completions not popped
    std::uint64_t d_next_cookie = 1;
    std::uint64_t d_packets = 0; // of all messages posted
    std::uint64_t d_una = 0;     // packets that the peer has
    std::uint64_t d_highest = 0; // packets sent at least once
    std::int64_t d_now_ns = 1000000;
    wc_status d_failed =
        wc_status::success; // status of the last completion if not success
};

void play(fuzz::input& in, bench& b)
{
    while (!in.empty()) {
        const unsigned choice = in.u8();
        const unsigned n = choice >> 4;
        switch (choice & 15) {
        case 0:
        case 1:
            b.post(in.u16() % longest, n & 1);
            break;
        case 2:
            b.post(n * 64, n & 1);
            break;
        case 3:
        case 4:
            for (unsigned i = 0; i <= n; ++i)
                b.send();
            break;
        case 5: // as a device does
            while (b.send()) {
            }
            b.hand_over();
            break;
        case 6:
            b.hand_over();
            break;
        case 7:
        case 8:
            b.acknowledge(wire::aeth_kind::ack, 31, static_cast<int>(n));
            break;
        case 9:
            b.acknowledge(wire::aeth_kind::nak, 0, static_cast<int>(n));
            break;
        case 10:
            b.acknowledge(wire::aeth_kind::rnr_nak, in.u8(), static_cast<int>(n));
            break;
        case 11: // of any kind, for any packet
            b.acknowledge(static_cast<wire::aeth_kind>(n & 3),
                          in.u8(),
                          static_cast<std::int32_t>(in.u32() << 8) >> 8);
            break;
        case 12:
            b.pass_time(std::int64_t{ 1 } << (n * 2));
            break;
        case 13:
            b.pass_until_ready();
            break;
        case 14:
            b.pop_all();
            break;
        case 15:
            b.acknowledge(wire::aeth_kind::ack, 31, -static_cast<int>(n));
            break;
        }
        b.check_progress();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    fuzz::input in(data, bytes);
    const requester_config config = config_of(in);
    const std::size_t depth = 1 + in.less_than(8);
    const std::size_t queue = 1 + in.less_than(8);
    const bool drained = in.u8() & 1;
    bench b(config, depth, queue);
    play(in, b);
    if (drained)
        b.drain();
    b.abort();
    return 0;
}
