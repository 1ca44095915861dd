/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LOAD_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LOAD_H

#include "testing/endpoint_contract.h"
#include "testing/process_resources.h"

#include <atomic>
#include <thread>

/*!
 * What every endpoint has to hold to while threads and peers are busy with it. Named by
 * RDMA_ENDPOINT_LOAD_CONTRACT(factory) at file scope; the factory is that of
 * endpoint_contract.h.
 */
namespace gr {
namespace rdma {
namespace testing {

// A sender in a thread of its own that sends as fast as it can until told to stop.
template <typename Factory>
class flood
{
public:
    explicit flood(endpoint_pair<Factory>& p)
        : d_pair(p), d_data(p.a->messages.emplace_back(pattern(9, 3000)))
    {
        d_thread = std::thread([this] { run(); });
    }
    ~flood()
    {
        d_stop = true;
        d_thread.join();
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
    const bytes_t& d_data; // the endpoint's own: it outlives what is sent from it
    std::atomic<bool> d_stop{ false };
    std::thread d_thread;
};

template <typename Factory>
void memory_is_left_alone_after_stop()
{
    for (const io::service_type service : services_of_streams<Factory>()) {
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
    for (const io::service_type service : services_of_streams<Factory>())
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
    for (const io::service_type service : services_of_streams<Factory>())
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
    // A thread that was joined is in /proc for a moment longer, perhaps above, too.
    BOOST_TEST(await([&] { return count_descriptors() == descriptors; }));
    BOOST_TEST(await([&] { return count_threads() <= threads; }));
}

} // namespace testing
} // namespace rdma
} // namespace gr

#define RDMA_ENDPOINT_LOAD_CONTRACT(factory)                          \
    BOOST_AUTO_TEST_SUITE(factory##_load_contract)                    \
    RDMA_ENDPOINT_CASE(factory, memory_is_left_alone_after_stop)      \
    RDMA_ENDPOINT_CASE(factory, it_may_go_while_its_peer_sends)       \
    RDMA_ENDPOINT_CASE(factory, it_may_go_while_it_sends)             \
    RDMA_ENDPOINT_CASE(factory, nothing_posted_is_lost_in_a_stop)     \
    RDMA_ENDPOINT_CASE(factory, both_sides_send_and_receive_at_once)  \
    RDMA_ENDPOINT_CASE(factory, a_hundred_pairs_leave_nothing_behind) \
    BOOST_AUTO_TEST_SUITE_END()

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_LOAD_H */
