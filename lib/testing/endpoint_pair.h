/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_PAIR_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_PAIR_H

#include "core/clock.h"
#include "io/endpoint.h"
#include "testing/datagram.h"

#include <boost/test/unit_test.hpp>
#include <chrono>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace gr {
namespace rdma {
namespace testing {

//! A completion may be seen a moment before the state that it brings.
inline bool becomes(const io::endpoint& end, io::endpoint_state state)
{
    for (int look = 0; look < 5000 && end.state() != state; ++look)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return end.state() == state;
}

using bytes_t = std::vector<std::byte>;

//! Nothing that a test waits for takes so long unless it is broken.
constexpr std::int64_t patience_ns = 20000000000;
//! What stop() and everything it wakes may take.
constexpr std::int64_t stop_limit_ns = 1000000000; // the promise of endpoint::stop()

//! Wait until \p done() holds. \return false if it never did.
template <typename Done>
bool await(Done done, std::int64_t limit_ns = patience_ns)
{
    const std::int64_t until = core::monotonic_ns() + limit_ns;
    while (!done()) {
        if (core::monotonic_ns() > until)
            return false;
        std::this_thread::yield();
    }
    return true;
}

/*!
 * \brief One endpoint with memory of its own: slots of equal size with guard bytes
 * between them.
 *
 * The receiving and the sending side may be used by two threads, as with endpoints.
 */
class contract_end
{
public:
    static constexpr std::byte guard{ 0xa5 };
    static constexpr std::size_t room = 64;

    contract_end(const io::endpoint_config& c,
                 std::uint32_t slot_bytes,
                 std::size_t slots)
        : config(c),
          slot_bytes(slot_bytes),
          ring(slots * (slot_bytes + room) + room, guard),
          headers(slots * (c.header_bytes + room) + room, guard),
          ep(io::make_endpoint(c))
    {
        ep->attach(region_of(ring), region_of(headers));
    }

    static mem::region region_of(bytes_t& memory)
    {
        mem::region r;
        r.host = memory.data();
        r.address = reinterpret_cast<std::uintptr_t>(r.host);
        r.bytes = memory.size();
        return r;
    }

    io::recv_slot slot(std::size_t i) const
    {
        io::recv_slot s;
        s.offset = room + i * (slot_bytes + room);
        s.bytes = slot_bytes;
        s.cookie = i;
        s.header_offset = room + i * (config.header_bytes + room);
        return s;
    }
    //! Post slots first .. first + n - 1. \return how many were taken
    std::size_t post(std::size_t first, std::size_t n)
    {
        std::size_t taken = 0;
        while (taken < n) {
            const io::recv_slot s = slot(first + taken);
            if (ep->post_recv(&s, 1) == 0)
                break;
            ++taken;
        }
        return taken;
    }
    //! Send a message that lives as long as this; its cookie is its number, from 0.
    bool send(bytes_t message, bool has_immediate = false, std::uint32_t immediate = 0)
    {
        messages.push_back(std::move(message));
        io::send_request r;
        r.data = messages.back().data();
        r.bytes = messages.back().size();
        r.cookie = messages.size() - 1;
        r.has_immediate = has_immediate;
        r.immediate = immediate;
        if (ep->post_send(&r, 1) == 1)
            return true;
        messages.pop_back();
        return false;
    }

    //! The next finished receive; fails the test if none comes.
    io::completion next()
    {
        io::completion c;
        if (!await([&] {
                if (ep->poll(&c, 1) == 1)
                    return true;
                ep->wait_readable(1000000);
                return false;
            }))
            BOOST_FAIL("no message came: " + describe());
        return c;
    }
    io::send_completion next_sent()
    {
        io::send_completion c;
        if (!await([&] {
                if (ep->poll_send(&c, 1) == 1)
                    return true;
                ep->wait_sendable(1000000);
                return false;
            }))
            BOOST_FAIL("no send was done: " + describe());
        return c;
    }
    std::vector<io::completion> all()
    {
        std::vector<io::completion> out;
        io::completion c;
        while (ep->poll(&c, 1) == 1)
            out.push_back(c);
        return out;
    }
    std::vector<io::send_completion> all_sent()
    {
        std::vector<io::send_completion> out;
        io::send_completion c;
        while (ep->poll_send(&c, 1) == 1)
            out.push_back(c);
        return out;
    }

    //! What a message left in its slot, header part first.
    bytes_t stored(const io::completion& c) const
    {
        const io::recv_slot s = slot(c.cookie);
        const std::size_t head = std::min<std::size_t>(c.bytes, config.header_bytes);
        const auto h = headers.begin() + std::ptrdiff_t(s.header_offset);
        const auto r = ring.begin() + std::ptrdiff_t(s.offset);
        bytes_t out(h, h + std::ptrdiff_t(head));
        out.insert(out.end(), r, r + std::ptrdiff_t(c.bytes - head));
        return out;
    }

    //! Call when nothing is posted any more, or nothing is coming.
    bool guards_intact() const
    {
        return intact(ring, slot_bytes) && intact(headers, config.header_bytes);
    }

    std::string describe() const
    {
        std::string text = ep->description() + ", " + to_string(ep->state()) + " '" +
                           ep->status_text() + "'";
        ep->counters().for_each([&](const char* name, const char*, std::uint64_t n) {
            if (n != 0)
                text += std::string(", ") + name + "=" + std::to_string(n);
        });
        return text;
    }

    const io::endpoint_config config;
    const std::uint32_t slot_bytes;
    bytes_t ring;
    bytes_t headers;
    std::deque<bytes_t> messages;
    std::unique_ptr<io::endpoint> ep; // last: gone before its memory

private:
    static bool intact(const bytes_t& memory, std::size_t each)
    {
        for (std::size_t at = 0; at < memory.size(); at += room + each)
            for (std::size_t i = at; i < std::min(at + room, memory.size()); ++i)
                if (memory[i] != guard)
                    return false;
        return true;
    }
};

//! Two endpoints that know each other: b receives what a sends, and the other way round.
template <typename Factory>
struct endpoint_pair {
    endpoint_pair(const io::endpoint_config& common,
                  std::uint32_t slot_bytes,
                  std::size_t slots)
        : configs(factory.make(common)),
          a(std::make_unique<contract_end>(configs.first, slot_bytes, slots)),
          b(std::make_unique<contract_end>(configs.second, slot_bytes, slots))
    {
    }
    void start()
    {
        b->ep->start();
        a->ep->start();
    }

    Factory factory;
    std::pair<io::endpoint_config, io::endpoint_config> configs;
    std::unique_ptr<contract_end> a;
    std::unique_ptr<contract_end> b;
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_PAIR_H */
