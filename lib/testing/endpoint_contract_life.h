/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LIFE_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LIFE_H

#include "testing/endpoint_contract.h"
#include "testing/process_resources.h"

#include <gnuradio/rdma/error.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>

/*!
 * What every endpoint has to do when it starts, stops and goes, in whatever state. Named
 * by RDMA_ENDPOINT_LIFE_CONTRACT(factory) at file scope; the factory is that of
 * endpoint_contract.h.
 */
namespace gr {
namespace rdma {
namespace testing {

//! Stop it, in time, and find everything outstanding given back exactly once.
inline void check_stop(contract_end& e,
                       const std::set<std::uint64_t>& slots_out,
                       const std::set<std::uint64_t>& sends_out)
{
    const std::int64_t before = core::monotonic_ns();
    e.ep->stop();
    BOOST_TEST(core::monotonic_ns() - before < stop_limit_ns);
    BOOST_TEST((e.ep->state() == io::endpoint_state::idle ||
                e.ep->state() == io::endpoint_state::failed));
    std::set<std::uint64_t> slots;
    for (const io::completion& c : e.all()) {
        BOOST_TEST(
            (c.status == io::wc_status::flushed || c.status == io::wc_status::success));
        BOOST_TEST(slots.insert(c.cookie).second);
    }
    BOOST_TEST((slots == slots_out));
    std::set<std::uint64_t> sends;
    for (const io::send_completion& c : e.all_sent())
        BOOST_TEST(sends.insert(c.cookie).second);
    BOOST_TEST((sends == sends_out));
    BOOST_TEST(e.guards_intact());
    // Waits no longer wait, posts are refused, nothing more comes.
    const std::int64_t waited = core::monotonic_ns();
    BOOST_TEST(!e.ep->wait_readable(patience_ns));
    BOOST_TEST(!e.ep->wait_sendable(patience_ns));
    BOOST_TEST(core::monotonic_ns() - waited < stop_limit_ns);
    BOOST_TEST(e.post(0, 1) == 0u);
    BOOST_TEST(!e.send(pattern(1, 1)));
    e.ep->stop();
    BOOST_TEST(e.all().empty());
    BOOST_TEST(e.all_sent().empty());
    BOOST_CHECK_THROW(e.ep->start(), config_error);
    BOOST_CHECK_THROW(e.ep->open(), config_error);
}

template <typename Factory>
void states_follow_one_another()
{
    for (const io::service_type service : both_services) {
        endpoint_pair<Factory> p(contract_config(service), 1000, 4);
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::idle));
        p.b->post(0, 4);
        p.b->ep->open();
        p.b->ep->open();
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::idle));
        p.b->ep->start();
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::connecting));
        BOOST_TEST(p.b->ep->status_text().find(p.b->config.connect) != std::string::npos);
        BOOST_CHECK_THROW(p.b->ep->start(), config_error);
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::connecting));
        p.a->ep->start();
        p.a->send(pattern(1, 1000));
        p.b->next();
        p.a->next_sent();
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::connected));
        BOOST_TEST((p.a->ep->state() == io::endpoint_state::connected));
        BOOST_TEST(p.b->ep->status_text().empty());
        const std::string text = p.b->ep->description();
        for (const std::string& part : { p.b->config.endpoint,
                                         p.b->config.source,
                                         p.b->config.connect,
                                         std::string(io::to_string(service)) })
            BOOST_TEST(text.find(part) != std::string::npos);
        p.b->ep->stop();
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::idle));
        BOOST_TEST(!p.b->ep->trailing_gap());
    }
}

template <typename Factory>
void stops_before_it_connects()
{
    for (const io::service_type service : both_services)
        for (const int how : { 0, 1, 2 }) {
            endpoint_pair<Factory> p(contract_config(service), 1000, 4);
            p.b->post(0, 3);
            std::set<std::uint64_t> sends;
            // An unreliable sender needs no peer, so it would be done with them.
            if (service == io::service_type::rc || how != 2) {
                p.b->send(pattern(1, 500));
                p.b->send(pattern(2, 500));
                sends = { 0, 1 };
            }
            if (how == 1)
                p.b->ep->open();
            if (how == 2)
                p.b->ep->start();
            check_stop(*p.b, { 0, 1, 2 }, sends);
        }
}

template <typename Factory>
void stops_while_connected()
{
    for (const io::service_type service : both_services) {
        endpoint_pair<Factory> p(contract_config(service), 1000, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(1, 1000));
        p.b->next();
        p.a->next_sent();
        check_stop(*p.b, { 1, 2, 3 }, {}); // idle
        check_stop(*p.a, {}, {});          // its peer is gone
    }
}

template <typename Factory>
void stops_inside_a_message()
{
    for (const bool receiver_first : { true, false }) {
        constexpr std::uint32_t bytes = 64 << 20;
        endpoint_pair<Factory> p(contract_config(io::service_type::rc), bytes, 1);
        p.start();
        p.a->send(bytes_t(bytes));
        p.a->send(bytes_t(100));
        BOOST_REQUIRE(
            await([&] { return p.b->ep->counters().rnr_naks_sent.value() != 0; }));
        // inproc copies within post_recv(); the others are in the middle of it then.
        p.b->post(0, 1);
        if (receiver_first)
            check_stop(*p.b, { 0 }, {});
        check_stop(*p.a, {}, { 0, 1 });
        if (!receiver_first)
            check_stop(*p.b, { 0 }, {});
    }
}

template <typename Factory>
void stops_while_no_receive_is_posted()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc), 1000, 4);
    p.start();
    p.a->send(pattern(1, 1000));
    p.a->send(pattern(2, 1000));
    BOOST_REQUIRE(
        await([&] { return p.a->ep->counters().rnr_naks_received.value() != 0; }));
    check_stop(*p.a, {}, { 0, 1 });
    check_stop(*p.b, {}, {});
}

template <typename Factory>
void stops_though_its_peer_is_gone()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc), 1000, 4);
    p.b->post(0, 1);
    p.start();
    p.a->send(pattern(1, 1000));
    p.b->next();
    p.a->next_sent();
    p.b.reset();
    const bool taken = p.a->send(pattern(2, 1000)); // some know at once
    check_stop(
        *p.a, {}, taken ? std::set<std::uint64_t>{ 1 } : std::set<std::uint64_t>{});
}

template <typename Factory>
void several_threads_may_stop_it()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc), 1000, 4);
    p.b->post(0, 4);
    p.start();
    std::vector<std::thread> threads;
    std::atomic<int> idle{ 0 }; // Boost.Test's own checks are for one thread
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            p.b->ep->stop();
            if (p.b->ep->state() == io::endpoint_state::idle)
                ++idle;
        });
    for (std::thread& t : threads)
        t.join();
    BOOST_TEST(idle == 4);
    check_stop(*p.b, { 0, 1, 2, 3 }, {});
}

template <typename Factory>
void stop_wakes_both_waits()
{
    for (const io::wait_mode wait :
         { io::wait_mode::hybrid, io::wait_mode::busy, io::wait_mode::event }) {
        io::endpoint_config c = contract_config(io::service_type::rc);
        c.wait = wait;
        endpoint_pair<Factory> p(c, 1000, 4);
        p.b->ep->start();
        std::atomic<int> waiting{ 0 };
        std::atomic<int> woken{ 0 };
        std::atomic<int> had_something{ 0 };
        std::thread reader([&] {
            ++waiting;
            had_something += p.b->ep->wait_readable(INT64_MAX);
            ++woken;
        });
        std::thread sender([&] {
            ++waiting;
            had_something += p.b->ep->wait_sendable(INT64_MAX);
            ++woken;
        });
        BOOST_TEST(await([&] { return waiting == 2; }));
        p.b->ep->stop();
        BOOST_TEST(await([&] { return woken == 2; }, stop_limit_ns));
        reader.join();
        sender.join();
        BOOST_TEST(had_something == 0);
    }
}

template <typename Factory>
void waits_end_by_what_they_wait_for()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc), 1000, 4);
    p.b->post(0, 4);
    p.start();
    BOOST_TEST(!p.b->ep->wait_readable(0));
    BOOST_TEST(!p.b->ep->wait_readable(-1));
    BOOST_TEST(!p.b->ep->wait_readable(1000000));
    BOOST_TEST(!p.a->ep->wait_sendable(1000000));
    std::thread sender([&] { p.a->send(pattern(1, 1000)); });
    BOOST_TEST(await([&] { return p.b->ep->wait_readable(patience_ns); }));
    BOOST_TEST(await([&] { return p.a->ep->wait_sendable(patience_ns); }));
    sender.join();
    BOOST_TEST(p.b->ep->wait_readable(0)); // still there
    p.b->next();
    BOOST_TEST(!p.b->ep->wait_readable(0));
}

// A sender in a thread of its own that sends as fast as it can until told to stop.
template <typename Factory>
class flood
{
public:
    explicit flood(endpoint_pair<Factory>& p) : d_pair(p), d_data(pattern(9, 3000))
    {
        d_thread = std::thread([this] { run(); });
    }
    ~flood()
    {
        d_stop = true;
        d_thread.join();
        d_pair.a->ep->stop(); // what was posted is the endpoint's until then
    }

private:
    void run()
    {
        io::send_request r;
        r.data = d_data.data();
        r.bytes = d_data.size();
        io::send_completion done;
        while (!d_stop) {
            if (d_pair.a->ep->post_send(&r, 1) == 0)
                d_pair.a->ep->wait_sendable(100000);
            d_pair.a->ep->poll_send(&done, 1);
        }
    }
    endpoint_pair<Factory>& d_pair;
    const bytes_t d_data;
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
};

template <typename Factory>
void memory_is_left_alone_after_stop()
{
    for (const io::service_type service : both_services) {
        endpoint_pair<Factory> p(contract_config(service, 64), 3000, 64);
        p.b->post(0, 64);
        p.start();
        flood<Factory> sender(p);
        p.b->next();
        p.b->ep->stop();
        const bytes_t before = p.b->ring;
        // Long enough for the sender to send again, or to know that it is alone.
        const std::uint64_t sent = p.a->ep->counters().packets_sent.value();
        await([&] { return p.a->ep->counters().packets_sent.value() > sent + 20; },
              service == io::service_type::rc ? 200000000 : 50000000);
        BOOST_TEST((p.b->ring == before));
        BOOST_TEST(p.b->guards_intact());
    }
}

template <typename Factory>
void it_may_go_while_its_peer_sends()
{
    for (const io::service_type service : both_services)
        for (int round = 0; round < 10; ++round) {
            endpoint_pair<Factory> p(contract_config(service, 16), 3000, 16);
            p.b->post(0, 16);
            p.start();
            flood<Factory> sender(p);
            for (int k = 0; k < round; ++k)
                p.b->next();
            p.b.reset();
        }
}

template <typename Factory>
void it_may_go_while_it_sends()
{
    for (const io::service_type service : both_services)
        for (int round = 0; round < 10; ++round) {
            endpoint_pair<Factory> p(contract_config(service, 4), 3000, 4);
            p.b->post(0, 4);
            p.start();
            for (int k = 0; k < 4; ++k)
                p.a->send(pattern(k, 3000));
            if (round % 2)
                p.b->next();
            p.a.reset();
            for (const io::completion& c : p.b->all())
                if (c.status == io::wc_status::success)
                    BOOST_TEST(c.bytes == 3000u);
        }
}

template <typename Factory>
void nothing_posted_is_lost_in_a_stop()
{
    for (int round = 0; round < 50; ++round) {
        endpoint_pair<Factory> p(contract_config(io::service_type::rc, 32), 100, 32);
        p.start();
        std::atomic<bool> go{ false };
        std::size_t receives = 0;
        std::size_t sends = 0;
        std::thread receiver([&] {
            while (!go) {
            }
            receives = p.b->post(0, 32);
        });
        std::thread sender([&] {
            while (!go) {
            }
            while (sends < 32 && p.b->send(pattern(sends, 100)))
                ++sends;
        });
        go = true;
        if (round % 2)
            std::this_thread::yield();
        p.b->ep->stop();
        receiver.join();
        sender.join();
        BOOST_TEST(p.b->all().size() == receives);
        BOOST_TEST(p.b->all_sent().size() == sends);
    }
}

template <typename Factory>
void both_sides_send_and_receive_at_once()
{
    constexpr unsigned count = 300;
    endpoint_pair<Factory> p(contract_config(io::service_type::rc, 8), 3000, 8);
    p.b->post(0, 8);
    p.a->post(0, 8);
    p.start();
    std::vector<std::thread> threads;
    std::atomic<unsigned> wrong{ 0 };
    for (contract_end* e : { p.a.get(), p.b.get() }) {
        threads.emplace_back([e, &wrong] {
            for (unsigned k = 0; k < count; ++k) {
                const io::completion c = e->next();
                wrong += e->stored(c) != pattern(k, 1 + k * 9);
                wrong += e->post(c.cookie, 1) != 1;
            }
        });
        threads.emplace_back([e, &wrong] {
            for (unsigned k = 0; k < count; ++k) {
                if (k >= 8)
                    wrong += e->next_sent().cookie != k - 8;
                wrong += !e->send(pattern(k, 1 + k * 9));
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    BOOST_TEST(wrong == 0u);
}

template <typename Factory>
void a_hundred_pairs_leave_nothing_behind()
{
    const auto round = [] {
        endpoint_pair<Factory> p(contract_config(io::service_type::rc), 100, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(1, 100));
        p.b->next();
    };
    round(); // what is made once in a process
    const long descriptors = count_descriptors();
    const long threads = count_threads();
    for (int i = 0; i < 100; ++i)
        round();
    BOOST_TEST(count_descriptors() == descriptors);
    BOOST_TEST(count_threads() == threads);
}

} // namespace testing
} // namespace rdma
} // namespace gr

#define RDMA_ENDPOINT_LIFE_CONTRACT(factory)                          \
    BOOST_AUTO_TEST_SUITE(factory##_life_contract)                    \
    RDMA_ENDPOINT_CASE(factory, states_follow_one_another)            \
    RDMA_ENDPOINT_CASE(factory, stops_before_it_connects)             \
    RDMA_ENDPOINT_CASE(factory, stops_while_connected)                \
    RDMA_ENDPOINT_CASE(factory, stops_inside_a_message)               \
    RDMA_ENDPOINT_CASE(factory, stops_while_no_receive_is_posted)     \
    RDMA_ENDPOINT_CASE(factory, stops_though_its_peer_is_gone)        \
    RDMA_ENDPOINT_CASE(factory, several_threads_may_stop_it)          \
    RDMA_ENDPOINT_CASE(factory, stop_wakes_both_waits)                \
    RDMA_ENDPOINT_CASE(factory, waits_end_by_what_they_wait_for)      \
    RDMA_ENDPOINT_CASE(factory, memory_is_left_alone_after_stop)      \
    RDMA_ENDPOINT_CASE(factory, it_may_go_while_its_peer_sends)       \
    RDMA_ENDPOINT_CASE(factory, it_may_go_while_it_sends)             \
    RDMA_ENDPOINT_CASE(factory, nothing_posted_is_lost_in_a_stop)     \
    RDMA_ENDPOINT_CASE(factory, both_sides_send_and_receive_at_once)  \
    RDMA_ENDPOINT_CASE(factory, a_hundred_pairs_leave_nothing_behind) \
    BOOST_AUTO_TEST_SUITE_END()

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LIFE_H */
