/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LIFE_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LIFE_H

#include "testing/endpoint_contract.h"

#include <gnuradio/rdma/error.h>

#include <atomic>
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
    BOOST_TEST((e.ep->state() != io::endpoint_state::connecting)); // a reason stays
    BOOST_TEST((e.ep->state() != io::endpoint_state::connected));
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
    for (const io::service_type service : services_of_packets<Factory>()) {
        endpoint_pair<Factory> p(contract_config(service), 1000, 4);
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::idle));
        p.b->post(0, 4);
        p.b->ep->open();
        p.b->ep->open();
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::idle));
        p.b->ep->start();
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::connecting));
        const std::string peer = p.b->config.connect + p.b->config.listen;
        BOOST_TEST(p.b->ep->status_text().find(peer) != std::string::npos);
        BOOST_CHECK_THROW(p.b->ep->start(), config_error);
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::connecting));
        p.a->ep->start();
        p.a->send(pattern(1, 1000));
        p.b->next();
        p.a->next_sent();
        for (const auto* end : { p.b->ep.get(), p.a->ep.get() })
            BOOST_TEST(becomes(*end, io::endpoint_state::connected));
        BOOST_TEST(p.b->ep->status_text().empty());
        const std::string text = p.b->ep->description();
        for (const std::string& part : { p.b->config.endpoint,
                                         p.b->config.source,
                                         peer,
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
    for (const io::service_type service : services_of_packets<Factory>())
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
    for (const io::service_type service : services_of_packets<Factory>()) {
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
void the_end_of_a_stream_is_told()
{
    if (!Factory::tells_the_end)
        return;
    for (const io::service_type service : services_of_streams<Factory>()) {
        endpoint_pair<Factory> p(contract_config(service), 1000, 4);
        p.b->post(0, 4);
        p.start();
        for (unsigned k = 0; k < 3; ++k) {
            p.a->send(pattern(k, 1000));
            p.a->next_sent();
        }
        std::thread sender([&] { p.a->ep->stop(); });
        BOOST_TEST(await([&] {
            p.b->ep->wait_sendable(patience_ns);
            return p.b->ep->state() == io::endpoint_state::closed;
        }));
        sender.join();
        for (unsigned k = 0; k < 3; ++k)
            BOOST_TEST((p.b->stored(p.b->next()) == pattern(k, 1000)));
        BOOST_TEST(!p.b->ep->trailing_gap());
        BOOST_TEST(!p.b->ep->status_text().empty());
        if (p.b->send(pattern(1, 10))) // too late for an answer
            BOOST_TEST((p.b->next_sent().status == io::wc_status::flushed));
        check_stop(*p.b, { 3 }, {});
        BOOST_TEST((p.b->ep->state() == io::endpoint_state::closed));
    }
}

template <typename Factory>
void several_threads_may_stop_it()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc), 1000, 4);
    p.b->post(0, 4);
    p.start();
    std::vector<std::thread> threads;
    std::atomic<int> stopped{ 0 };
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            p.b->ep->stop();
            stopped += p.b->ep->state() == io::endpoint_state::idle;
        });
    for (std::thread& t : threads)
        t.join();
    BOOST_TEST(stopped == 4);
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
        std::atomic<int> found{ 0 };
        std::thread reader([&] {
            ++waiting;
            found += p.b->ep->wait_readable(INT64_MAX);
            ++woken;
        });
        std::thread sender([&] {
            ++waiting;
            found += p.b->ep->wait_sendable(INT64_MAX);
            ++woken;
        });
        BOOST_TEST(await([&] { return waiting == 2; }));
        p.b->ep->stop();
        BOOST_TEST(await([&] { return woken == 2; }, stop_limit_ns));
        reader.join();
        sender.join();
        BOOST_TEST(found == 0);
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

} // namespace testing
} // namespace rdma
} // namespace gr

#define RDMA_ENDPOINT_LIFE_CONTRACT(factory)                      \
    BOOST_AUTO_TEST_SUITE(factory##_life_contract)                \
    RDMA_ENDPOINT_CASE(factory, states_follow_one_another)        \
    RDMA_ENDPOINT_CASE(factory, stops_before_it_connects)         \
    RDMA_ENDPOINT_CASE(factory, stops_while_connected)            \
    RDMA_ENDPOINT_CASE(factory, stops_inside_a_message)           \
    RDMA_ENDPOINT_CASE(factory, stops_while_no_receive_is_posted) \
    RDMA_ENDPOINT_CASE(factory, stops_though_its_peer_is_gone)    \
    RDMA_ENDPOINT_CASE(factory, the_end_of_a_stream_is_told)      \
    RDMA_ENDPOINT_CASE(factory, several_threads_may_stop_it)      \
    RDMA_ENDPOINT_CASE(factory, stop_wakes_both_waits)            \
    RDMA_ENDPOINT_CASE(factory, waits_end_by_what_they_wait_for)  \
    BOOST_AUTO_TEST_SUITE_END()

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LIFE_H */
