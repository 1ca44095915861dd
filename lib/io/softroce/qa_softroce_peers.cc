/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"

#include <memory>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::testing;

BOOST_AUTO_TEST_CASE(two_queue_pairs_share_one_address)
{
    // Two senders to one receiving address: one RC, one UC.
    auto first = softroce_endpoints().make(contract_config(service_type::rc));
    auto second = softroce_endpoints().make(contract_config(service_type::uc));
    second.first.connect = first.first.connect;
    second.second.source = first.second.source;
    contract_end rx1(first.second, 3000, 4);
    contract_end rx2(second.second, 3000, 4);
    contract_end tx1(first.first, 3000, 4);
    contract_end tx2(second.first, 3000, 4);
    for (contract_end* e : { &rx1, &rx2, &tx1, &tx2 }) {
        e->post(0, 4);
        e->ep->start();
    }
    for (unsigned k = 0; k < 100; ++k) {
        tx1.send(pattern(k, 3000));
        tx2.send(pattern(1000 + k, 2000));
        const completion c1 = rx1.next();
        const completion c2 = rx2.next();
        BOOST_REQUIRE((rx1.stored(c1) == pattern(k, 3000)));
        BOOST_REQUIRE((rx2.stored(c2) == pattern(1000 + k, 2000)));
        BOOST_REQUIRE(!c2.lost);
        rx1.post(c1.cookie, 1);
        rx2.post(c2.cookie, 1);
        tx1.next_sent();
        tx2.next_sent();
    }
    // One goes, the other does not notice.
    rx1.ep->stop();
    tx2.send(pattern(7, 2000));
    BOOST_TEST((rx2.stored(rx2.next()) == pattern(7, 2000)));
}

BOOST_AUTO_TEST_CASE(a_peer_that_falls_silent_is_named)
{
    auto configs = softroce_endpoints().make(contract_config(service_type::rc));
    configs.first.ack_timeout_ns = 1000000;
    configs.first.retry_count = 2;
    contract_end tx(configs.first, 100, 4);
    auto rx = std::make_unique<contract_end>(configs.second, 100, 4);
    rx->post(0, 4);
    rx->ep->start();
    tx.ep->start();
    tx.send(pattern(1, 100));
    BOOST_TEST((tx.next_sent().status == wc_status::success));
    rx.reset();
    tx.send(pattern(2, 100));
    BOOST_TEST((tx.next_sent().status == wc_status::retry_exceeded));
    BOOST_TEST(await([&] { return tx.ep->state() == endpoint_state::failed; }));
    BOOST_TEST(tx.ep->status_text().find(configs.first.connect) != std::string::npos);
    tx.ep->stop();
    BOOST_TEST((tx.ep->state() == endpoint_state::failed)); // the reason stays
}

BOOST_AUTO_TEST_CASE(a_receiver_may_come_later_than_its_sender)
{
    auto configs = softroce_endpoints().make(contract_config(service_type::rc));
    configs.first.ack_timeout_ns = 1000000;
    configs.first.retry_count = 1;
    contract_end tx(configs.first, 100, 4);
    tx.ep->start();
    tx.send(pattern(1, 100));
    BOOST_REQUIRE(await([&] { return tx.ep->counters().timeouts.value() > 5; }));
    BOOST_TEST((tx.ep->state() == endpoint_state::connecting));
    contract_end rx(configs.second, 100, 4);
    rx.post(0, 4);
    rx.ep->start();
    BOOST_TEST((rx.stored(rx.next()) == pattern(1, 100)));
    BOOST_TEST((tx.next_sent().status == wc_status::success));
}

namespace {

template <typename Factory>
void refusals_are_explained()
{
    endpoint_pair<Factory> p(contract_config(service_type::rc), 2000, 4);
    p.b->post(0, 4);
    p.start();
    p.a->send(pattern(1, 2000));
    BOOST_TEST((p.b->stored(p.b->next()) == pattern(1, 2000)));
    BOOST_TEST((p.a->next_sent().status == wc_status::success));
    BOOST_TEST(p.b->ep->status_text() == "");
    p.a->send(pattern(2, 2001));
    BOOST_TEST((p.a->next_sent().status == wc_status::remote_error));
    const auto says = [&](const std::string& words) {
        const std::string said = p.b->ep->status_text();
        BOOST_TEST_CONTEXT(said) BOOST_TEST(said.find(words) != std::string::npos);
    };
    const std::string why =
        "a message of more than 2000 bytes (header_bytes included); raise message_bytes";
    BOOST_TEST((p.b->ep->state() == endpoint_state::connected));
    says(why);
    p.a->ep->stop();
    if (!Factory::tells_the_end)
        return;
    BOOST_TEST(becomes(*p.b->ep, endpoint_state::closed)); // and that stays readable
    says("closed the connection");
    says(why);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_receiver_says_why_it_refused_a_message)
{
    refusals_are_explained<softroce_endpoints>();
    refusals_are_explained<softroce_cm_endpoints>();
}

BOOST_AUTO_TEST_CASE(a_receiver_says_that_the_mtu_is_another)
{
    auto configs = softroce_endpoints().make(contract_config(service_type::rc));
    configs.first.mtu = 2048;
    contract_end rx(configs.second, 5000, 4);
    contract_end tx(configs.first, 5000, 4);
    rx.post(0, 4);
    rx.ep->start();
    tx.ep->start();
    tx.send(pattern(1, 10)); // fits both
    rx.next();
    tx.send(pattern(2, 4000));
    BOOST_TEST((tx.next_sent().status == wc_status::success));
    BOOST_TEST((tx.next_sent().status == wc_status::remote_error));
    const std::string said = rx.ep->status_text();
    BOOST_TEST_CONTEXT(said)
    BOOST_TEST(said.find("mtu=1024; give both sides the same") != std::string::npos);
    rx.ep->stop();
}

// UC loses what comes before its receiver is there; from start() on it is.
BOOST_AUTO_TEST_CASE(what_is_sent_once_start_has_returned_is_heard)
{
    for (unsigned k = 0; k < 200; ++k) {
        endpoint_config common = contract_config(service_type::uc);
        common.wait = k % 2 != 0 ? wait_mode::event : wait_mode::hybrid;
        auto configs = softroce_endpoints().make(common);
        contract_end tx(configs.first, 100, 4);
        tx.ep->start();
        contract_end rx(configs.second, 100, 4);
        rx.post(0, 4);
        rx.ep->open(); // the pump runs, and does not know it yet
        rx.ep->start();
        tx.send(pattern(k, 100));
        const completion c = rx.next();
        BOOST_TEST((rx.stored(c) == pattern(k, 100)));
        BOOST_TEST(!c.lost);
    }
}
