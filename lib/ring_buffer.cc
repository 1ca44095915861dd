/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/sizes.h"
#include "flowgraph_memory.h"
#include "kernel_log.h"
#include "mem/host_ring.h"
#include "mem/pinned_mirror.h"
#include "mem/ring_cursor.h"
#include "readers.h"
#include "ring_client.h"
#include "ring_device.h"
#include "spinning_mutex.h"

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/ring_buffer.h>

#include <algorithm>
#include <string>

namespace gr {
namespace rdma {

namespace {

// Four times GNU Radio's own default: a ring is there for messages and large calls.
constexpr std::uint64_t default_ring_bytes = 256 * 1024;
// Enough for a GPU to be worth a launch.
constexpr std::uint64_t default_gpu_ring_bytes = 8 << 20;

// GNU Radio does not say for which port, so the tightest limit counts. After the first
// start every port has one: the size that it got.
std::uint64_t default_bytes(block* writer, std::size_t item_bytes, std::uint64_t bytes)
{
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
                                default_bytes(writer, item_bytes, default_ring_bytes));
    return std::make_shared<mem::host_ring>(config);
}

// The ring of a device block, or of the ordinary block in front of one.
std::shared_ptr<mem::ring_memory>
gpu_memory(mem::gpu& gpu, block* writer, std::size_t item_bytes, std::size_t min_items)
{
    mem::gpu_ring_config config;
    config.unit_bytes = item_bytes;
    config.min_bytes =
        std::max(std::uint64_t(min_items) * item_bytes,
                 default_bytes(writer, item_bytes, default_gpu_ring_bytes));
    return gpu.make_ring(config);
}

// Whose memory a ring between these two is; null: the host's.
std::shared_ptr<mem::gpu> gpu_of(const std::shared_ptr<ring_client>& client,
                                 const block_sptr& writer,
                                 const block_sptr& owner)
{
    if (client)
        return client->output_gpu();
    auto device = std::dynamic_pointer_cast<device_block>(writer);
    if (!device)
        device = std::dynamic_pointer_cast<device_block>(owner);
    return device ? device->gpu() : nullptr;
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
    const flowgraph_memory::step step;
    const std::size_t min_items = std::max(nitems, 1);
    auto client = std::dynamic_pointer_cast<ring_client>(link);
    const std::shared_ptr<mem::gpu> gpu = gpu_of(client, link, buf_owner);
    auto memory = client ? client_ring(*client, link, sizeof_item, min_items)
                  : gpu  ? gpu_memory(*gpu, link.get(), sizeof_item, min_items)
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
    if (gpu)
        buffer->use_device(gpu, link);
    if (link && link == buf_owner && !link->is_set_max_noutput_items())
        link->set_max_noutput_items(static_cast<int>(buffer->bufsize()));
    if (link && link != buf_owner)
        buffer->d_displaced = outputs_of(link);
    flowgraph_memory::made(buffer, link, link == buf_owner);
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
    have_it_spin_first(*mutex());
}

ring_buffer::~ring_buffer() = default;

void ring_buffer::use_device(const std::shared_ptr<mem::gpu>& gpu,
                             const block_sptr& writer)
{
    auto who = ring_device::writer::host;
    std::shared_ptr<mem::pinned_mirror> mirror;
    if (const auto* staged = dynamic_cast<mem::staged_ring*>(d_memory.get()))
        mirror = staged->mirror();
    else if (std::dynamic_pointer_cast<ring_client>(writer))
        who = ring_device::writer::direct;
    else if (std::dynamic_pointer_cast<device_block>(writer))
        who = ring_device::writer::device;
    d_device = std::make_unique<ring_device>(
        gpu, d_memory->first_mapping(), d_sizeof_item, who, mirror, writer);
    if (who == ring_device::writer::host)
        d_device->need_mirror();
}

int ring_buffer::space_available()
{
    if (d_readers.empty())
        return static_cast<int>(d_bufsize);
    // GNU Radio asks whether readers are done only where there is no room.
    if (d_readers.size() == 1 && done())
        return 0;
    unsigned most_unread = 0;
    const buffer_reader* last = nullptr;
    std::uint64_t slowest = UINT64_MAX;
    for (const buffer_reader* reader : d_readers) {
        const auto unread = static_cast<unsigned>(reader->items_available());
        // A reader that joined by lock() with a history longer than the ring.
        if (unread > d_bufsize)
            refuse_long_history(unread);
        if (unread >= most_unread) {
            most_unread = unread;
            last = reader;
        }
        slowest = std::min(slowest, reader->nitems_read());
    }
    // As GNU Radio's own buffer: tags go a whole buffer after the last reader's passing.
    if (slowest != d_last_min_items_read) {
        prune_tags(d_last_min_items_read);
        d_last_min_items_read = slowest;
    }
    if (d_device)
        count_gpu_work(most_unread, last);
    return static_cast<int>(d_bufsize - std::min(most_unread, d_bufsize));
}

// Adds what kernels still read and copies still carry, and has the writer woken where
// that is what it lacks: the readers' own notices have come and gone by then.
void ring_buffer::count_gpu_work(unsigned& most_unread, const buffer_reader*& last)
{
    d_device->writer_is_awake();
    std::uint64_t most = most_unread;
    std::uint64_t in_flight = 0;
    for (const buffer_reader* reader : d_readers) {
        const std::uint64_t held = d_device->held(reader, reader->nitems_read());
        const std::uint64_t used =
            held + static_cast<unsigned>(reader->items_available());
        in_flight += held;
        if (used > most || (used == most && held != 0)) {
            most = used;
            last = reader;
        }
    }
    const std::uint64_t copying = d_device->copying(d_abs_write_offset);
    in_flight += copying;
    if (copying > most) {
        most = copying;
        last = nullptr;
    }
    most_unread = static_cast<unsigned>(std::min<std::uint64_t>(most, d_bufsize));
    if (in_flight == 0)
        return;
    const block_sptr writer = link();
    const auto multiple =
        writer ? static_cast<std::uint64_t>(writer->output_multiple()) : 1;
    const auto least =
        writer ? static_cast<std::uint64_t>(std::max(writer->min_noutput_items(), 1)) : 1;
    if (d_bufsize - most_unread < core::round_up(least, multiple))
        d_device->wake_when_free(last);
}

void* ring_buffer::write_pointer()
{
    char* const base = d_device && d_device->who() == ring_device::writer::host
                           ? reinterpret_cast<char*>(d_device->host_base())
                           : d_base;
    return base + write_offset_bytes();
}

const void* ring_buffer::_read_pointer(unsigned int read_index)
{
    const char* base = d_base;
    if (d_device && d_device->host_base() && !ring_device::thread_is_device())
        base = reinterpret_cast<const char*>(d_device->host_base());
    return base +
           std::uint64_t(mem::ring_index(d_bufsize).offset(read_index)) * d_sizeof_item;
}

std::string ring_buffer::device() const
{
    return d_device ? d_device->gpu().info().tag() : "host";
}

int ring_buffer::device_error() const noexcept
{
    return d_device ? d_device->error() : 0;
}

void ring_buffer::serve_host_readers()
{
    for (const buffer_reader* reader : d_readers)
        if (d_device && !std::dynamic_pointer_cast<device_block>(reader->link()))
            d_device->need_mirror();
}

void ring_buffer::set_writer_log(std::shared_ptr<const kernel_log> log)
{
    d_writer_log = std::move(log);
    d_written_round = d_writer_log ? d_writer_log->begun() : 0;
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
    // update_write_pointer() is not virtual, and the readers see the new index as soon as
    // it has it from here. No reader with as much as one item to pass is at this index.
    if (b != 0 && a == d_write_index) {
        if (d_device && !d_device->wrote(write_offset_bytes(),
                                         std::uint64_t(b) * d_sizeof_item,
                                         d_abs_write_offset + b))
            return a;
        if (d_writer_log)
            d_written_round = d_writer_log->begun();
        // Last: who sees it comes for the mutex.
        d_writes.store(d_writes.load(std::memory_order_relaxed) + 1,
                       std::memory_order_release);
    }
    return mem::ring_index(d_bufsize).add(a, b);
}

unsigned ring_buffer::index_sub(unsigned a, unsigned b)
{
    // GNU Radio sets it just before each new reader, and would refuse the next if that
    // one's differed: taken and reset here, host and ring blocks may read one ring.
    if (d_transfer_type != transfer_type::DEFAULT_INVALID) {
        const bool by_host = d_transfer_type == transfer_type::DEVICE_TO_HOST;
        const bool wants_ring =
            !by_host && d_transfer_type != transfer_type::HOST_TO_HOST;
        d_transfer_type = transfer_type::DEFAULT_INVALID;
        if (d_device && by_host)
            d_device->need_mirror();
        const flowgraph_memory::step step;
        admit_reader(b);
        flowgraph_memory::reader_comes(*this, wants_ring);
    }
    if (d_device)
        d_device->look_after_writer();
    return mem::ring_index(d_bufsize).sub(a, b);
}

void ring_buffer::admit_reader(unsigned preload)
{
    refuse_long_history(preload);
    d_max_preload = std::max(d_max_preload, preload);
    // A block's own ring still holds the last run's samples.
    if (preload != 0 && d_abs_write_offset == 0) {
        const std::uint64_t unread = std::uint64_t(preload) * d_sizeof_item;
        const std::uint64_t at =
            (write_offset_bytes() + ring_bytes() - unread) % ring_bytes();
        d_memory->zero(at, unread);
        if (d_device)
            d_device->zero_mirror(at, unread);
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
