/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A block that brings its own ring and has slots of it filled out of work().
#include "mem/host_ring.h"
#include "mem/ring_cursor.h"
#include "qa_ring_buffer_blocks.h"
#include "ring_client.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/thread/thread.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <random>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::size_t item_bytes = 4;

struct slot_options {
    std::size_t slot_items = 1000;
    std::size_t slots = 8; //!< at least
    std::uint64_t messages = 100;
    int ports = 1;
    bool tag_address = true;
};

/*
 * As a receiver does it: posts free slots, has "the network" fill some of the posted ones
 * in order, produces them. Each message's first item carries its address.
 */
class slot_source : public gr::block, public ring_client
{
public:
    explicit slot_source(const slot_options& o)
        : gr::block("slot_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(o.ports, o.ports, item_bytes, ring())),
          d_o(o),
          d_slot_bytes(o.slot_items * item_bytes),
          d_cursor(1)
    {
        mem::host_ring_config config;
        config.unit_bytes = d_slot_bytes;
        config.min_bytes = o.slots * d_slot_bytes;
        d_ring = std::make_shared<mem::host_ring>(config);
        // Below a free slot the scheduler waits for readers instead of calling work().
        set_output_multiple(static_cast<int>(o.slot_items));
    }

    std::shared_ptr<mem::ring_memory> output_ring(int, std::size_t, std::size_t) override
    {
        return d_ring;
    }
    std::uint64_t ring_bytes() const { return d_ring->first_mapping().bytes; }
    std::uint64_t most_posted() const { return d_most_posted; }
    std::uint64_t base() const { return d_ring->first_mapping().address; }

    bool start() override
    {
        d_buffer = std::dynamic_pointer_cast<ring_buffer>(detail()->output(0));
        d_cursor = mem::ring_cursor(ring_bytes() / d_slot_bytes);
        gr::thread::scoped_lock guard(*d_buffer->mutex());
        d_cursor.reset(d_buffer->write_offset_bytes() / d_slot_bytes);
        d_n = 0;
        return true;
    }

    int general_work(int,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star&) override
    {
        if (d_n == d_o.messages)
            return WORK_DONE;
        std::uint64_t free_slots;
        {
            gr::thread::scoped_lock guard(*d_buffer->mutex());
            free_slots =
                static_cast<unsigned>(d_buffer->space_available()) / d_o.slot_items;
        }
        while (d_cursor.claimable(free_slots) != 0) {
            // Whatever is posted may be written at any time from now on.
            std::memset(slot_at(d_cursor.claim()), 0xee, d_slot_bytes);
        }
        d_most_posted = std::max(d_most_posted, d_cursor.outstanding());
        // A source that returns with nothing is called again 250 ms later.
        std::uint64_t arrived =
            std::min<std::uint64_t>(1 + d_random() % 2, d_o.messages - d_n);
        for (; arrived != 0 && !d_cursor.empty(); --arrived) {
            std::uint8_t* slot = slot_at(d_cursor.retire());
            for (std::size_t i = 0; i < d_o.slot_items; ++i)
                fill_item(slot + i * item_bytes, item_bytes, d_n * d_o.slot_items + i, 0);
            if (d_o.tag_address)
                add_item_tag(0,
                             nitems_written(0),
                             pmt::mp("address"),
                             pmt::from_uint64(reinterpret_cast<std::uintptr_t>(slot)));
            produce(0, static_cast<int>(d_o.slot_items));
            ++d_n;
        }
        return WORK_CALLED_PRODUCE;
    }

private:
    std::uint8_t* slot_at(std::uint64_t slot)
    {
        return reinterpret_cast<std::uint8_t*>(base()) + slot * d_slot_bytes;
    }

    const slot_options d_o;
    const std::size_t d_slot_bytes;
    std::shared_ptr<mem::host_ring> d_ring;
    std::shared_ptr<ring_buffer> d_buffer;
    mem::ring_cursor d_cursor;
    std::mt19937 d_random{ 1 };
    std::uint64_t d_n = 0;
    std::uint64_t d_most_posted = 0;
};

//! Checks that each tagged item lies where its tag says.
class address_check : public gr::sync_block
{
public:
    address_check(type_ref in, std::uint64_t base, std::uint64_t ring_bytes, int chunk)
        : gr::sync_block("address_check",
                         gr::io_signature::make(1, 1, item_bytes, in),
                         gr::io_signature::make(0, 0, 0, in)),
          d_base(base),
          d_ring_bytes(ring_bytes)
    {
        if (chunk != 0)
            set_max_noutput_items(chunk);
    }
    int
    work(int noutput_items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        std::vector<gr::tag_t> tags;
        get_tags_in_window(tags, 0, 0, noutput_items);
        for (const gr::tag_t& tag : tags) {
            const std::uint64_t at = reinterpret_cast<std::uintptr_t>(in[0]) +
                                     (tag.offset - nitems_read(0)) * item_bytes;
            right += (at - d_base) % d_ring_bytes + d_base == pmt::to_uint64(tag.value);
        }
        return noutput_items;
    }
    std::uint64_t right = 0;

private:
    const std::uint64_t d_base;
    const std::uint64_t d_ring_bytes;
};

std::shared_ptr<recorder> record(type_ref type, unsigned history = 1, int chunk = 0)
{
    recorder_options o;
    o.type = type;
    o.history = history;
    o.chunk = chunk;
    return gnuradio::make_block_sptr<recorder>(o);
}

std::vector<std::uint8_t> sent(std::uint64_t total, std::size_t zeros = 0)
{
    std::vector<std::uint8_t> bytes(total * item_bytes);
    for (std::uint64_t n = zeros; n < total; ++n)
        fill_item(bytes.data() + n * item_bytes, item_bytes, n - zeros, 0);
    return bytes;
}

// Memory that is only described: nobody touches it.
class described_ring : public mem::ring_memory
{
public:
    explicit described_ring(std::uint64_t bytes) : d_bytes(bytes) {}
    mem::region first_mapping() const noexcept override
    {
        mem::region r;
        r.address = 4096;
        r.bytes = d_bytes;
        return r;
    }
    std::uint64_t granularity() const noexcept override { return 4096; }
    void zero(std::uint64_t, std::uint64_t) override {}

private:
    std::uint64_t d_bytes;
};

class described_client : public gr::sync_block, public ring_client
{
public:
    described_client(std::uint64_t bytes, int item)
        : gr::sync_block("described_client",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item, ring())),
          d_ring(std::make_shared<described_ring>(bytes))
    {
    }
    std::shared_ptr<mem::ring_memory> output_ring(int, std::size_t, std::size_t) override
    {
        return d_ring;
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return WORK_DONE;
    }

private:
    std::shared_ptr<mem::ring_memory> d_ring;
};

// What starting a flowgraph from this block to a reader says.
std::string start_error(const gr::basic_block_sptr& from, const gr::basic_block_sptr& to)
{
    auto top = gr::make_top_block("refused");
    top->connect(from, 0, to, 0);
    try {
        top->start();
    } catch (const config_error& e) {
        return e.what();
    }
    top->stop();
    top->wait();
    return "";
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != text.npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(slots_reach_every_reader_whole_and_in_order)
{
    // 1000 items of 4 bytes: 128 slots on 125 pages. 1024: a slot a page.
    for (const std::size_t slot_items : { 1000, 1024, 12500 }) {
        slot_options o;
        o.slot_items = slot_items;
        o.messages = slot_items == 1000 ? 500 : 100;
        const auto from = gnuradio::make_block_sptr<slot_source>(o);
        const auto a = record(ring());
        const auto b = record(stock(), 1, 333);
        const auto c = record(stock(), 100);
        auto top = gr::make_top_block("slots");
        top->connect(from, 0, a, 0);
        top->connect(from, 0, b, 0);
        top->connect(from, 0, c, 0);
        top->run();
        const std::uint64_t total = o.messages * slot_items;
        BOOST_TEST((a->result().newest == sent(total)));
        BOOST_TEST((b->result().newest == sent(total)));
        BOOST_TEST((c->result().newest == sent(total)));
        BOOST_TEST((c->result().oldest == sent(total, 99)));
        BOOST_TEST((a->result().tags == b->result().tags));
        BOOST_TEST(a->result().tags.size() == o.messages);
        BOOST_TEST(from->most_posted() >= 7u);
    }
}

BOOST_AUTO_TEST_CASE(tagged_addresses_are_where_the_items_are_for_every_reader)
{
    slot_options o;
    o.messages = 1000;
    const auto from = gnuradio::make_block_sptr<slot_source>(o);
    auto top = gr::make_top_block("addresses");
    std::vector<std::shared_ptr<address_check>> checks;
    for (const type_ref type : { ring(), stock(), stock() }) {
        checks.push_back(gnuradio::make_block_sptr<address_check>(
            type, from->base(), from->ring_bytes(), checks.size() == 2 ? 77 : 0));
        top->connect(from, 0, checks.back(), 0);
    }
    top->run();
    for (const auto& check : checks)
        BOOST_TEST(check->right == 1000u);
}

BOOST_AUTO_TEST_CASE(every_run_starts_with_zeros_in_the_history)
{
    slot_options o;
    o.messages = 333; // ends somewhere in the ring
    const auto from = gnuradio::make_block_sptr<slot_source>(o);
    for (int run = 0; run < 3; ++run) {
        const auto to = record(run == 1 ? ring() : stock(), 4096);
        auto top = gr::make_top_block("runs");
        top->connect(from, 0, to, 0);
        top->run();
        BOOST_TEST((to->result().newest == sent(333000)));
        BOOST_TEST((to->result().oldest == sent(333000, 4095)));
        const auto buffer =
            std::dynamic_pointer_cast<ring_buffer>(from->detail()->output(0));
        BOOST_REQUIRE(buffer);
        BOOST_TEST(buffer->max_preload() == 4095u);
        BOOST_TEST(buffer->ring_bytes() == from->ring_bytes());
    }
}

// gnuradio#5634: a long history froze a custom buffer.
BOOST_AUTO_TEST_CASE(a_history_longer_than_the_ring_is_refused_at_start)
{
    slot_options o;
    o.slot_items = 1024;
    const std::string what = start_error(gnuradio::make_block_sptr<slot_source>(o),
                                         record(stock(), 1024 * 8 + 1));
    BOOST_TEST_CONTEXT(what)
    {
        BOOST_TEST(contains(what, "8193"));
        BOOST_TEST(contains(what, "8192"));
        BOOST_TEST(contains(what, "buffers"));
    }
    BOOST_TEST(start_error(gnuradio::make_block_sptr<slot_source>(o),
                           record(ring(), 1024 * 8 + 1)) == what);
}

BOOST_AUTO_TEST_CASE(a_client_with_two_outputs_is_refused)
{
    slot_options o;
    o.ports = 2;
    const auto from = gnuradio::make_block_sptr<slot_source>(o);
    auto top = gr::make_top_block("two");
    top->connect(from, 0, record(ring()), 0);
    top->connect(from, 1, record(ring()), 0);
    BOOST_CHECK_EXCEPTION(top->start(), config_error, [](const config_error& e) {
        return contains(e.what(), "slot_source") && contains(e.what(), "one output");
    });
}

BOOST_AUTO_TEST_CASE(a_ring_of_no_whole_items_or_too_many_is_refused)
{
    const auto sink = [](std::size_t bytes) {
        recorder_options o;
        o.item_bytes = bytes;
        return gnuradio::make_block_sptr<recorder>(o);
    };
    std::string what =
        start_error(gnuradio::make_block_sptr<described_client>(8192, 3), sink(3));
    BOOST_TEST(contains(what, "8192"));
    BOOST_TEST(contains(what, "3-byte"));
    what =
        start_error(gnuradio::make_block_sptr<described_client>(1ULL << 32, 1), sink(1));
    BOOST_TEST(contains(what, "4 GiB"));
    BOOST_TEST(contains(what, "2147483647"));
}

BOOST_AUTO_TEST_CASE(calls_may_be_as_long_as_the_ring_unless_somebody_said_otherwise)
{
    slot_options o;
    o.slots = 1000;
    const auto free_choice = gnuradio::make_block_sptr<slot_source>(o);
    const auto chosen = gnuradio::make_block_sptr<slot_source>(o);
    chosen->set_max_noutput_items(3000);
    for (const auto& from : { free_choice, chosen }) {
        auto top = gr::make_top_block("calls");
        top->connect(from, 0, record(ring()), 0);
        top->run();
    }
    BOOST_TEST(free_choice->max_noutput_items() ==
               static_cast<int>(free_choice->ring_bytes() / item_bytes));
    BOOST_TEST(chosen->max_noutput_items() == 3000);
}
