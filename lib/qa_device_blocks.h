/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_DEVICE_BLOCKS_H
#define INCLUDED_RDMA_QA_DEVICE_BLOCKS_H

#include "mem/cuda_gpu.h"
#include "qa_ends.h"
#include "qa_ring_buffer_blocks.h"
#include "ring_device.h"
#include "testing/fake_cuda.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/device_block.h>

/*!
 * Device blocks whose kernels are functions on the imitated driver's streams. Their items
 * are those of qa_ring_buffer_blocks.h, so that both kinds of block check each other.
 */
namespace gr {
namespace rdma {
namespace testing {

template <typename Block, typename... Arguments>
std::shared_ptr<Block> make(Arguments&&... arguments)
{
    return gnuradio::make_block_sptr<Block>(std::forward<Arguments>(arguments)...);
}

struct on_imitated_driver {
    explicit on_imitated_driver(int devices = 1)
        : on_imitated_driver(
              std::vector<fake_cuda::device>(static_cast<std::size_t>(devices)))
    {
    }
    explicit on_imitated_driver(std::vector<fake_cuda::device> devices)
        : fake(std::move(devices))
    {
        mem::use_cuda_api(&fake.api());
    }
    ~on_imitated_driver() { mem::use_cuda_api(nullptr); }
    fake_cuda fake;
};

//! A ring of 1 MiB, its items bytes, in the imitated GPU's memory, and a stream for who
//! reads it. With kernels for a writer it has a stream for them, too.
struct ring_on_gpu {
    explicit ring_on_gpu(ring_device::writer who)
        : ring(gpu, memory->first_mapping(), 1, who, nullptr, std::weak_ptr<gr::block>())
    {
        if (who == ring_device::writer::device)
            ring.set_writer(writer.get());
    }
    static mem::gpu_ring_config config()
    {
        mem::gpu_ring_config c;
        c.min_bytes = 1 << 20;
        return c;
    }
    const std::shared_ptr<mem::gpu> gpu = mem::open_gpu("cuda:0");
    const std::shared_ptr<mem::ring_memory> memory = gpu->make_ring(config());
    const std::unique_ptr<mem::gpu_stream> writer = gpu->make_stream();
    const std::unique_ptr<mem::gpu_stream> stream = gpu->make_stream();
    ring_device ring;
};

//! What kernels wait for until a test lets them go on.
class gate
{
public:
    explicit gate(bool open = true) : d_open(open) {}
    void set(bool open)
    {
        std::lock_guard<std::mutex> lock(d_mutex);
        d_open = open;
        d_changed.notify_all();
    }
    void pass()
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        d_changed.wait(lock, [this] { return d_open; });
    }

private:
    std::mutex d_mutex; // guards d_open
    std::condition_variable d_changed;
    bool d_open;
};

struct device_options {
    std::size_t item_bytes = 4;
    std::uint64_t total = 0; //!< of a source
    std::string memory = "cuda:0";
    std::string wait = "event";
    unsigned history = 1;
    int chunk = 0;
    std::uint64_t fail_at =
        UINT64_MAX; //!< device_work() throws when it comes to this item
};

inline device_options of_total(std::uint64_t total)
{
    device_options o;
    o.total = total;
    return o;
}

//! Kernels that write items 0, 1, 2, ...
class device_source : public device_block
{
public:
    device_source(fake_cuda& fake, const device_options& o)
        : gr::block("device_source",
                    io_signature::make(0, 0, 0),
                    io_signature::make(
                        1, 1, static_cast<int>(o.item_bytes), ring_buffer::type)),
          device_block(o.memory, o.wait),
          d_fake(fake),
          d_o(o)
    {
        if (o.chunk != 0)
            set_max_noutput_items(o.chunk);
    }

    int device_work(int noutput_items,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star& out) override
    {
        const std::uint64_t first = d_n;
        const int n =
            static_cast<int>(std::min<std::uint64_t>(noutput_items, d_o.total - d_n));
        if (n == 0)
            return WORK_DONE;
        device_seen = d_fake.current_device();
        auto* const to = static_cast<std::uint8_t*>(out[0]);
        d_fake.launch(stream(), [this, first, n, to] {
            work.pass();
            for (int i = 0; i < n; ++i)
                fill_item(to + i * d_o.item_bytes, d_o.item_bytes, first + i, 0);
        });
        d_n += n;
        launched.reach(d_n);
        return n;
    }

    bool stop() override
    {
        const bool stopped = device_block::stop();
        ended.reach(1);
        return stopped;
    }

    gate work;
    milestone launched;
    milestone ended; //!< its thread is through, and its stream empty
    int device_seen = -1;

private:
    fake_cuda& d_fake;
    const device_options d_o;
    std::uint64_t d_n = 0;
};

//! Kernels that copy what they read; twice, with a gate between, to see whether it
//! stayed.
class device_recorder : public device_block
{
public:
    device_recorder(fake_cuda& fake, const device_options& o)
        : gr::block(
              "device_recorder",
              io_signature::make(1, 1, static_cast<int>(o.item_bytes), ring_buffer::type),
              io_signature::make(0, 0, 0, ring_buffer::type)),
          device_block(o.memory, o.wait),
          d_fake(fake),
          d_o(o)
    {
        set_history(o.history);
        if (o.chunk != 0)
            set_max_noutput_items(o.chunk);
    }

    int device_work(int noutput_items,
                    gr_vector_int&,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star&) override
    {
        if (nitems_read(0) + static_cast<std::uint64_t>(noutput_items) > d_o.fail_at)
            throw std::runtime_error("the test says so");
        const auto* from = static_cast<const std::uint8_t*>(in[0]);
        const std::size_t bytes =
            (static_cast<std::size_t>(noutput_items) + d_o.history - 1) * d_o.item_bytes;
        d_fake.launch(stream(), [this, from, bytes] {
            const std::vector<std::uint8_t> first(from, from + bytes);
            work.pass();
            changed = changed || std::memcmp(first.data(), from, bytes) != 0;
            const std::size_t old = (d_o.history - 1) * d_o.item_bytes;
            items.insert(items.end(), from + old, from + bytes);
            oldest.insert(oldest.end(), from, from + bytes - old);
        });
        get_tags_in_window(d_tags, 0, 0, noutput_items);
        for (const tag_t& tag : d_tags)
            tags.emplace_back(tag.offset, pmt::to_uint64(tag.value));
        launched.reach(launched.now() + static_cast<std::uint64_t>(noutput_items));
        consume_each(noutput_items);
        return 0;
    }

    using device_block::synchronize;

    gate work;
    milestone launched; //!< items
    // Of the stream's thread; a test looks after the flowgraph has ended.
    bool changed = false;
    std::vector<std::uint8_t> items;
    std::vector<std::uint8_t> oldest;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> tags; //!< offset, value

private:
    fake_cuda& d_fake;
    const device_options d_o;
    std::vector<tag_t> d_tags;
};

//! A kernel that adds one to each byte, from ring to ring.
class device_increment : public device_block
{
public:
    device_increment(fake_cuda& fake, const device_options& o)
        : gr::block(
              "device_increment",
              io_signature::make(1, 1, static_cast<int>(o.item_bytes), ring_buffer::type),
              io_signature::make(
                  1, 1, static_cast<int>(o.item_bytes), ring_buffer::type)),
          device_block(o.memory, o.wait),
          d_fake(fake),
          d_item_bytes(o.item_bytes)
    {
    }

    int device_work(int noutput_items,
                    gr_vector_int& available,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star& out) override
    {
        const int n = std::min(noutput_items, available[0]);
        const auto* from = static_cast<const std::uint8_t*>(in[0]);
        auto* const to = static_cast<std::uint8_t*>(out[0]);
        const std::size_t bytes = static_cast<std::size_t>(n) * d_item_bytes;
        d_fake.launch(stream(), [from, to, bytes] {
            for (std::size_t i = 0; i < bytes; ++i)
                to[i] = static_cast<std::uint8_t>(from[i] + 1);
        });
        consume_each(n);
        return n;
    }

private:
    fake_cuda& d_fake;
    const std::size_t d_item_bytes;
};

//! An ordinary sink that knows whether it was given the CPU's pointers.
class host_recorder : public gr::sync_block
{
public:
    explicit host_recorder(std::size_t item_bytes, type_ref type = stock())
        : gr::sync_block("host_recorder",
                         io_signature::make(1, 1, static_cast<int>(item_bytes), type),
                         io_signature::make(0, 0, 0, type)),
          d_item_bytes(item_bytes)
    {
    }

    int
    work(int noutput_items, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        const auto* from = static_cast<const std::uint8_t*>(in[0]);
        const auto* ring =
            dynamic_cast<const ring_buffer*>(detail()->input(0)->buffer().get());
        const auto* host = reinterpret_cast<const std::uint8_t*>(
            ring && ring->on_device() ? ring->on_device()->host_base() : nullptr);
        if (!host || from < host || from >= host + ring->ring_bytes())
            ++strays;
        items.insert(items.end(),
                     from,
                     from + static_cast<std::size_t>(noutput_items) * d_item_bytes);
        return noutput_items;
    }

    std::vector<std::uint8_t> items;
    int strays = 0; //!< calls with a pointer that is not the mirror's

private:
    const std::size_t d_item_bytes;
};

//! Items 0 to total - 1 in a row, each byte \p more.
inline std::vector<std::uint8_t>
items_up_to(std::uint64_t total, std::size_t item_bytes, int more = 0)
{
    std::vector<std::uint8_t> bytes(item_bytes * total);
    for (std::uint64_t n = 0; n < total; ++n)
        fill_item(bytes.data() + n * item_bytes, item_bytes, n, 0);
    for (auto& b : bytes)
        b = static_cast<std::uint8_t>(b + more);
    return bytes;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_DEVICE_BLOCKS_H */
