/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/sizes.h"
#include "mem/host_ring.h"
#include "mem/ring_cursor.h"
#include "ring_client.h"

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/ring_buffer.h>

#include <algorithm>
#include <string>

namespace gr {
namespace rdma {

namespace {

// Four times GNU Radio's own default: a ring is there for messages and large calls.
constexpr std::uint64_t default_ring_bytes = 256 * 1024;

// GNU Radio does not say which port it makes a buffer for, so the tightest limit counts.
// After the first start every port has one: the size that it got.
std::uint64_t default_bytes(block* writer, std::size_t item_bytes)
{
    std::uint64_t bytes = default_ring_bytes;
    const int ports = writer ? std::max(writer->output_signature()->max_streams(), 1) : 0;
    for (int port = 0; port < ports; ++port)
        if (const long limit = writer->max_output_buffer(port); limit > 0)
            bytes = std::min(bytes, static_cast<std::uint64_t>(limit) * item_bytes);
    return bytes;
}

std::shared_ptr<mem::ring_memory> client_ring(ring_client& client,
                                              const block_sptr& writer,
                                              std::size_t item_bytes,
                                              std::size_t min_items)
{
    if (writer->output_signature()->max_streams() != 1)
        throw config_error(writer->identifier() +
                           " brings its own ring, so it may have one output only");
    auto memory = client.output_ring(0, item_bytes, min_items);
    const std::uint64_t bytes = memory->first_mapping().bytes;
    if (bytes == 0 || bytes % item_bytes != 0)
        throw config_error("the ring of " + writer->identifier() + " has " +
                           std::to_string(bytes) +
                           " bytes, which is no whole number of " +
                           std::to_string(item_bytes) + "-byte items");
    return memory;
}

std::shared_ptr<mem::ring_memory>
host_memory(block* writer, std::size_t item_bytes, std::size_t min_items)
{
    mem::host_ring_config config;
    config.unit_bytes = item_bytes;
    config.min_bytes = std::max(std::uint64_t(min_items) * item_bytes,
                                default_bytes(writer, item_bytes));
    return std::make_shared<mem::host_ring>(config);
}

std::vector<buffer_sptr> outputs_of(const block_sptr& writer)
{
    std::vector<buffer_sptr> outputs;
    const block_detail_sptr detail = writer->detail();
    for (int port = 0; detail && port < detail->noutputs(); ++port)
        outputs.push_back(detail->output(port));
    return outputs;
}

} // namespace

buffer_type ring_buffer::type(buftype<ring_buffer, ring_buffer>{});

buffer_sptr ring_buffer::make_buffer(int nitems,
                                     std::size_t sizeof_item,
                                     std::uint64_t downstream_lcm_nitems,
                                     std::uint32_t downstream_max_out_mult,
                                     block_sptr link,
                                     block_sptr buf_owner)
{
    const std::size_t min_items = std::max(nitems, 1);
    auto client = std::dynamic_pointer_cast<ring_client>(link);
    auto memory = client ? client_ring(*client, link, sizeof_item, min_items)
                         : host_memory(link.get(), sizeof_item, min_items);
    const std::uint64_t bytes = memory->first_mapping().bytes;
    if (bytes / sizeof_item > mem::ring_index::max_size)
        throw config_error("a ring of " + core::human_bytes(bytes) + " has " +
                           std::to_string(bytes / sizeof_item) + " items of " +
                           std::to_string(sizeof_item) +
                           " bytes; GNU Radio counts at most " +
                           std::to_string(mem::ring_index::max_size) +
                           ": use a longer item (vlen) or a shorter ring");
    std::shared_ptr<ring_buffer> buffer(new ring_buffer(std::move(memory),
                                                        sizeof_item,
                                                        downstream_lcm_nitems,
                                                        downstream_max_out_mult,
                                                        link));
    if (link && link == buf_owner && !link->is_set_max_noutput_items())
        link->set_max_noutput_items(static_cast<int>(buffer->bufsize()));
    if (link && link != buf_owner)
        buffer->d_displaced = outputs_of(link);
    return buffer;
}

ring_buffer::ring_buffer(std::shared_ptr<mem::ring_memory> memory,
                         std::size_t sizeof_item,
                         std::uint64_t downstream_lcm_nitems,
                         std::uint32_t downstream_max_out_mult,
                         block_sptr link)
    : buffer(buffer_mapping_type::double_mapped,
             static_cast<int>(memory->first_mapping().bytes / sizeof_item),
             sizeof_item,
             downstream_lcm_nitems,
             downstream_max_out_mult,
             link),
      d_memory(std::move(memory))
{
    const mem::region region = d_memory->first_mapping();
    d_base = reinterpret_cast<char*>(region.address);
    d_bufsize = static_cast<unsigned>(region.bytes / sizeof_item);
}

ring_buffer::~ring_buffer() = default;

int ring_buffer::space_available()
{
    if (d_readers.empty())
        return static_cast<int>(d_bufsize);

    unsigned most_unread = 0;
    std::uint64_t slowest = UINT64_MAX;
    for (const buffer_reader* reader : d_readers) {
        most_unread =
            std::max(most_unread, static_cast<unsigned>(reader->items_available()));
        slowest = std::min(slowest, reader->nitems_read());
    }
    // A reader that joined by lock() with a history longer than the ring.
    if (most_unread > d_bufsize)
        refuse_long_history(most_unread);
    // As GNU Radio's own buffer: tags go a whole buffer after the last reader passed
    // them.
    if (slowest != d_last_min_items_read) {
        prune_tags(d_last_min_items_read);
        d_last_min_items_read = slowest;
    }
    return static_cast<int>(d_bufsize - most_unread);
}

void* ring_buffer::write_pointer() { return d_base + write_offset_bytes(); }

const void* ring_buffer::_read_pointer(unsigned int read_index)
{
    return d_base +
           std::uint64_t(mem::ring_index(d_bufsize).offset(read_index)) * d_sizeof_item;
}

buffer_type ring_buffer::get_buffer_type() const { return type; }

std::uint64_t ring_buffer::write_offset_bytes() const noexcept
{
    return std::uint64_t(mem::ring_index(d_bufsize).offset(d_write_index)) *
           d_sizeof_item;
}

std::uint64_t ring_buffer::ring_bytes() const noexcept
{
    return std::uint64_t(d_bufsize) * d_sizeof_item;
}

unsigned ring_buffer::index_add(unsigned a, unsigned b)
{
    return mem::ring_index(d_bufsize).add(a, b);
}

unsigned ring_buffer::index_sub(unsigned a, unsigned b)
{
    // GNU Radio sets the transfer type just before each new reader, and would refuse the
    // next reader if that one's type differed: taken and reset here, host blocks and ring
    // blocks may read one ring.
    if (d_transfer_type != transfer_type::DEFAULT_INVALID) {
        d_transfer_type = transfer_type::DEFAULT_INVALID;
        admit_reader(b);
    }
    return mem::ring_index(d_bufsize).sub(a, b);
}

void ring_buffer::admit_reader(unsigned preload)
{
    refuse_long_history(preload);
    d_max_preload = std::max(d_max_preload, preload);
    // A block's own ring still holds the last run's samples.
    if (preload != 0 && d_abs_write_offset == 0) {
        const std::uint64_t unread = std::uint64_t(preload) * d_sizeof_item;
        d_memory->zero((write_offset_bytes() + ring_bytes() - unread) % ring_bytes(),
                       unread);
    }
    if (!d_displaced.empty())
        adopt_displaced_readers();
}

// Each reader that declares the ring replaces the buffer of the host block in front of
// it, and the readers which the old buffer had would starve (gnuradio#8029). They move
// here.
void ring_buffer::adopt_displaced_readers()
{
    const std::vector<buffer_sptr> displaced = std::move(d_displaced);
    d_displaced.clear();
    const block_sptr writer = link();
    const std::vector<buffer_sptr> outputs = outputs_of(writer);
    for (std::size_t port = 0; port < outputs.size(); ++port) {
        if (outputs[port].get() != this)
            continue;
        while (displaced[port]->nreaders() != 0) {
            const int delay =
                static_cast<int>(displaced[port]->reader(0)->sample_delay());
            const block_sptr reader = displaced[port]->reader(0)->link();
            const block_detail_sptr detail = reader->detail();
            int input = 0;
            while (input < detail->ninputs() &&
                   detail->input(input).get() != displaced[port]->reader(0))
                ++input;
            if (input == detail->ninputs())
                throw config_error(reader->identifier() +
                                   " and another block read port " +
                                   std::to_string(port) + " of " + writer->identifier() +
                                   ", and one wants a ring; put blocks.copy in front of "
                                   "each block that does");
            const unsigned preload = reader->history() - 1;
            refuse_long_history(preload);
            d_max_preload = std::max(d_max_preload, preload);
            detail->set_input(
                input,
                buffer_add_reader(
                    outputs[port], static_cast<int>(preload), reader, delay));
        }
    }
}

void ring_buffer::refuse_long_history(unsigned preload) const
{
    if (preload >= d_bufsize)
        throw config_error(
            "a reader's history of " + std::to_string(std::uint64_t(preload) + 1) +
            " items does not fit a ring of " + std::to_string(d_bufsize) +
            "; use set_min_output_buffer() on the block that writes it, or "
            "more or longer buffers");
}

} // namespace rdma
} // namespace gr
