/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Flowgraphs on rings against the same flowgraphs on GNU Radio's own buffers.
#include "qa_ring_buffer_blocks.h"

#include <gnuradio/rdma/ring_buffer.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <pthread.h>
#include <sstream>

using namespace gr::rdma::testing;

namespace {

// Which side of an edge declares the ring.
struct sides {
    bool writer;
    std::vector<bool> readers;
};

std::ostream& operator<<(std::ostream& os, const sides& s)
{
    os << (s.writer ? "ring" : "host") << " writer to";
    for (const bool reader : s.readers)
        os << (reader ? " ring" : " host");
    return os;
}

type_ref type_of(bool is_ring) { return is_ring ? ring() : stock(); }

// One source, a reader per entry on its only port.
std::vector<recording>
fan_out(source_options source, std::vector<recorder_options> readers, const sides& where)
{
    source.type = type_of(where.writer);
    auto top = gr::make_top_block("fan_out");
    auto from = gnuradio::make_block_sptr<counting_source>(source);
    std::vector<std::shared_ptr<recorder>> to;
    for (std::size_t i = 0; i < readers.size(); ++i) {
        readers[i].item_bytes = source.item_bytes;
        readers[i].type = type_of(where.readers[i]);
        to.push_back(gnuradio::make_block_sptr<recorder>(readers[i]));
        top->connect(from, 0, to.back(), 0);
    }
    top->run();
    std::vector<recording> results;
    for (const auto& reader : to)
        results.push_back(reader->result());
    return results;
}

std::vector<std::uint8_t> items(std::size_t item_bytes, std::uint64_t total, int port = 0)
{
    std::vector<std::uint8_t> bytes(item_bytes * total);
    for (std::uint64_t n = 0; n < total; ++n)
        fill_item(bytes.data() + n * item_bytes, item_bytes, n, port);
    return bytes;
}

// Runs on GNU Radio's buffers and then on rings in every place given; all must agree.
void same_as_stock(const source_options& source,
                   const std::vector<recorder_options>& readers,
                   const std::vector<sides>& places)
{
    const std::vector<bool> none(readers.size(), false);
    const auto expected = fan_out(source, readers, { false, none });
    for (std::size_t i = 0; i < readers.size(); ++i)
        if (readers[i].multiple == 1) {
            // The yardstick itself is what was sent, after zeros for the history.
            const auto sent = items(source.item_bytes, source.total);
            BOOST_REQUIRE(expected[i].newest == sent);
            const std::size_t before = (readers[i].history - 1) * source.item_bytes;
            std::vector<std::uint8_t> delayed(before);
            delayed.insert(delayed.end(), sent.begin(), sent.end());
            delayed.resize(sent.size());
            BOOST_REQUIRE(expected[i].oldest == delayed);
        }
    for (const sides& place : places) {
        BOOST_TEST_CONTEXT(place << ", items of " << source.item_bytes << " bytes, chunk "
                                 << source.chunk)
        {
            const auto actual = fan_out(source, readers, place);
            for (std::size_t i = 0; i < readers.size(); ++i) {
                BOOST_TEST_CONTEXT("reader " << i << ", history " << readers[i].history
                                             << ", chunk " << readers[i].chunk)
                {
                    BOOST_TEST(actual[i].newest.size() == expected[i].newest.size());
                    BOOST_TEST((actual[i].newest == expected[i].newest));
                    BOOST_TEST((actual[i].oldest == expected[i].oldest));
                    BOOST_TEST((actual[i].tags == expected[i].tags));
                }
            }
        }
    }
}

const std::vector<sides> one_reader = { { true, { true } },
                                        { true, { false } },
                                        { false, { true } } };
const std::vector<sides> two_readers = {
    { true, { true, true } },   { true, { true, false } }, { true, { false, true } },
    { true, { false, false } }, { false, { true, true } }, { false, { true, false } },
    { false, { false, true } }
};
const std::vector<sides> three_readers = {
    { true, { true, true, true } },   { true, { false, true, false } },
    { true, { true, false, true } },  { false, { true, true, true } },
    { false, { false, true, true } }, { false, { true, false, false } }
};

source_options source_of(std::size_t item_bytes, std::uint64_t total)
{
    source_options o;
    o.item_bytes = item_bytes;
    o.total = total;
    o.tag_every = total / 20 + 1;
    return o;
}

// Several times round the ring of 256 KiB, and not a whole number of times.
std::uint64_t several_rounds(std::size_t item_bytes) { return 700001 / item_bytes + 13; }

recorder_options reader_of(int chunk, unsigned history = 1)
{
    recorder_options o;
    o.chunk = chunk;
    o.history = history;
    return o;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_item_size_wraps_the_same)
{
    for (const std::size_t bytes : { 1, 2, 4, 8, 5 * 4, 1024 * 8 })
        same_as_stock(
            source_of(bytes, several_rounds(bytes)), { reader_of(0) }, one_reader);
}

BOOST_AUTO_TEST_CASE(odd_calls_give_the_same)
{
    for (const int chunk : { 1, 7, 1000 }) {
        auto source = source_of(8, chunk == 1 ? 40000 : 100003);
        same_as_stock(source, { reader_of(chunk) }, one_reader);
        source.chunk = chunk;
        same_as_stock(source, { reader_of(0) }, one_reader);
    }
}

BOOST_AUTO_TEST_CASE(two_readers_at_their_own_speed)
{
    same_as_stock(source_of(8, 90001), { reader_of(0), reader_of(7) }, two_readers);
    same_as_stock(source_of(1024 * 8, 200), { reader_of(1), reader_of(0) }, two_readers);
}

BOOST_AUTO_TEST_CASE(three_readers_at_their_own_speed)
{
    same_as_stock(source_of(4, 150001),
                  { reader_of(13), reader_of(0), reader_of(1000) },
                  three_readers);
}

BOOST_AUTO_TEST_CASE(history_sees_zeros_and_then_the_past)
{
    for (const unsigned history : { 2, 100, 4096 })
        for (const std::size_t bytes : { 1, 4, 5 * 4 })
            same_as_stock(source_of(bytes, several_rounds(bytes)),
                          { reader_of(0, history) },
                          one_reader);
}

BOOST_AUTO_TEST_CASE(readers_with_and_without_history_share)
{
    same_as_stock(source_of(4, 300001),
                  { reader_of(0, 4096), reader_of(100, 1), reader_of(0, 100) },
                  three_readers);
}

// gnuradio#6350: a plotting sink froze behind a custom buffer.
BOOST_AUTO_TEST_CASE(sink_with_history_and_output_multiple_never_freezes)
{
    auto reader = reader_of(0, 2);
    reader.multiple = 4;
    same_as_stock(source_of(4, 2000003), { reader }, one_reader);
    reader.multiple = 1000;
    same_as_stock(source_of(1, 2000003), { reader, reader_of(0) }, two_readers);
}

BOOST_AUTO_TEST_CASE(every_item_tagged)
{
    auto source = source_of(4, 20011);
    source.tag_every = 1;
    same_as_stock(source, { reader_of(7), reader_of(0, 100) }, two_readers);
}

BOOST_AUTO_TEST_CASE(tags_through_a_decimator_stand_where_they_stand_in_stock)
{
    for (const bool by_floor : { false, true }) {
        std::vector<recording> results;
        for (const int ring_at : { -1, 0, 1, 2, 3 }) {
            // The ring on no edge; behind the source; on the decimator; both; all.
            source_options source = source_of(4, 30011);
            source.tag_every = 1;
            source.type = type_of(ring_at == 0 || ring_at >= 2);
            recorder_options reader = reader_of(0);
            reader.type = type_of(ring_at == 3);
            auto top = gr::make_top_block("decimator");
            auto from = gnuradio::make_block_sptr<counting_source>(source);
            auto middle = gnuradio::make_block_sptr<first_of>(
                4, 6, by_floor, type_of(ring_at >= 1), type_of(ring_at >= 1));
            auto to = gnuradio::make_block_sptr<recorder>(reader);
            top->connect(from, 0, middle, 0);
            top->connect(middle, 0, to, 0);
            top->run();
            results.push_back(to->result());
            BOOST_TEST((results.back() == results.front()));
        }
        BOOST_TEST(results.front().newest.size() == 30011u / 6 * 4);
        if (by_floor)
            for (const auto& [offset, value] : results.front().tags)
                BOOST_REQUIRE(offset == value / 6);
    }
}

// gnuradio#8001: several outputs wrote past the end.
BOOST_AUTO_TEST_CASE(several_outputs_at_different_drains)
{
    for (const int ports : { 2, 3, 4 })
        for (const bool ring_reader : { false, true })
            for (const bool ring_writer : { false, true }) {
                source_options source = source_of(4, 150001);
                source.ports = ports;
                source.type = type_of(ring_writer);
                auto top = gr::make_top_block("ports");
                auto from = gnuradio::make_block_sptr<counting_source>(source);
                std::vector<std::shared_ptr<recorder>> to;
                for (int port = 0; port < ports; ++port) {
                    recorder_options reader = reader_of(port == 1 ? 11 : 0);
                    reader.type = type_of(ring_reader && port != 2);
                    to.push_back(gnuradio::make_block_sptr<recorder>(reader));
                    top->connect(from, port, to.back(), 0);
                }
                top->run();
                for (int port = 0; port < ports; ++port) {
                    BOOST_TEST((to[port]->result().newest == items(4, 150001, port)));
                    BOOST_TEST(to[port]->result().tags.size() ==
                               150001 / source.tag_every + 1);
                }
            }
}

#ifdef __GLIBC__
// Where writer and reader meet, a sleep takes a hundred times as long as the lock is
// held.
BOOST_AUTO_TEST_CASE(its_mutex_spins_before_it_sleeps)
{
    const auto buffer = gr::rdma::ring_buffer::make_buffer(1000, 4, 1, 1);
    BOOST_TEST(buffer->mutex()->native_handle()->__data.__kind ==
               PTHREAD_MUTEX_ADAPTIVE_NP);
    gr::thread::scoped_lock lock(*buffer->mutex());
    BOOST_TEST(!buffer->mutex()->try_lock());
}
#endif
