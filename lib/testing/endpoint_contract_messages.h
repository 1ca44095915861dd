/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_MESSAGES_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_MESSAGES_H

#include "testing/endpoint_pair.h"

#include <string>

//! Part of endpoint_contract.h: messages of every kind arrive, and how tests ask for
//! that.
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

//! Those of an endpoint, for messages of any length.
template <typename Factory>
std::vector<io::service_type> services_of_streams()
{
    if (!Factory::has_unreliable)
        return { io::service_type::rc };
    return { std::begin(both_services), std::end(both_services) };
}

//! Those of an endpoint, for messages that are one packet.
template <typename Factory>
std::vector<io::service_type> services_of_packets()
{
    std::vector<io::service_type> out = services_of_streams<Factory>();
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
    for (const io::service_type service : services_of_streams<Factory>())
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
    for (const io::service_type service : services_of_streams<Factory>())
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
    for (const io::service_type service : services_of_streams<Factory>())
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
    for (const io::service_type service : services_of_streams<Factory>()) {
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
    for (const io::service_type service : services_of_streams<Factory>()) {
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

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_MESSAGES_H */
