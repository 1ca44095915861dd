/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "console.h"
#include "message_head.h"
#include "message_sink.h"
#include "qa_temp.h"
#include "spectrum_sink.h"
#include "usage_error.h"

#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

using namespace gr::rdma;
using namespace gr::rdma::apps;

namespace {

gr::tag_t tag(std::uint64_t offset, const char* key, pmt::pmt_t value)
{
    gr::tag_t t;
    t.offset = offset;
    t.key = pmt::mp(key);
    t.value = value;
    return t;
}

pmt::pmt_t time_value(std::uint64_t whole, double fraction)
{
    return pmt::make_tuple(pmt::from_uint64(whole), pmt::from_double(fraction));
}

pmt::pmt_t gap_value()
{
    pmt::pmt_t dict = pmt::make_dict();
    dict = pmt::dict_add(dict, pmt::mp("messages"), pmt::from_uint64(3));
    return pmt::dict_add(dict, pmt::mp("reason"), pmt::mp("packet_loss"));
}

std::vector<std::uint8_t> counting(std::size_t n)
{
    std::vector<std::uint8_t> out(n);
    std::iota(out.begin(), out.end(), std::uint8_t('a'));
    return out;
}

// Looks whether every item has come with its tag.
class tag_counter : public gr::sync_block
{
public:
    tag_counter()
        : gr::sync_block("tag_counter",
                         gr::io_signature::make(1, 1, 1),
                         gr::io_signature::make(0, 0, 0))
    {
    }
    int work(int n, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        std::vector<gr::tag_t> tags;
        get_tags_in_window(tags, 0, 0, static_cast<std::uint64_t>(n));
        items += n;
        missing += n - static_cast<int>(tags.size());
        return n;
    }
    int items = 0;
    int missing = 0;
};

// Bytes through a message_sink with slots of four; in calls of at most `chunk` items.
struct sunk {
    std::string data;
    sigmf_metadata metadata;
    std::uint64_t messages, gaps;
};
sunk sink_bytes(std::size_t n,
                const std::vector<gr::tag_t>& tags,
                int chunk,
                std::uint64_t count = 0)
{
    temp_folder t;
    sigmf_metadata metadata;
    metadata.sample = core::sample_type::byte;
    recording_writer writer(t.file("w.sigmf-data"), metadata);
    const auto from = gr::blocks::vector_source_b::make(counting(n), false, 1, tags);
    const auto sink =
        gnuradio::make_block_sptr<message_sink>(writer, 1, 4, count, nullptr);
    sink->set_max_noutput_items(chunk);
    const auto graph = gr::make_top_block("qa");
    graph->connect(from, 0, sink, 0);
    graph->run();
    sink->rethrow();
    BOOST_TEST(sink->finished());
    writer.close();
    return { read_text(t.file("w.sigmf-data")),
             parse_sigmf(read_text(t.file("w.sigmf-meta")), "w"),
             sink->messages(),
             sink->gaps() };
}

} // namespace

BOOST_AUTO_TEST_CASE(padding_behind_short_messages_is_left_out)
{
    // Slots: abcd, ef.., ijkl (which says its length, as it stands behind a short one),
    // mnop, q...; then uvwx without any tag.
    const std::vector<gr::tag_t> tags = { tag(4, "packet_len", pmt::from_long(2)),
                                          tag(8, "packet_len", pmt::from_long(4)),
                                          tag(16, "packet_len", pmt::from_long(1)) };
    for (int chunk : { 1, 3, 4, 5, 64 }) {
        const sunk s = sink_bytes(24, tags, chunk);
        BOOST_TEST(s.data == "abcdefijklmnopquvwx");
        BOOST_TEST(s.messages == 6u);
    }
}

BOOST_AUTO_TEST_CASE(an_empty_message_leaves_nothing)
{
    const std::vector<gr::tag_t> tags = { tag(0, "packet_len", pmt::from_long(0)),
                                          tag(4, "packet_len", pmt::from_long(0)),
                                          tag(8, "packet_len", pmt::from_long(4)) };
    BOOST_TEST(sink_bytes(12, tags, 64).data == "ijkl");
}

BOOST_AUTO_TEST_CASE(count_ends_with_the_last_message)
{
    for (int chunk : { 1, 3, 64 }) {
        const sunk s = sink_bytes(24, {}, chunk, 3);
        BOOST_TEST(s.data == "abcdefghijkl");
        BOOST_TEST(s.messages == 3u);
    }
}

BOOST_AUTO_TEST_CASE(a_gap_starts_a_capture_with_its_time_and_is_annotated)
{
    const std::vector<gr::tag_t> tags = { tag(0, "rx_time", time_value(100, 0.5)),
                                          tag(0, "rx_freq", pmt::from_double(1e9)),
                                          tag(4, "packet_len", pmt::from_long(2)),
                                          tag(8, "rx_gap", gap_value()),
                                          tag(8, "rx_time", time_value(200, 0.25)),
                                          tag(8, "packet_len", pmt::from_long(4)) };
    for (int chunk : { 1, 5, 64 }) {
        const sunk s = sink_bytes(12, tags, chunk);
        BOOST_TEST(s.gaps == 1u);
        BOOST_REQUIRE(s.metadata.captures.size() == 2u);
        BOOST_TEST(s.metadata.captures[0].sample_start == 0u);
        BOOST_TEST(s.metadata.captures[0].freq == 1e9);
        BOOST_TEST(s.metadata.captures[0].datetime == iso_8601(100, 0.5));
        // Six samples stand in front of it: padding is not counted.
        BOOST_TEST(s.metadata.captures[1].sample_start == 6u);
        BOOST_TEST(s.metadata.captures[1].freq == 1e9);
        BOOST_TEST(s.metadata.captures[1].datetime == iso_8601(200, 0.25));
        BOOST_REQUIRE(s.metadata.annotations.size() == 1u);
        BOOST_TEST(s.metadata.annotations[0].sample_start == 6u);
        BOOST_TEST(s.metadata.annotations[0].comment == "messages 3, reason packet_loss");
    }
}

BOOST_AUTO_TEST_CASE(a_full_disk_ends_the_stream_and_is_thrown_again)
{
    recording_writer writer("/dev/full", sigmf_metadata());
    const auto from =
        gr::blocks::vector_source_b::make(std::vector<std::uint8_t>(1 << 20), true);
    int told = 0;
    const auto sink =
        gnuradio::make_block_sptr<message_sink>(writer, 1, 4, 0, [&] { ++told; });
    const auto graph = gr::make_top_block("qa");
    graph->connect(from, 0, sink, 0);
    graph->run();
    BOOST_TEST(told == 1);
    BOOST_CHECK_THROW(sink->rethrow(), run_error);
}

BOOST_AUTO_TEST_CASE(the_head_takes_its_items_and_their_tags)
{
    // The source goes on without end.
    temp_folder t;
    recording_writer writer(t.file("w"), sigmf_metadata());
    const auto from = gr::blocks::vector_source_b::make(
        counting(8), true, 1, { tag(4, "packet_len", pmt::from_long(1)) });
    const auto head = gnuradio::make_block_sptr<message_head>(1, 8);
    const auto sink = gnuradio::make_block_sptr<message_sink>(writer, 1, 4, 0, nullptr);
    const auto graph = gr::make_top_block("qa");
    graph->connect(from, 0, head, 0);
    graph->connect(head, 0, sink, 0);
    graph->run();
    writer.close();
    BOOST_TEST(read_text(t.file("w")) == "abcde");
}

BOOST_AUTO_TEST_CASE(tags_are_there_when_the_items_are)
{
    constexpr int many = 100000;
    std::vector<gr::tag_t> tags;
    for (std::uint64_t i = 0; i < 64; ++i)
        tags.push_back(tag(i, "n", pmt::PMT_T));
    const auto from = gr::blocks::vector_source_b::make(counting(64), true, 1, tags);
    const auto head = gnuradio::make_block_sptr<message_head>(1, many);
    const auto to = gnuradio::make_block_sptr<tag_counter>();
    const auto graph = gr::make_top_block("qa");
    graph->connect(from, 0, head, 0);
    graph->connect(head, 0, to, 0);
    graph->run();
    BOOST_TEST(to->items == many);
    BOOST_TEST(to->missing == 0);
}

BOOST_AUTO_TEST_CASE(spectra_have_the_time_of_their_tags_and_show_gaps)
{
    temp_folder t;
    waterfall fall(16, 0.5, hold_mode::mean);
    spectrum_csv csv(t.file("s.csv"), { "a comment" }, std::vector<double>(16, 1.5e9));
    std::vector<float> power(16 * 6);
    for (std::size_t i = 0; i < power.size(); ++i)
        power[i] = std::pow(10.0f, -float(i / 16));
    const std::vector<gr::tag_t> tags = {
        tag(0, "rx_time", time_value(1700000000, 0.75)),
        tag(2, "rx_time", time_value(1700000001, 0.75)),
        tag(4, "rx_gap", gap_value()),
        tag(4, "rx_time", time_value(1700000003, 0.25)),
    };
    const auto from = gr::blocks::vector_source_f::make(power, false, 16, tags);
    const auto sink =
        gnuradio::make_block_sptr<spectrum_sink>(16, 0.5, &csv, &fall, nullptr);
    const auto graph = gr::make_top_block("qa");
    graph->connect(from, 0, sink, 0);
    graph->run();
    csv.close();
    BOOST_TEST(sink->spectra() == 6u);
    BOOST_TEST(sink->gaps() == 1u);
    BOOST_REQUIRE(fall.gaps().size() == 1u);
    BOOST_TEST(fall.gaps()[0] == 2.5);
    BOOST_TEST(fall.lines() == 7u); // the line at 2.0 s is empty
    BOOST_TEST((fall.line(4) == nullptr));
    const std::string text = read_text(t.file("s.csv"));
    BOOST_TEST(text.find("# a comment\ntime_s,1500000000,") == 0u);
    for (const char* part :
         { "\n0.000000000,0.00,",
           "\n1.500000000,-30.00,",
           "\n# gap at 2.500000000 s: messages 3, reason packet_loss\n",
           "\n2.500000000,-40.00,",
           "\n3.000000000,-50.00," })
        BOOST_TEST_CONTEXT(part) BOOST_TEST((text.find(part) != text.npos));
}

BOOST_AUTO_TEST_CASE(no_power_is_a_floor_and_no_infinity)
{
    BOOST_TEST(power_db(0) == -200);
    BOOST_TEST(power_db(1) == 0);
}

BOOST_AUTO_TEST_CASE(a_parameter_in_front_of_an_error_reads_as_its_flag)
{
    BOOST_TEST(as_flag("message_bytes=7 is odd") == "--message-bytes=7 is odd");
    BOOST_TEST(as_flag("remote_qpn is missing: x") == "--remote-qpn is missing: x");
    BOOST_TEST(as_flag("bind: x=3") == "bind: x=3");
    BOOST_TEST(as_flag("") == "");
    BOOST_TEST(human_rate(2.8543e9) == "2.85GB/s");
    BOOST_TEST(human_rate(12) == "12B/s");
}
