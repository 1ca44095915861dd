/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_H

#include "testing/endpoint_pair.h"

#include <string>

/*!
 * What every endpoint has to do with messages, whatever carries them. One passes by
 * naming a factory in RDMA_ENDPOINT_CONTRACT(factory) at file scope:
 *
 *     struct my_endpoints {
 *         // Two ends that know each other, unlike any made before. `common` says all
 *         // that is not about names; the factory may pace an unreliable sender.
 *         std::pair<io::endpoint_config, io::endpoint_config>
 *         make(io::endpoint_config common);
 *         // Does an end learn that its peer was stopped?
 *         static constexpr bool tells_the_end;
 *         // Is there service=ud?
 *         static constexpr bool has_datagrams;
 *     };
 *
 * Starting and stopping is in endpoint_contract_life.h.
 */
namespace gr {
namespace rdma {
namespace testing {

inline io::endpoint_config contract_config(io::service_type service,
                                           std::uint32_t depth = 4)
{
    io::endpoint_config c;
    c.service = service;
    c.mtu = 1024;
    c.recv_depth = depth;
    c.send_depth = depth;
    return c;
}

constexpr io::service_type both_services[] = { io::service_type::rc,
                                               io::service_type::uc };

//! Those of an endpoint, for messages that are one packet.
template <typename Factory>
std::vector<io::service_type> services_of_packets()
{
    std::vector<io::service_type> out(std::begin(both_services), std::end(both_services));
    if (Factory::has_datagrams)
        out.push_back(io::service_type::ud);
    return out;
}

/*!
 * Send a message of each length and compare what comes, \p depth of them in flight, never
 * more than there are slots. So little is under way that even UC loses nothing.
 */
template <typename Factory>
void send_and_compare(endpoint_pair<Factory>& p, const std::vector<std::size_t>& lengths)
{
    contract_end& tx = *p.a;
    contract_end& rx = *p.b;
    const std::size_t depth = rx.config.recv_depth;
    BOOST_REQUIRE(rx.post(0, depth) == depth);
    p.start();
    std::size_t sent = 0;
    std::uint64_t bytes = 0;
    std::int64_t before = core::realtime_ns() - 1000000;
    for (std::size_t got = 0; got < lengths.size(); ++got) {
        for (; sent < lengths.size() && sent < got + depth; ++sent) {
            if (sent >= depth) // the memory of a send is free once it is done
                BOOST_REQUIRE(tx.next_sent().cookie == sent - depth);
            BOOST_REQUIRE(tx.send(pattern(sent, lengths[sent])));
        }
        const io::completion c = rx.next();
        BOOST_REQUIRE(to_string(c.status) == std::string("success"));
        BOOST_REQUIRE(c.sequence == got);
        BOOST_REQUIRE(c.bytes == lengths[got]);
        BOOST_REQUIRE(c.cookie == got % depth); // slots are used in the order of posting
        BOOST_REQUIRE(!c.has_immediate);
        BOOST_REQUIRE(!c.lost);
        BOOST_REQUIRE((rx.stored(c) == pattern(got, lengths[got])));
        BOOST_TEST(c.time_ns >= before);
        BOOST_TEST(c.time_ns <= core::realtime_ns());
        before = c.time_ns;
        bytes += c.bytes;
        BOOST_REQUIRE(rx.post(c.cookie, 1) == 1u);
    }
    for (std::size_t k = sent - std::min(sent, depth); k < sent; ++k) {
        const io::send_completion done = tx.next_sent();
        BOOST_TEST(done.cookie == k);
        BOOST_TEST((done.status == io::wc_status::success));
    }
    BOOST_TEST(becomes(*rx.ep, io::endpoint_state::connected));
    BOOST_TEST(becomes(*tx.ep, io::endpoint_state::connected));
    BOOST_TEST(rx.ep->counters().messages_received.value() == lengths.size());
    BOOST_TEST(rx.ep->counters().bytes_received.value() == bytes);
    BOOST_TEST(tx.ep->counters().messages_sent.value() == lengths.size());
    BOOST_TEST(tx.ep->counters().bytes_sent.value() == bytes);
    BOOST_TEST(rx.ep->counters().gaps.value() == 0u);
    BOOST_TEST(rx.ep->counters().messages_sent.value() == 0u);
    BOOST_TEST(rx.guards_intact());
}

template <typename Factory>
void messages_of_all_lengths_arrive()
{
    for (const io::service_type service : both_services)
        for (const std::uint32_t mtu : { 256u, 1024u, 4096u }) {
            io::endpoint_config c = contract_config(service);
            c.mtu = mtu;
            endpoint_pair<Factory> p(c, 3 * mtu + 5, c.recv_depth);
            send_and_compare(p,
                             { 1, mtu - 1, mtu, mtu + 1, 0, 2 * mtu, 3 * mtu + 5, 3, 2 });
        }
}

template <typename Factory>
void messages_of_one_packet_arrive()
{
    for (const io::service_type service : services_of_packets<Factory>())
        for (const std::uint32_t mtu : { 256u, 4096u })
            for (const std::uint32_t header : { 0u, 100u }) {
                io::endpoint_config c = contract_config(service);
                c.mtu = mtu;
                c.header_bytes = header;
                endpoint_pair<Factory> p(c, mtu, c.recv_depth);
                send_and_compare(
                    p, { 1, mtu - 1, mtu, 0, 2, 3, 100, 101, 99, mtu - 2, mtu - 3, 5 });
            }
}

template <typename Factory>
void slots_are_used_again_and_again()
{
    for (const io::service_type service : both_services)
        for (const io::wait_mode wait :
             { io::wait_mode::hybrid, io::wait_mode::busy, io::wait_mode::event }) {
            io::endpoint_config c = contract_config(service, 3);
            c.wait = wait;
            endpoint_pair<Factory> p(c, 4000, c.recv_depth);
            // Busy waiting wants a core for each thread, which a test may not have.
            send_and_compare(
                p,
                std::vector<std::size_t>(wait == io::wait_mode::busy ? 30 : 400, 3000));
        }
}

template <typename Factory>
void headers_are_split_off()
{
    for (const io::service_type service : both_services)
        for (const std::uint32_t header : { 1u, 64u, 1500u }) {
            io::endpoint_config c = contract_config(service);
            c.header_bytes = header;
            endpoint_pair<Factory> p(c, 5000, c.recv_depth);
            send_and_compare(
                p, { 5000, 0, header, header + 1, header - 1, header + 5000, 100 });
        }
}

template <typename Factory>
void immediates_are_handed_over()
{
    for (const io::service_type service : both_services) {
        const io::endpoint_config c = contract_config(service);
        endpoint_pair<Factory> p(c, 3000, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(1, 3000), true, 0x01020304);
        p.a->send({}, true, 0xfffffffe);
        p.a->send(pattern(2, 10));
        for (const std::uint32_t value : { 0x01020304u, 0xfffffffeu, 0u }) {
            const io::completion got = p.b->next();
            BOOST_TEST(got.has_immediate == (value != 0));
            BOOST_TEST((got.opcode == (value != 0 ? io::wc_opcode::send_immediate
                                                  : io::wc_opcode::send)));
            if (value != 0)
                BOOST_TEST(got.immediate == value);
        }
    }
}

template <typename Factory>
void immediates_of_one_packet_are_handed_over()
{
    for (const io::service_type service : services_of_packets<Factory>()) {
        endpoint_pair<Factory> p(contract_config(service), 1024, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(1, 1024), true, 0x01020304);
        p.a->send({}, true, 0);
        p.a->send(pattern(2, 10));
        for (const std::uint32_t bytes : { 1024u, 0u, 10u }) {
            const io::completion got = p.b->next();
            BOOST_TEST(got.bytes == bytes);
            BOOST_TEST(got.has_immediate == (bytes != 10));
            BOOST_TEST((got.opcode == (bytes != 10 ? io::wc_opcode::send_immediate
                                                   : io::wc_opcode::send)));
            if (got.has_immediate)
                BOOST_TEST(got.immediate == (bytes == 1024 ? 0x01020304u : 0u));
        }
    }
}

template <typename Factory>
void messages_of_eight_mebibytes_arrive()
{
    constexpr std::size_t bytes = 8 << 20;
    for (const io::service_type service : both_services) {
        io::endpoint_config c = contract_config(service, 2);
        c.mtu = 4096;
        endpoint_pair<Factory> p(c, bytes, 2);
        p.b->post(0, 2);
        p.start();
        // An unreliable message may be dropped: what arrives must still be whole.
        for (unsigned received = 0, number = 0; received < 3; ++number) {
            BOOST_REQUIRE(number < 100);
            BOOST_REQUIRE(p.a->send(pattern(number, bytes)));
            BOOST_TEST((p.a->next_sent().status == io::wc_status::success));
            p.b->ep->wait_readable(service == io::service_type::rc ? patience_ns
                                                                   : 200000000);
            for (const io::completion& got : p.b->all()) {
                BOOST_REQUIRE(got.bytes == bytes);
                const bytes_t message = p.b->stored(got);
                unsigned k = 0;
                while (k <= number && message != p.a->messages[k])
                    ++k;
                BOOST_REQUIRE(k <= number);
                BOOST_TEST((service == io::service_type::uc || k == received));
                ++received;
                p.b->post(got.cookie, 1);
            }
        }
        BOOST_TEST(p.b->guards_intact());
    }
}

template <typename Factory>
void a_stopped_consumer_holds_the_sender_back()
{
    const io::endpoint_config c = contract_config(io::service_type::rc, 8);
    endpoint_pair<Factory> p(c, 2000, 8);
    p.start();
    for (unsigned k = 0; k < 8; ++k)
        p.a->send(pattern(k, 2000));
    // A receive is asked for, and for a while none comes.
    BOOST_REQUIRE(await([&] { return p.b->ep->counters().rnr_naks_sent.value() != 0; }));
    BOOST_REQUIRE(
        await([&] { return p.a->ep->counters().rnr_naks_received.value() != 0; }));
    BOOST_TEST(p.b->all().empty());
    BOOST_TEST(p.a->all_sent().empty());
    for (unsigned k = 0; k < 8; ++k) {
        p.b->post(k, 1);
        const io::completion got = p.b->next();
        BOOST_TEST((p.b->stored(got) == pattern(k, 2000)));
        BOOST_TEST(!got.lost);
        BOOST_TEST((p.a->next_sent().status == io::wc_status::success));
    }
    BOOST_TEST(p.b->ep->counters().receive_queue_empty.value() == 8u);
}

template <typename Factory>
void an_unreliable_message_without_a_slot_is_a_gap()
{
    io::endpoint_config c = contract_config(io::service_type::uc);
    c.message_bytes = 2500;
    endpoint_pair<Factory> p(c, 2500, 4);
    p.start();
    for (unsigned k = 0; k < 3; ++k) {
        BOOST_REQUIRE(p.a->send(pattern(k, 2500)));
        BOOST_TEST((p.a->next_sent().status == io::wc_status::success));
    }
    BOOST_REQUIRE(
        await([&] { return p.b->ep->counters().messages_dropped_no_slot.value() == 3; }));
    p.b->post(0, 4);
    p.a->send(pattern(3, 2500));
    p.a->send(pattern(4, 2500));
    const io::completion first = p.b->next();
    BOOST_TEST((p.b->stored(first) == pattern(3, 2500)));
    BOOST_TEST((first.lost.reason == io::gap_reason::no_slot));
    BOOST_TEST(first.lost.messages_known);
    BOOST_TEST(first.lost.bytes_known);
    BOOST_TEST(first.lost.messages == 3u);
    BOOST_TEST(first.lost.bytes == 7500u);
    BOOST_TEST(first.sequence == 0u);
    BOOST_TEST(!p.b->next().lost);
    BOOST_TEST(p.b->ep->counters().gaps.value() == 1u);
}

template <typename Factory>
void a_message_longer_than_its_slot_is_refused()
{
    endpoint_pair<Factory> rc(contract_config(io::service_type::rc), 2000, 4);
    rc.b->post(0, 4);
    rc.start();
    rc.a->send(pattern(1, 2000));
    rc.a->send(pattern(2, 2001));
    const bool third = rc.a->send(pattern(3, 2000)); // may be refused already
    BOOST_TEST((rc.a->next_sent().status == io::wc_status::success));
    BOOST_TEST((rc.a->next_sent().status == io::wc_status::remote_error));
    if (third)
        BOOST_TEST((rc.a->next_sent().status == io::wc_status::flushed));
    BOOST_REQUIRE(await([&] { return rc.a->ep->state() == io::endpoint_state::failed; }));
    BOOST_TEST(rc.a->ep->status_text().find("message_bytes") != std::string::npos);
    // Nothing more is sent; what is taken nevertheless comes back.
    if (rc.a->send(pattern(4, 10)))
        BOOST_TEST((rc.a->next_sent().status == io::wc_status::flushed));
    BOOST_TEST(rc.b->ep->counters().dropped_length.value() == 1u);
    BOOST_TEST((rc.b->stored(rc.b->next()) == pattern(1, 2000)));
    BOOST_TEST(rc.b->guards_intact());

    endpoint_pair<Factory> uc(contract_config(io::service_type::uc), 2000, 4);
    uc.b->post(0, 4);
    uc.start();
    for (const std::size_t bytes : { 2000u, 2001u, 1999u })
        uc.a->send(pattern(bytes, bytes));
    BOOST_TEST(!uc.b->next().lost);
    const io::completion got = uc.b->next();
    BOOST_TEST((uc.b->stored(got) == pattern(1999, 1999)));
    BOOST_TEST((got.lost.reason == io::gap_reason::length_error));
    BOOST_TEST(uc.b->ep->counters().dropped_length.value() == 1u);
    BOOST_TEST(uc.b->guards_intact());
}

template <typename Factory>
void a_slot_outside_the_memory_is_refused()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc), 2000, 4);
    io::recv_slot bad[2];
    bad[0].offset = p.b->ring.size() - 100;
    bad[0].bytes = 101;
    bad[0].cookie = 71;
    bad[1].offset = ~std::uint64_t(0);
    bad[1].bytes = 2000;
    bad[1].cookie = 72;
    BOOST_REQUIRE(p.b->ep->post_recv(bad, 2) == 2u);
    p.b->post(0, 1);
    p.start();
    p.a->send(pattern(1, 100));
    for (const std::uint64_t cookie : { 71u, 72u }) {
        const io::completion c = p.b->next();
        BOOST_TEST(c.cookie == cookie);
        BOOST_TEST((c.status == io::wc_status::access_error));
    }
    BOOST_TEST((p.b->stored(p.b->next()) == pattern(1, 100)));
    BOOST_TEST(p.b->guards_intact());
}

template <typename Factory>
void no_more_is_taken_than_the_depth()
{
    endpoint_pair<Factory> p(contract_config(io::service_type::rc, 5), 100, 8);
    std::vector<io::recv_slot> slots;
    for (std::size_t k = 0; k < 8; ++k)
        slots.push_back(p.b->slot(k));
    BOOST_TEST(p.b->ep->post_recv(slots.data(), 8) == 5u);
    BOOST_TEST(p.b->ep->post_recv(&slots[5], 1) == 0u);
    for (unsigned k = 0; k < 5; ++k)
        BOOST_TEST(p.a->send(pattern(k, 100)));
    BOOST_TEST(!p.a->send(pattern(5, 100)));
    p.start();
    // A place is free again when its completion was taken, not before.
    BOOST_REQUIRE(
        await([&] { return p.b->ep->counters().messages_received.value() == 5; }));
    BOOST_TEST(p.b->ep->post_recv(&slots[5], 1) == 0u);
    p.b->next();
    BOOST_TEST(p.b->ep->post_recv(&slots[5], 3) == 1u);
    BOOST_REQUIRE(await([&] { return p.a->ep->counters().messages_sent.value() == 5; }));
    BOOST_TEST(!p.a->send(pattern(5, 100)));
    p.a->next_sent();
    BOOST_TEST(p.a->send(pattern(5, 100)));
    BOOST_TEST(!p.a->send(pattern(6, 100)));
}

} // namespace testing
} // namespace rdma
} // namespace gr

#define RDMA_ENDPOINT_CASE(factory, promise) \
    BOOST_AUTO_TEST_CASE(promise) { gr::rdma::testing::promise<factory>(); }
#define RDMA_ENDPOINT_CONTRACT(factory)                                        \
    BOOST_AUTO_TEST_SUITE(factory##_contract)                                  \
    RDMA_ENDPOINT_CASE(factory, messages_of_all_lengths_arrive)                \
    RDMA_ENDPOINT_CASE(factory, messages_of_one_packet_arrive)                 \
    RDMA_ENDPOINT_CASE(factory, immediates_of_one_packet_are_handed_over)      \
    RDMA_ENDPOINT_CASE(factory, slots_are_used_again_and_again)                \
    RDMA_ENDPOINT_CASE(factory, headers_are_split_off)                         \
    RDMA_ENDPOINT_CASE(factory, immediates_are_handed_over)                    \
    RDMA_ENDPOINT_CASE(factory, messages_of_eight_mebibytes_arrive)            \
    RDMA_ENDPOINT_CASE(factory, a_stopped_consumer_holds_the_sender_back)      \
    RDMA_ENDPOINT_CASE(factory, an_unreliable_message_without_a_slot_is_a_gap) \
    RDMA_ENDPOINT_CASE(factory, a_message_longer_than_its_slot_is_refused)     \
    RDMA_ENDPOINT_CASE(factory, a_slot_outside_the_memory_is_refused)          \
    RDMA_ENDPOINT_CASE(factory, no_more_is_taken_than_the_depth)               \
    BOOST_AUTO_TEST_SUITE_END()

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_H */
