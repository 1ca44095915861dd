/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "messages.h"
#include "qa_temp.h"

#include <boost/test/unit_test.hpp>
#include <cstring>

using namespace gr::rdma;
using namespace gr::rdma::apps;

namespace {

// Lengths of all messages that come without any being released.
std::vector<std::uint64_t> lengths(message_feed& feed, std::string* bytes = nullptr)
{
    std::vector<std::uint64_t> out;
    io::send_request r;
    while (out.size() < 100 && feed.next(r)) {
        out.push_back(r.bytes);
        if (bytes)
            bytes->append(reinterpret_cast<const char*>(r.data), r.bytes);
    }
    return out;
}

using list = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_CASE(a_recording_is_cut_with_a_short_end_in_each_round)
{
    temp_folder t;
    write_text(t.file("r"), "0123456789");
    const recording r = open_recording(t.file("r"), "sc8");
    std::string bytes;
    const auto feed = make_recording_feed(r, 4, 2, feed_limits());
    BOOST_TEST((lengths(*feed, &bytes) == list{ 4, 4, 2, 4, 4, 2 }));
    BOOST_TEST(bytes == "01234567890123456789");
    BOOST_TEST(feed->finished());
}

BOOST_AUTO_TEST_CASE(messages_lie_in_the_mapping_itself)
{
    temp_folder t;
    write_text(t.file("r"), "0123456789");
    const recording r = open_recording(t.file("r"), "sc8");
    const auto feed = make_recording_feed(r, 4, 1, feed_limits());
    io::send_request first, second;
    BOOST_REQUIRE(feed->next(first));
    BOOST_REQUIRE(feed->next(second));
    BOOST_TEST((first.data == r.data.data()));
    BOOST_TEST((second.data == r.data.data() + 4));
}

BOOST_AUTO_TEST_CASE(limits_end_a_feed_in_messages_and_in_bytes)
{
    temp_folder t;
    write_text(t.file("r"), "0123456789");
    const recording r = open_recording(t.file("r"), "sc8");
    feed_limits limits;
    limits.messages = 5;
    BOOST_TEST((lengths(*make_recording_feed(r, 4, 0, limits)) == list{ 4, 4, 2, 4, 4 }));
    limits = feed_limits();
    limits.bytes = 16;
    BOOST_TEST((lengths(*make_recording_feed(r, 4, 0, limits)) == list{ 4, 4, 2, 4, 2 }));
    // Without an end of its own it goes on.
    BOOST_TEST(lengths(*make_recording_feed(r, 4, 0, feed_limits())).size() == 100u);
}

BOOST_AUTO_TEST_CASE(a_scene_goes_on_from_message_to_message)
{
    const auto make = [](std::uint64_t message_bytes, std::uint64_t messages) {
        feed_limits limits;
        limits.messages = messages;
        std::string bytes;
        const auto feed = make_scene_feed(std::make_unique<scene>("default", 1e6, 5),
                                          core::sample_type::sc16,
                                          message_bytes,
                                          messages,
                                          limits);
        lengths(*feed, &bytes);
        return bytes;
    };
    // 40000 bytes are more samples than one piece of the generator.
    const std::string whole = make(40000, 1);
    BOOST_TEST(whole.size() == 40000u);
    BOOST_TEST((make(4000, 10) == whole));
}

BOOST_AUTO_TEST_CASE(a_scene_waits_until_memory_comes_back)
{
    feed_limits limits;
    limits.messages = 5;
    const auto feed = make_scene_feed(
        std::make_unique<scene>("tone", 1e6, 5), core::sample_type::cu8, 100, 2, limits);
    io::send_request a, b, c;
    BOOST_REQUIRE(feed->next(a));
    BOOST_REQUIRE(feed->next(b));
    BOOST_TEST(a.cookie != b.cookie);
    BOOST_TEST(!feed->next(c));
    BOOST_TEST(!feed->finished());
    feed->release(a.cookie);
    BOOST_REQUIRE(feed->next(c));
    BOOST_TEST(c.cookie == a.cookie);
    BOOST_TEST((c.data == a.data));
}

BOOST_AUTO_TEST_CASE(a_scene_limited_in_bytes_ends_with_a_short_message)
{
    feed_limits limits;
    limits.bytes = 250;
    const auto feed = make_scene_feed(
        std::make_unique<scene>("tone", 1e6, 5), core::sample_type::cu8, 100, 9, limits);
    BOOST_TEST((lengths(*feed) == list{ 100, 100, 50 }));
    BOOST_TEST(feed->finished());
}

BOOST_AUTO_TEST_CASE(a_scene_leaves_a_long_message_when_it_is_told_to)
{
    feed_limits limits;
    unsigned asked = 0;
    const auto feed = make_scene_feed(std::make_unique<scene>("tone", 1e6, 5),
                                      core::sample_type::cu8,
                                      64 << 20,
                                      1,
                                      limits,
                                      [&asked] { return ++asked == 3; });
    io::send_request request;
    BOOST_TEST(!feed->next(request));
    BOOST_TEST(asked == 3u); // not the whole of it was made
}
