/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_RING_BUFFER_BLOCKS_H
#define INCLUDED_RDMA_QA_RING_BUFFER_BLOCKS_H

#include <gnuradio/block.h>
#include <gnuradio/buffer_double_mapped.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/ring_buffer.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/sync_decimator.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/*!
 * Blocks that know what should come, for the tests of the ring as GNU Radio's buffer.
 * Each takes the buffer types of its ports, so that one flowgraph runs on GNU Radio's
 * buffers and on rings.
 */
namespace gr {
namespace rdma {
namespace testing {

using type_ref = std::reference_wrapper<const buffer_type_base>;
inline type_ref stock() { return std::cref(buffer_double_mapped::type); }
inline type_ref ring() { return std::cref(ring_buffer::type); }

//! Item \p n of output \p port: its bytes depend on nothing else.
inline void fill_item(std::uint8_t* item, std::size_t bytes, std::uint64_t n, int port)
{
    std::uint64_t x = (n + 1) * 0x9e3779b97f4a7c15ULL + static_cast<unsigned>(port);
    for (std::size_t i = 0; i < bytes; ++i) {
        if (i % 8 == 0) {
            x ^= x >> 29;
            x *= 0xbf58476d1ce4e5b9ULL;
            x ^= x >> 32;
        }
        item[i] = static_cast<std::uint8_t>(x >> (8 * (i % 8)));
    }
}

//! Somebody waited longer than any sane run takes.
struct stuck : std::runtime_error {
    using std::runtime_error::runtime_error;
};

//! A count that one thread raises and others wait for.
class milestone
{
public:
    void reach(std::uint64_t n)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_n = n;
        d_changed.notify_all();
    }
    std::uint64_t now() const
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        return d_n;
    }
    //! \return whether n was reached within the time
    bool wait_for(std::uint64_t n, std::chrono::milliseconds time) const
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        return d_changed.wait_for(lock, time, [&] { return d_n >= n; });
    }
    void wait(std::uint64_t n) const
    {
        if (!wait_for(n, std::chrono::seconds(20)))
            throw stuck("waited for " + std::to_string(n) + ", got to " +
                        std::to_string(now()));
    }

private:
    mutable std::mutex d_mutex;
    mutable std::condition_variable d_changed;
    std::uint64_t d_n = 0;
};

struct source_options {
    std::size_t item_bytes = 4;
    std::uint64_t total = 0; //!< items to produce, then done
    type_ref type = stock();
    int ports = 1;
    int chunk = 0;               //!< max_noutput_items; 0: GNU Radio's choice
    std::uint64_t tag_every = 0; //!< tag "n" with the item's number; 0: none
    long min_buffer = 0;         //!< min_output_buffer in items; 0: GNU Radio's choice
    std::uint64_t allowed = UINT64_MAX; //!< items it may produce until allow() says more
};

//! Produces items 0, 1, 2, … on every port; a message on port `done` at the end.
class counting_source : public gr::block
{
public:
    explicit counting_source(const source_options& o)
        : gr::block("counting_source",
                    io_signature::make(0, 0, 0),
                    io_signature::make(
                        o.ports, o.ports, static_cast<int>(o.item_bytes), o.type)),
          d_o(o)
    {
        message_port_register_out(pmt::mp("done"));
        d_allowed.reach(o.allowed);
        if (o.chunk != 0)
            set_max_noutput_items(o.chunk);
        if (o.min_buffer != 0)
            set_min_output_buffer(o.min_buffer);
    }

    void allow(std::uint64_t n) { d_allowed.reach(n); }
    const milestone& produced() const { return d_produced; }

    int general_work(int noutput_items,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star& out) override
    {
        if (d_n == d_o.total) {
            message_port_pub(pmt::mp("done"), pmt::from_uint64(d_n));
            return WORK_DONE;
        }
        // Wakes now and then, so that the scheduler can stop the block.
        if (!d_allowed.wait_for(d_n + 1, std::chrono::milliseconds(20)))
            return 0;
        const std::uint64_t limit = std::min(d_allowed.now(), d_o.total) - d_n;
        const int n = static_cast<int>(std::min<std::uint64_t>(noutput_items, limit));
        for (int port = 0; port < d_o.ports; ++port)
            for (int i = 0; i < n; ++i)
                fill_item(static_cast<std::uint8_t*>(out[port]) + i * d_o.item_bytes,
                          d_o.item_bytes,
                          d_n + i,
                          port);
        for (int i = 0; d_o.tag_every != 0 && i < n; ++i)
            if ((d_n + i) % d_o.tag_every == 0)
                for (int port = 0; port < d_o.ports; ++port)
                    add_item_tag(port,
                                 nitems_written(port) + i,
                                 pmt::mp("n"),
                                 pmt::from_uint64(d_n + i));
        d_n += n;
        d_produced.reach(d_n);
        return n;
    }

private:
    const source_options d_o;
    std::uint64_t d_n = 0;
    milestone d_allowed;
    milestone d_produced;
};

struct recorder_options {
    std::size_t item_bytes = 4;
    type_ref type = stock();
    unsigned history = 1;
    int chunk = 0;     //!< max_noutput_items: the smaller, the slower
    int multiple = 1;  //!< output multiple
    bool held = false; //!< no item is taken until let_go()
};

//! What a reader saw: two runs that agree here agree sample for sample and tag for tag.
struct recording {
    std::vector<std::uint8_t> newest; //!< the last item of each window of `history`
    std::vector<std::uint8_t> oldest; //!< the first one
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tags; //!< offset, value
    bool operator==(const recording& o) const
    {
        return newest == o.newest && oldest == o.oldest && tags == o.tags;
    }
};

//! A sink that keeps what it gets.
class recorder : public gr::sync_block
{
public:
    explicit recorder(const recorder_options& o)
        : gr::sync_block("recorder",
                         io_signature::make(1, 1, static_cast<int>(o.item_bytes), o.type),
                         io_signature::make(0, 0, 0, o.type)),
          d_o(o)
    {
        set_history(o.history);
        if (o.multiple != 1)
            set_output_multiple(o.multiple);
        if (o.chunk != 0)
            set_max_noutput_items(o.chunk);
        d_go.reach(o.held ? 0 : 1);
    }

    void let_go() { d_go.reach(1); }
    const milestone& taken() const { return d_taken; }
    //! After the flowgraph has ended.
    const recording& result() const { return d_r; }

    int
    work(int noutput_items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        if (!d_go.wait_for(1, std::chrono::milliseconds(20)))
            return 0;
        const auto* bytes = static_cast<const std::uint8_t*>(in[0]);
        const std::size_t n = noutput_items * d_o.item_bytes;
        const auto* last = bytes + (d_o.history - 1) * d_o.item_bytes;
        d_r.oldest.insert(d_r.oldest.end(), bytes, bytes + n);
        d_r.newest.insert(d_r.newest.end(), last, last + n);
        get_tags_in_window(d_tags, 0, 0, noutput_items);
        for (const tag_t& tag : d_tags)
            d_r.tags.emplace_back(tag.offset, pmt::to_uint64(tag.value));
        d_taken.reach(d_taken.now() + noutput_items);
        return noutput_items;
    }

private:
    const recorder_options d_o;
    milestone d_go;
    milestone d_taken;
    std::vector<tag_t> d_tags;
    recording d_r;
};

//! Keeps the first of every \p factor items. Its tags go by floor to the item that holds
//! the sample, where \p by_floor; else GNU Radio moves them.
class first_of : public gr::sync_decimator
{
public:
    first_of(
        std::size_t item_bytes, unsigned factor, bool by_floor, type_ref in, type_ref out)
        : gr::sync_decimator("first_of",
                             io_signature::make(1, 1, static_cast<int>(item_bytes), in),
                             io_signature::make(1, 1, static_cast<int>(item_bytes), out),
                             factor),
          d_item_bytes(item_bytes),
          d_factor(factor),
          d_by_floor(by_floor)
    {
        if (by_floor)
            set_tag_propagation_policy(TPP_CUSTOM);
    }

    int work(int noutput_items,
             gr_vector_const_void_star& in,
             gr_vector_void_star& out) override
    {
        for (int i = 0; i < noutput_items; ++i)
            std::memcpy(static_cast<std::uint8_t*>(out[0]) + i * d_item_bytes,
                        static_cast<const std::uint8_t*>(in[0]) +
                            i * d_item_bytes * d_factor,
                        d_item_bytes);
        if (d_by_floor) {
            get_tags_in_window(d_tags, 0, 0, noutput_items * d_factor);
            for (tag_t tag : d_tags) {
                tag.offset /= d_factor;
                add_item_tag(0, tag);
            }
        }
        return noutput_items;
    }

private:
    const std::size_t d_item_bytes;
    const unsigned d_factor;
    const bool d_by_floor;
    std::vector<tag_t> d_tags;
};

using source_sptr = std::shared_ptr<counting_source>;
using recorder_sptr = std::shared_ptr<recorder>;

inline source_sptr make_source(source_options o, type_ref type)
{
    o.type = type;
    return gnuradio::make_block_sptr<counting_source>(o);
}

inline recorder_sptr make_recorder(recorder_options o, type_ref type)
{
    o.type = type;
    return gnuradio::make_block_sptr<recorder>(o);
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_RING_BUFFER_BLOCKS_H */
