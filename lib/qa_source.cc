/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.source in flowgraphs, fed by endpoints of this process. Links the layers' objects,
// since the sending side is internal.
#include "qa_source.h"

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

BOOST_AUTO_TEST_CASE(streams_every_byte_and_tags_the_address)
{
    for (const char* endpoint : { "inproc", "softroce" })
        for (const char* service : { "rc", "uc" }) {
            BOOST_TEST_CONTEXT(endpoint << " " << service)
            {
                auto p = make_pair_config(endpoint, 8192);
                p.source.service = service;
                p.sender.service = io::parse_service(service);
                if (std::string(service) == "uc") // nothing holds a UC sender back
                    p.source.buffers = 64;
                const auto messages = random_messages(40, 8192);
                auto top = gr::make_top_block("top");
                auto block = source::make(p.source);
                auto sink = gnuradio::make_block_sptr<recorder>(1);
                auto other = gnuradio::make_block_sptr<recorder>(1);
                top->connect(block, 0, sink, 0);
                top->connect(block, 0, other, 0);
                top->start();
                sender tx(p.sender);
                tx.send(messages);
                BOOST_TEST(sink->wait_bytes(40 * 8192));
                BOOST_TEST(other->wait_bytes(40 * 8192));
                top->stop();
                top->wait();
                BOOST_TEST((sink->bytes == joined(messages)));
                BOOST_TEST((other->bytes == joined(messages)));
                for (auto& reader : { sink, other }) {
                    const auto tags = reader->tags_of("rx_buffer");
                    BOOST_TEST(tags.size() == 40u);
                    for (std::size_t i = 0; i < tags.size(); ++i) {
                        BOOST_TEST(tags[i].offset == i * 8192);
                        // A window that runs over the end shows the second mapping.
                        const std::uint64_t seen = reader->addresses.at(tags[i].offset);
                        const std::uint64_t told = number(tags[i].value, "address");
                        BOOST_TEST((seen - told) % (p.source.buffers * 8192) == 0u);
                        BOOST_TEST(seen - told <= p.source.buffers * 8192);
                        BOOST_TEST(number(tags[i].value, "bytes") == 8192u);
                        BOOST_TEST(number(tags[i].value, "sequence") == i);
                    }
                    BOOST_TEST(reader->tags_of("rx_time").size() == 1u);
                    BOOST_TEST(reader->tags_of("packet_len").empty());
                    BOOST_TEST(reader->tags_of("rx_gap").empty());
                }
                BOOST_TEST(block->counters().at("messages_received") == 40u);
            }
        }
}

BOOST_AUTO_TEST_CASE(a_short_message_is_padded_with_zeros_and_says_its_length)
{
    auto p = make_pair_config("softroce", 4096);
    p.source.header_bytes = 16;
    p.source.tag_every = 0;
    auto messages = random_messages(12, 4096 + 16);
    messages[3].resize(16 + 100);
    messages[5].resize(16); // no payload
    messages[7].resize(4);  // not even a whole header
    auto top = gr::make_top_block("top");
    auto block = source::make(p.source);
    auto sink = gnuradio::make_block_sptr<recorder>(1);
    top->connect(block, 0, sink, 0);
    top->start();
    sender tx(p.sender);
    tx.send(messages, 1000);
    BOOST_TEST(sink->wait_bytes(12 * 4096));
    top->stop();
    top->wait();
    for (std::size_t i = 0; i < 12; ++i) {
        std::vector<std::byte> want(4096);
        if (messages[i].size() > 16)
            std::copy(messages[i].begin() + 16, messages[i].end(), want.begin());
        BOOST_TEST(std::memcmp(want.data(), sink->bytes.data() + i * 4096, 4096) == 0);
    }
    const auto lengths = sink->tags_of("packet_len");
    const std::vector<std::pair<std::uint64_t, long>> want{ { 3, 100 }, { 4, 4096 },
                                                            { 5, 0 },   { 6, 4096 },
                                                            { 7, 0 },   { 8, 4096 } };
    BOOST_REQUIRE(lengths.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        BOOST_TEST(lengths[i].offset == want[i].first * 4096);
        BOOST_TEST(pmt::to_long(lengths[i].value) == want[i].second);
    }
    const auto buffers = sink->tags_of("rx_buffer"); // thinned to the first message
    BOOST_REQUIRE(buffers.size() == 1u);
    const auto header = pmt::u8vector_elements(
        pmt::dict_ref(buffers[0].value, pmt::mp("header"), pmt::PMT_NIL));
    BOOST_TEST(header.size() == 16u);
    BOOST_TEST(std::memcmp(header.data(), messages[0].data(), 16) == 0);
    BOOST_TEST(number(buffers[0].value, "immediate") == 1000u);
}

BOOST_AUTO_TEST_CASE(a_stopped_reader_holds_an_rc_sender_back_without_loss)
{
    auto p = make_pair_config("softroce", 65536);
    const auto messages = random_messages(64, 65536);
    auto top = gr::make_top_block("top");
    auto block = source::make(p.source);
    auto sink = gnuradio::make_block_sptr<recorder>(1);
    sink->paused = true;
    top->connect(block, 0, sink, 0);
    top->start();
    sender tx(p.sender);
    tx.send(messages);
    while (block->counters().at("rnr_naks_sent") == 0)
        std::this_thread::yield();
    sink->paused = false;
    BOOST_TEST(sink->wait_bytes(64 * 65536));
    top->stop();
    top->wait();
    BOOST_TEST((sink->bytes == joined(messages)));
    BOOST_TEST(block->counters().at("gaps") == 0u);
}

BOOST_AUTO_TEST_CASE(stop_returns_within_a_second_from_any_state)
{
    enum class when { waiting, streaming, downstream_full };
    for (const auto state : { when::waiting, when::streaming, when::downstream_full }) {
        auto p = make_pair_config("softroce", 4096);
        const auto messages = random_messages(2000, 4096);
        auto top = gr::make_top_block("top");
        auto block = source::make(p.source);
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        sink->paused = state == when::downstream_full;
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        if (state != when::waiting)
            tx.send(messages);
        if (state == when::streaming)
            sink->wait_bytes(4096);
        if (state == when::downstream_full)
            while (block->counters().at("rnr_naks_sent") == 0)
                std::this_thread::yield();
        const auto before = core::monotonic_ns();
        top->stop();
        top->wait();
        BOOST_TEST(core::monotonic_ns() - before < 1000000000);
        BOOST_TEST(block->state() == "idle");
    }
}

BOOST_AUTO_TEST_CASE(counters_never_go_back)
{
    auto p = make_pair_config("softroce", 4096);
    p.source.listen = p.source.source;
    p.sender.connect = p.source.source;
    for (auto* text : { &p.source.source, &p.source.connect })
        text->clear();
    p.source.qpn = p.source.remote_qpn = p.source.psn = p.source.remote_psn = 0;
    p.sender.qpn = p.sender.remote_qpn = p.sender.psn = p.sender.remote_psn = 0;
    auto block = source::make(p.source);
    std::atomic<bool> over{ false };
    std::uint64_t steps_back = 0, last = 0;
    std::thread observer([&] {
        while (!over) {
            const std::uint64_t now = block->counters().at("messages_received");
            steps_back += now < last;
            last = now;
        }
    });
    for (int round = 0; round < 3; ++round) {
        auto top = gr::make_top_block("top");
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        tx.send(random_messages(50, 4096));
        BOOST_TEST(sink->wait_bytes(50 * 4096));
        top->stop(); // says goodbye to the sender, which takes its time
        top->wait();
    }
    over = true;
    observer.join();
    BOOST_TEST(steps_back == 0u);
    BOOST_TEST(block->counters().at("messages_received") == 150u);
}

BOOST_AUTO_TEST_CASE(a_slow_reader_does_not_put_the_source_to_sleep)
{
    // GNU Radio's own pause for a source without output is 250 ms; there would be
    // hundreds.
    auto p = make_pair_config("inproc", 8192);
    const auto messages = random_messages(200, 8192);
    auto top = gr::make_top_block("top");
    auto sink = gnuradio::make_block_sptr<recorder>(1);
    sink->delay = std::chrono::microseconds(100);
    sink->set_max_noutput_items(1000);
    top->connect(source::make(p.source), 0, sink, 0);
    top->start();
    sender tx(p.sender);
    const auto before = core::monotonic_ns();
    tx.send(messages);
    BOOST_TEST(sink->wait_bytes(200 * 8192));
    BOOST_TEST(core::monotonic_ns() - before < 5000000000);
    top->stop();
    top->wait();
}

BOOST_AUTO_TEST_CASE(a_listening_source_ends_its_stream_when_the_sender_disconnects)
{
    for (const char* service : { "rc", "uc" }) {
        auto p = make_pair_config("softroce", 4096);
        p.source.listen = p.source.source + ":4000";
        p.source.connect = p.source.source = "";
        p.sender.connect += ":4000";
        p.source.qpn = p.source.remote_qpn = p.sender.qpn = p.sender.remote_qpn = 0;
        p.source.psn = p.source.remote_psn = p.sender.psn = p.sender.remote_psn = 0;
        p.source.service = service;
        p.sender.service = io::parse_service(service);
        p.source.buffers = 32;
        const auto messages = random_messages(20, 4096);
        auto top = gr::make_top_block("top");
        auto block = source::make(p.source);
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        tx.send(messages);
        top->wait(); // nobody stops it
        BOOST_TEST((sink->bytes == joined(messages)));
        BOOST_TEST(block->state() == "closed");
        BOOST_TEST(block->status_text().find("closed the connection") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(starts_again_and_marks_the_new_session)
{
    auto p = make_pair_config("inproc", 1024);
    const auto messages = random_messages(5, 1024);
    auto block = source::make(p.source);
    for (int round = 0; round < 20; ++round) {
        auto top = gr::make_top_block("top");
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        tx.send(messages);
        BOOST_TEST(sink->wait_bytes(5 * 1024));
        top->stop();
        top->wait();
        BOOST_TEST((sink->bytes == joined(messages)));
        const auto gaps = sink->tags_of("rx_gap");
        BOOST_TEST(gaps.size() == (round == 0 ? 0u : 1u));
        if (!gaps.empty()) {
            BOOST_TEST(gaps[0].offset == 0u);
            BOOST_TEST(pmt::symbol_to_string(pmt::dict_ref(gaps[0].value,
                                                           pmt::mp("reason"),
                                                           pmt::PMT_NIL)) == "reconnect");
        }
    }
    BOOST_TEST(block->counters().at("messages_received") == 100u);
}
