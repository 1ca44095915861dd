/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The connections of rdma.source come and go; its stream does not. And what the peer
// may WRITE.
#include "qa_source.h"
#include "reconnect_policy.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::size_t message_bytes = 4096;

using messages = std::vector<std::vector<std::byte>>;

struct flowgraph {
    explicit flowgraph(const source_config& config)
        : block(source::make(config)), sink(gnuradio::make_block_sptr<recorder>(1))
    {
        top->connect(block, 0, sink, 0);
    }
    ~flowgraph()
    {
        top->stop();
        top->wait();
    }
    gr::top_block_sptr top = gr::make_top_block("top");
    source::sptr block;
    std::shared_ptr<recorder> sink;
};

template <class condition>
bool becomes_true(condition is_true)
{
    for (int i = 0; i < 20000; ++i) {
        if (is_true())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

source_config stream(const char* reconnect)
{
    source_config c;
    c.sample = "byte";
    c.message_bytes = message_bytes;
    c.buffers = 4;
    c.reconnect = reconnect;
    return c;
}

void check_reconnect_gap(recorder& sink, std::size_t messages_before)
{
    const auto gaps = sink.tags_of("rx_gap");
    BOOST_REQUIRE(gaps.size() == 1u);
    BOOST_TEST(gaps[0].offset == messages_before * message_bytes);
    const auto reason =
        pmt::dict_ref(gaps[0].value, pmt::mp("reason"), pmt::mp("none given"));
    BOOST_TEST(pmt::symbol_to_string(reason) == "reconnect");
    BOOST_TEST(sink.tags_of("rx_time").size() == 2u);
}

} // namespace

BOOST_AUTO_TEST_CASE(delays_double_up_to_a_limit_and_start_again_after_a_success)
{
    constexpr std::int64_t ms = 1000000;
    reconnect_policy calling(reconnect_mode::always, true);
    for (std::int64_t expected :
         { 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000 })
        BOOST_TEST(calling.next_delay_ns() == expected * ms);
    for (int i = 0; i < 200; ++i)
        calling.next_delay_ns();
    BOOST_TEST(calling.next_delay_ns() == 10000 * ms);
    calling.note_success();
    BOOST_TEST(calling.next_delay_ns() == 100 * ms);

    reconnect_policy listening(reconnect_mode::always, false);
    for (std::int64_t expected : { 0, 100, 200, 400, 800, 1000, 1000 })
        BOOST_TEST(listening.next_delay_ns() == expected * ms);
}

BOOST_AUTO_TEST_CASE(fewer_and_fewer_attempts_are_news)
{
    reconnect_policy policy(reconnect_mode::always, true);
    int lines = 0;
    for (int i = 0; i < 1000; ++i) {
        policy.next_delay_ns();
        lines += policy.is_news();
    }
    BOOST_TEST(lines == 10);
}

BOOST_AUTO_TEST_CASE(modes_are_told_by_name)
{
    for (const bool failed : { false, true }) {
        BOOST_TEST(!reconnect_policy(parse_reconnect("never"), true).goes_on(failed));
        BOOST_TEST(reconnect_policy(parse_reconnect("failure"), true).goes_on(failed) ==
                   failed);
        BOOST_TEST(reconnect_policy(parse_reconnect("always"), true).goes_on(failed));
    }
    for (const char* text : { "", "yes", "Always" })
        BOOST_CHECK_EXCEPTION(parse_reconnect(text), config_error, [](const auto& e) {
            return std::string(e.what()).find("never, failure") != std::string::npos;
        });
}

BOOST_AUTO_TEST_CASE(a_listening_stream_goes_on_with_the_next_sender)
{
    const std::string own = address(0);
    source_config c = stream("always");
    c.listen = own;
    flowgraph g(c);
    g.top->start();
    messages all = random_messages(7, message_bytes);
    const messages first(all.begin(), all.begin() + 3),
        second(all.begin() + 3, all.end());
    io::endpoint_config calls;
    calls.connect = own;
    calls.source = address(1);
    std::size_t so_far = 0;
    for (const messages& part : { first, second }) {
        sender tx(calls);
        tx.send(part);
        so_far += part.size();
        BOOST_TEST(g.sink->wait_bytes(so_far * message_bytes), tx.status_text());
    }
    BOOST_TEST((g.sink->bytes == joined(all)));
    check_reconnect_gap(*g.sink, first.size());
    BOOST_TEST(becomes_true([&] { return g.block->counters().at("reconnects") == 2; }));
    BOOST_TEST(becomes_true([&] { return g.block->state() == "connecting"; }));
    BOOST_TEST(g.block->counters().at("messages_received") == all.size());
}

BOOST_AUTO_TEST_CASE(a_calling_stream_calls_until_its_peer_is_there_again)
{
    const std::string peer = address(0);
    source_config c = stream("always");
    c.connect = peer;
    c.source = address(1);
    const messages all = random_messages(4, message_bytes);
    io::endpoint_config listens;
    listens.listen = peer;
    auto tx = std::make_unique<sender>(listens);
    flowgraph g(c);
    g.top->start();
    tx->send({ all[0], all[1] });
    BOOST_TEST(g.sink->wait_bytes(2 * message_bytes));
    tx.reset();
    BOOST_TEST(becomes_true([&] {
        return g.block->status_text().find("connecting again in 0.") !=
                   std::string::npos ||
               g.block->counters().at("reconnects") != 0;
    }));
    tx = std::make_unique<sender>(listens);
    tx->send({ all[2], all[3] });
    BOOST_TEST(g.sink->wait_bytes(4 * message_bytes));
    BOOST_TEST((g.sink->bytes == joined(all)));
    check_reconnect_gap(*g.sink, 2);
}

BOOST_AUTO_TEST_CASE(a_place_that_is_taken_meanwhile_is_waited_for)
{
    const std::string own = address(0);
    source_config c = stream("always");
    c.listen = own;
    flowgraph g(c);
    g.top->start();
    io::endpoint_config calls, holds;
    calls.connect = holds.listen = own;
    calls.source = address(1);
    // Each connection without a message makes it stay away longer.
    std::unique_ptr<io::endpoint> other;
    BOOST_REQUIRE(becomes_true([&] {
        auto caller = io::make_endpoint(calls);
        caller->start();
        BOOST_TEST(becomes_true(
            [&] { return caller->state() != io::endpoint_state::connecting; }));
        caller->stop();
        for (int i = 0; i < 100; ++i)
            try {
                other = io::make_endpoint(holds);
                other->open();
                return true;
            } catch (const config_error&) {
                other.reset();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        return false;
    }));
    BOOST_TEST(becomes_true(
        [&] { return g.block->status_text().find("is in use") != std::string::npos; }));
    BOOST_TEST(g.block->state() == "connecting");
    other.reset();
    sender tx(calls);
    const messages all = random_messages(1, message_bytes);
    tx.send(all);
    BOOST_TEST(g.sink->wait_bytes(message_bytes));
    BOOST_TEST((g.sink->bytes == joined(all)));
}

BOOST_AUTO_TEST_CASE(an_orderly_end_is_no_failure)
{
    for (const char* mode : { "never", "failure" }) {
        const std::string own = address(0);
        source_config c = stream(mode);
        c.listen = own;
        flowgraph g(c);
        g.top->start();
        io::endpoint_config calls;
        calls.connect = own;
        calls.source = address(1);
        sender tx(calls);
        tx.send(random_messages(1, message_bytes));
        g.top->wait(); // ends by itself
        BOOST_TEST(g.block->state() == "closed");
        BOOST_TEST(g.block->counters().at("reconnects") == 0u);
        BOOST_TEST(g.sink->bytes.size() == message_bytes);
    }
}

BOOST_AUTO_TEST_CASE(stop_does_not_wait_for_the_next_attempt)
{
    source_config c = stream("failure");
    c.connect = address(0); // nobody is there
    c.source = address(1);
    flowgraph g(c);
    g.top->start();
    const auto before = std::chrono::steady_clock::now();
    g.top->stop();
    g.top->wait();
    BOOST_TEST((std::chrono::steady_clock::now() - before < std::chrono::seconds(5)));
}

BOOST_AUTO_TEST_CASE(what_is_lost_behind_the_last_message_is_told)
{
    const std::string own = address(0);
    source_config c = stream("never");
    c.service = "uc";
    c.listen = own;
    c.buffers = 2;
    flowgraph g(c);
    g.sink->paused = true;
    g.top->start();
    io::endpoint_config calls;
    calls.service = io::service_type::uc;
    calls.connect = own;
    calls.source = address(1);
    calls.message_bytes = message_bytes;
    {
        sender tx(calls);
        tx.send(random_messages(6, message_bytes));
        BOOST_TEST(becomes_true(
            [&] { return g.block->counters().at("messages_dropped_no_slot") == 4; }));
    }
    g.sink->paused = false;
    g.top->wait();
    BOOST_TEST(g.block->state() == "closed");
    BOOST_TEST(g.block->status_text().find("lost behind the last message (no_slot): "
                                           "messages=4, bytes=16384") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_peer_may_write_with_the_key_and_not_without)
{
    for (const std::uint32_t key : { 0x1234u, 0u }) {
        auto p = make_pair_config("softroce", message_bytes);
        p.source.rkey = key;
        flowgraph g(p.source);
        g.top->start();
        auto tx = io::make_endpoint(p.sender);
        tx->start();
        const messages all = random_messages(3, message_bytes);
        for (std::size_t i = 0; i < all.size(); ++i) {
            io::send_request r;
            r.data = all[i].data();
            r.bytes = all[i].size();
            r.write = r.has_immediate = true;
            r.immediate = static_cast<std::uint32_t>(i);
            r.remote_address = i * message_bytes;
            r.rkey = 0x1234;
            BOOST_TEST(tx->post_send(&r, 1) == 1u);
        }
        if (key == 0) {
            BOOST_TEST(becomes_true(
                [&] { return g.block->counters().at("dropped_access") != 0; }));
            BOOST_TEST(g.sink->bytes.empty());
        } else {
            BOOST_TEST(g.sink->wait_bytes(3 * message_bytes));
            BOOST_TEST((g.sink->bytes == joined(all)));
        }
        tx->stop();
    }
}
