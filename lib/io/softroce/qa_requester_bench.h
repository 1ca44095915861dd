/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_QA_REQUESTER_BENCH_H
#define INCLUDED_RDMA_IO_SOFTROCE_QA_REQUESTER_BENCH_H

#include "io/softroce/requester.h"
#include "testing/datagram.h"

#include <boost/test/unit_test.hpp>
#include <deque>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

using bytes_t = std::vector<std::byte>;

//! A requester, its queues and its time.
struct requester_bench {
    explicit requester_bench(const requester_config& c, std::size_t depth = 16)
        : config(c),
          requests(depth),
          done(depth),
          tx(c, depth, requests, done, counts),
          first(c.first_psn)
    {
    }

    //! Queue a message; its memory lives as long as the bench. \return its cookie
    std::uint64_t post(std::size_t bytes)
    {
        memory.push_back(testing::pattern(memory.size(), bytes));
        send_request r;
        r.data = memory.back().data();
        r.bytes = bytes;
        r.cookie = memory.size();
        BOOST_REQUIRE(requests.push(r));
        return r.cookie;
    }

    //! The number, from 0, of the packet that leaves now; -1: none does.
    long send()
    {
        outgoing out;
        if (!tx.next(out, now_ns))
            return -1;
        last = out;
        return wire::psn::distance(first, out.packet.bth.psn);
    }
    //! All that may leave now.
    std::vector<long> drain()
    {
        std::vector<long> sent;
        for (long k = send(); k >= 0; k = send())
            sent.push_back(k);
        return sent;
    }

    bool answer(wire::aeth_kind kind, std::uint8_t value, std::uint32_t packet)
    {
        wire::packet p;
        p.bth.opcode = wire::make_opcode(wire::service::rc, wire::operation::acknowledge);
        p.bth.psn = first + packet;
        p.aeth.kind = kind;
        p.aeth.value = value;
        return tx.on_acknowledge(p, now_ns);
    }
    bool ack(std::uint32_t packet) { return answer(wire::aeth_kind::ack, 31, packet); }
    bool nak(wire::nak_code code, std::uint32_t packet)
    {
        return answer(wire::aeth_kind::nak, static_cast<std::uint8_t>(code), packet);
    }
    bool ask_again(std::uint32_t packet)
    {
        return nak(wire::nak_code::psn_sequence_error, packet);
    }

    void expect_done(std::uint64_t cookie, wc_status status = wc_status::success)
    {
        send_completion c;
        BOOST_REQUIRE(done.pop(c));
        BOOST_TEST(c.cookie == cookie);
        BOOST_TEST(to_string(c.status) == to_string(status));
    }

    const requester_config config;
    counters counts;
    requester::request_queue requests;
    requester::done_queue done;
    requester tx;
    const wire::psn first;
    std::deque<bytes_t> memory;
    outgoing last;
    std::int64_t now_ns = 1000000;
};

//! a, a + 1, ... b - 1
inline std::vector<long> range(long a, long b)
{
    std::vector<long> r;
    for (; a < b; ++a)
        r.push_back(a);
    return r;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_QA_REQUESTER_BENCH_H */
