/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_SPECTROMETER_H
#define INCLUDED_RDMA_QA_SPECTROMETER_H

#include <gnuradio/rdma/spectrometer.h>

#include <algorithm>
#include <cstring>
#include <gnuradio/block_detail.h>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/top_block.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

// The spectrometer in a flowgraph: bytes and tags in, spectra and tags out.

using gr::rdma::spectrometer;
using gr::rdma::spectrometer_config;
using bytes = std::vector<std::uint8_t>;
using tags = std::vector<gr::tag_t>;

constexpr std::size_t length = 32;

inline spectrometer_config make_config()
{
    spectrometer_config c;
    c.sample = "sc8"; // two bytes a sample
    c.length = length;
    return c;
}

inline bytes noise(std::size_t samples, unsigned seed = 1)
{
    std::mt19937 random(seed);
    bytes out(2 * samples);
    for (auto& b : out)
        b = static_cast<std::uint8_t>(random());
    return out;
}

inline bytes operator+(bytes a, const bytes& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline gr::tag_t make_tag(std::uint64_t offset, const char* key, pmt::pmt_t value)
{
    gr::tag_t t;
    t.offset = offset;
    t.key = pmt::mp(key);
    t.value = value;
    return t;
}

inline gr::tag_t time_tag(std::uint64_t offset, std::uint64_t seconds, double fraction)
{
    return make_tag(
        offset,
        "rx_time",
        pmt::make_tuple(pmt::from_uint64(seconds), pmt::from_double(fraction)));
}

inline gr::tag_t gap_tag(std::uint64_t offset, const char* reason = "loss")
{
    return make_tag(offset,
                    "rx_gap",
                    pmt::dict_add(pmt::make_dict(), pmt::mp("reason"), pmt::mp(reason)));
}

// Hands over so many items at a time, the next when the reader is done with them.
class piece_source : public gr::block
{
public:
    piece_source(const bytes& in,
                 const tags& in_tags,
                 std::size_t item,
                 std::size_t piece)
        : gr::block("piece_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(1, 1, static_cast<int>(item))),
          d_in(in),
          d_tags(in_tags),
          d_item(item),
          d_piece(piece)
    {
    }
    int general_work(int noutput_items,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star& output_items) override
    {
        const std::uint64_t begin = nitems_written(0);
        while (items_read() < begin)
            std::this_thread::yield();
        const std::size_t n = std::min({ d_piece,
                                         d_in.size() / d_item - begin,
                                         static_cast<std::size_t>(noutput_items) });
        if (n == 0)
            return WORK_DONE;
        std::memcpy(output_items[0], d_in.data() + begin * d_item, n * d_item);
        for (const auto& t : d_tags)
            if (t.offset >= begin && t.offset < begin + n)
                add_item_tag(0, t);
        return static_cast<int>(n);
    }

private:
    std::uint64_t items_read()
    {
        const auto buffer = detail()->output(0);
        gr::thread::scoped_lock lock(*buffer->mutex());
        return buffer->reader(0)->nitems_read();
    }

    const bytes d_in;
    const tags d_tags;
    const std::size_t d_item;
    const std::size_t d_piece;
};

struct result {
    std::vector<float> spectra;
    tags out_tags;
    std::uint64_t produced, samples_dropped, frames_dropped;

    // The tags of a key, as offsets.
    std::vector<std::uint64_t> at(const char* key) const
    {
        std::vector<std::uint64_t> offsets;
        for (const auto& t : out_tags)
            if (t.key == pmt::mp(key))
                offsets.push_back(t.offset);
        std::sort(offsets.begin(), offsets.end());
        return offsets;
    }
    pmt::pmt_t value(const char* key, std::uint64_t offset) const
    {
        for (const auto& t : out_tags)
            if (t.key == pmt::mp(key) && t.offset == offset)
                return t.value;
        return pmt::PMT_NIL;
    }
    double time(std::uint64_t offset) const
    {
        const auto v = value("rx_time", offset);
        return pmt::is_tuple(v)
                   ? static_cast<double>(pmt::to_uint64(pmt::tuple_ref(v, 0))) +
                         pmt::to_double(pmt::tuple_ref(v, 1))
                   : -1;
    }
};

inline std::size_t sample_bytes(const std::string& sample)
{
    return sample == "byte" ? 1 : sample == "sc16" ? 4 : sample == "fc32" ? 8 : 2;
}

// piece: items of input at a time, 0 for as they come; room: vectors per work() at most.
inline result run(const spectrometer_config& c,
                  const bytes& in,
                  const tags& in_tags = {},
                  std::size_t piece = 0,
                  int room = 0)
{
    auto top = gr::make_top_block("qa");
    const std::size_t item = sample_bytes(c.sample) * c.vlen;
    gr::block_sptr source;
    if (piece)
        source = gnuradio::make_block_sptr<piece_source>(in, in_tags, item, piece);
    else
        source = gr::blocks::vector_source<std::uint8_t>::make(
            in, false, static_cast<unsigned>(item), in_tags);
    auto block = spectrometer::make(c);
    auto sink = gr::blocks::vector_sink<float>::make(static_cast<unsigned>(c.length));
    if (room)
        block->set_max_noutput_items(room);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    top->run();
    return { sink->data(),
             sink->tags(),
             block->spectra(),
             block->samples_dropped(),
             block->frames_dropped() };
}

using offsets = std::vector<std::uint64_t>;

// Of keys once per item, in any order.
inline bool same_tags(tags a, tags b)
{
    const auto sort = [](tags& t) {
        std::sort(t.begin(), t.end(), [](const gr::tag_t& x, const gr::tag_t& y) {
            return x.offset != y.offset
                       ? x.offset < y.offset
                       : pmt::symbol_to_string(x.key) < pmt::symbol_to_string(y.key);
        });
    };
    sort(a);
    sort(b);
    return a.size() == b.size() &&
           std::equal(
               a.begin(), a.end(), b.begin(), [](const gr::tag_t& x, const gr::tag_t& y) {
                   return x.offset == y.offset && pmt::eqv(x.key, y.key) &&
                          pmt::equal(x.value, y.value);
               });
}

// All that the block looks at, in no sensible order.
inline tags random_tags(std::mt19937& random, std::size_t items)
{
    tags out;
    for (std::uint64_t at = random() % 50; at < items; at += 1 + random() % 400)
        switch (random() % 5) {
        case 0:
            out.push_back(gap_tag(at));
            break;
        case 1:
            out.push_back(time_tag(at, 100 + at, 0.25));
            break;
        case 2:
            out.push_back(make_tag(at, "rx_rate", pmt::from_double(1000 + random() % 3)));
            break;
        case 3:
            out.push_back(make_tag(at, "rx_freq", pmt::from_double(1e6 + random() % 3)));
            break;
        default:
            out.push_back(make_tag(at, "packet_len", pmt::from_uint64(random() % 60)));
            out.push_back(make_tag(at + 80, "rx_buffer", pmt::PMT_NIL));
        }
    return out;
}

#endif /* INCLUDED_RDMA_QA_SPECTROMETER_H */
