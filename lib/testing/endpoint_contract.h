/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_CONTRACT_H

#include "testing/endpoint_contract_messages.h"

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
 *         // Is there service=uc?
 *         static constexpr bool has_unreliable;
 *         // Does it know what was lost? (A device shows no packet numbers.)
 *         static constexpr bool sees_losses;
 *     };
 *
 * Starting and stopping is in endpoint_contract_life.h.
 */
namespace gr {
namespace rdma {
namespace testing {

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
    if (!Factory::has_unreliable)
        return;
    io::endpoint_config c = contract_config(io::service_type::uc);
    c.message_bytes = 2500;
    endpoint_pair<Factory> p(c, 2500, 4);
    p.start();
    for (unsigned k = 0; k < 3; ++k) {
        BOOST_REQUIRE(p.a->send(pattern(k, 2500)));
        BOOST_TEST((p.a->next_sent().status == io::wc_status::success));
    }
    if (Factory::sees_losses)
        BOOST_REQUIRE(await(
            [&] { return p.b->ep->counters().messages_dropped_no_slot.value() == 3; }));
    else // a packet may be on its way still, and would find the slot
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    p.b->post(0, 4);
    p.a->send(pattern(3, 2500));
    p.a->send(pattern(4, 2500));
    const io::completion first = p.b->next();
    BOOST_TEST((p.b->stored(first) == pattern(3, 2500)));
    if (!Factory::sees_losses) {
        BOOST_TEST(!first.lost);
        BOOST_TEST((p.b->stored(p.b->next()) == pattern(4, 2500)));
        return;
    }
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
    BOOST_TEST(rc.a->ep->status_text().find("message_bytes") != std::string::npos,
               rc.a->describe() << "; " << rc.b->describe());
    // Nothing more is sent; what is taken nevertheless comes back.
    if (rc.a->send(pattern(4, 10)))
        BOOST_TEST((rc.a->next_sent().status == io::wc_status::flushed));
    BOOST_TEST(rc.b->ep->counters().dropped_length.value() == 1u);
    BOOST_TEST((rc.b->stored(rc.b->next()) == pattern(1, 2000)));
    BOOST_TEST(rc.b->guards_intact());

    if (!Factory::has_unreliable || !Factory::sees_losses)
        return; // rxe, as of 6.1, puts the next message behind the part that it dropped
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
