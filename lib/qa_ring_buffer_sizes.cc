/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Long packets, awkward items, sizes that somebody asked for, and what becomes of tags.
#include "qa_ring_buffer_blocks.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/blocks/stream_to_tagged_stream.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/tagged_stream_block.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma::testing;

namespace {

source_options source_of(std::uint64_t total)
{
    source_options o;
    o.total = total;
    o.tag_every = 1000;
    return o;
}

} // namespace

namespace {

class packet_copy : public gr::tagged_stream_block
{
public:
    packet_copy(type_ref in, type_ref out)
        : gr::tagged_stream_block("packet_copy",
                                  gr::io_signature::make(1, 1, 4, in),
                                  gr::io_signature::make(1, 1, 4, out),
                                  "packet_len")
    {
        // GNU Radio's own buffer stops for good on a packet longer than half of it.
        set_min_output_buffer(20000);
    }
    int work(int,
             gr_vector_int& ninput,
             gr_vector_const_void_star& in,
             gr_vector_void_star& out) override
    {
        std::memcpy(out[0], in[0], static_cast<std::size_t>(ninput[0]) * 4);
        return ninput[0];
    }
};

recording through_packets(type_ref writer, type_ref packets, type_ref reader)
{
    source_options source = source_of(200000);
    source.tag_every = 0;
    const auto from = make_source(source, writer);
    const auto tagger =
        gr::blocks::stream_to_tagged_stream::make(4, 1, 10000, "packet_len");
    const auto copy = gnuradio::make_block_sptr<packet_copy>(packets, packets);
    const auto to = make_recorder(recorder_options(), reader);
    auto top = gr::make_top_block("packets");
    top->connect(from, 0, tagger, 0);
    top->connect(tagger, 0, copy, 0);
    top->connect(copy, 0, to, 0);
    top->run();
    return to->result();
}

} // namespace

// gnuradio#3541: tagged-stream blocks waited for room that never came.
BOOST_AUTO_TEST_CASE(tagged_streams_of_long_packets_pass)
{
    const auto expected = through_packets(stock(), stock(), stock());
    BOOST_TEST(expected.newest.size() == 4u * 200000);
    BOOST_TEST(expected.tags.size() == 20u);
    BOOST_TEST((through_packets(ring(), stock(), stock()) == expected));
    BOOST_TEST((through_packets(ring(), ring(), stock()) == expected));
    BOOST_TEST((through_packets(ring(), ring(), ring()) == expected));
    BOOST_TEST((through_packets(stock(), ring(), ring()) == expected));
}

BOOST_AUTO_TEST_CASE(awkward_item_sizes_run_or_are_refused_with_the_numbers)
{
    for (const std::size_t bytes : { 1, 3, 4095, 3000000 }) {
        source_options source = source_of(bytes == 1 ? 400000 : 5);
        source.item_bytes = bytes;
        recorder_options reader;
        reader.item_bytes = bytes;
        const auto from = make_source(source, ring());
        const auto to = make_recorder(reader, ring());
        auto top = gr::make_top_block("sizes");
        top->connect(from, 0, to, 0);
        top->run();
        BOOST_TEST(to->result().newest.size() == bytes * source.total);
    }
    source_options source = source_of(5);
    source.item_bytes = 1000003;
    recorder_options reader;
    reader.item_bytes = 1000003;
    auto top = gr::make_top_block("prime");
    top->connect(make_source(source, ring()), 0, make_recorder(reader, ring()), 0);
    BOOST_CHECK_EXCEPTION(top->start(), gr::rdma::config_error, [](const auto& e) {
        const std::string what = e.what();
        return what.find("1000003") != what.npos && what.find("nearest") != what.npos;
    });
}

BOOST_AUTO_TEST_CASE(tags_that_everybody_passed_go)
{
    for (const type_ref type : { stock(), ring() }) {
        source_options source = source_of(1000000);
        source.tag_every = 100;
        const auto from = make_source(source, type);
        const auto to = make_recorder(recorder_options(), type);
        auto top = gr::make_top_block("tags");
        top->connect(from, 0, to, 0);
        top->run();
        const auto buffer = from->detail()->output(0);
        const auto kept = std::distance(buffer->get_tags_begin(), buffer->get_tags_end());
        BOOST_TEST(kept <= 3 * static_cast<long>(buffer->bufsize()) / 100);
        BOOST_TEST(to->result().tags.size() == 10000u);
    }
}

BOOST_AUTO_TEST_CASE(sizes_asked_for_are_kept)
{
    // Items of the source's buffer where max_output_buffer and min_output_buffer are
    // this.
    const auto bufsize = [](long most, long least, unsigned history) {
        source_options source = source_of(10);
        source.min_buffer = least;
        recorder_options reader;
        reader.history = history;
        const auto from = make_source(source, ring());
        if (most != 0)
            from->set_max_output_buffer(most);
        auto top = gr::make_top_block("asked");
        top->connect(from, 0, make_recorder(reader, stock()), 0);
        top->run();
        const auto buffer =
            std::dynamic_pointer_cast<gr::rdma::ring_buffer>(from->detail()->output(0));
        BOOST_REQUIRE(buffer);
        BOOST_TEST((buffer->get_buffer_type() == gr::rdma::ring_buffer::type));
        BOOST_TEST(from->max_noutput_items() == static_cast<int>(buffer->bufsize()));
        return from->detail()->output(0)->bufsize();
    };
    BOOST_TEST(bufsize(0, 0, 1) == 65536u);
    BOOST_TEST(bufsize(2048, 0, 1) == 2048u);
    BOOST_TEST(bufsize(0, 200000, 1) == 200704u); // to the next page
    BOOST_TEST(bufsize(0, 0, 100000) >= 200000u);
    BOOST_TEST(bufsize(1024, 0, 4096) >= 8192u);
}
