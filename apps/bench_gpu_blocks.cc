/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_gpu_blocks.h"

#include "core/clock.h"
#include "core/relax.h"
#include "cuda/bench_kernels.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/probe_kernel.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/io_signature.h>

#include <algorithm>
#include <cstddef>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr std::uint64_t ring_bytes = 256 << 20;
constexpr int item = static_cast<int>(bench_item_bytes);

std::shared_ptr<mem::ring_memory> make_ring(mem::gpu& gpu, std::uint64_t unit_bytes)
{
    mem::gpu_ring_config config;
    config.min_bytes = ring_bytes;
    config.unit_bytes = unit_bytes;
    return gpu.make_ring(config);
}

// Both kinds of source: an item whenever one is wanted. Spins, as who polls a completion
// queue does.
int produce_when_wanted(latency_probe& probe, std::uint32_t& done)
{
    while (probe.wanted == done) {
        if (probe.ended)
            return gr::block::WORK_DONE;
        core::relax();
    }
    ++done;
    probe.produced_ns = core::monotonic_ns();
    return 1;
}

class completion_source : public gr::block, public ring_client
{
public:
    completion_source(latency_probe& probe, std::shared_ptr<mem::gpu> gpu)
        : gr::block("completion_source",
                    io_signature::make(0, 0, 0),
                    io_signature::make(1, 1, item, ring_buffer::type)),
          d_probe(probe),
          d_gpu(std::move(gpu))
    {
    }
    std::shared_ptr<mem::ring_memory>
    output_ring(int, std::size_t item_bytes, std::size_t) override
    {
        if (!d_ring)
            d_ring = make_ring(*d_gpu, item_bytes);
        return d_ring;
    }
    std::shared_ptr<mem::gpu> output_gpu() const override { return d_gpu; }
    int general_work(int,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star&) override
    {
        return produce_when_wanted(d_probe, d_done);
    }

private:
    latency_probe& d_probe;
    const std::shared_ptr<mem::gpu> d_gpu;
    std::shared_ptr<mem::ring_memory> d_ring;
    std::uint32_t d_done = 0;
};

class stock_source : public gr::sync_block
{
public:
    explicit stock_source(latency_probe& probe)
        : gr::sync_block("stock_source",
                         io_signature::make(0, 0, 0),
                         io_signature::make(1, 1, item)),
          d_probe(probe)
    {
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return produce_when_wanted(d_probe, d_done);
    }

private:
    latency_probe& d_probe;
    std::uint32_t d_done = 0;
};

class flag_sink : public device_block
{
public:
    flag_sink(latency_probe& probe, const std::string& memory, const std::string& wait)
        : gr::block("flag_sink",
                    io_signature::make(1, 1, item, ring_buffer::type),
                    io_signature::make(0, 0, 0, ring_buffer::type)),
          device_block(memory, wait),
          d_probe(probe)
    {
    }
    int device_work(int noutput_items,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star&) override
    {
        d_probe.entered_ns = core::monotonic_ns();
        consume_each(noutput_items);
        check(cuda::launch_probe(d_probe.memory.as<std::uint32_t>(), ++d_done, stream()),
              "cudaLaunchKernel");
        d_probe.launched_ns = core::monotonic_ns();
        return 0;
    }

private:
    latency_probe& d_probe;
    std::uint32_t d_done = 0;
};

class stock_flag_sink : public gr::sync_block
{
public:
    stock_flag_sink(latency_probe& probe, int device)
        : gr::sync_block("stock_flag_sink",
                         io_signature::make(1, 1, item),
                         io_signature::make(0, 0, 0)),
          d_probe(probe),
          d_stream(device)
    {
    }
    bool start() override
    {
        cuda::use_device(d_stream.device());
        return gr::sync_block::start();
    }
    int work(int noutput_items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        d_probe.entered_ns = core::monotonic_ns();
        cuda::check(cuda::launch_probe(
                        d_probe.memory.as<std::uint32_t>(), ++d_done, d_stream.ref()),
                    "cudaLaunchKernel");
        d_probe.launched_ns = core::monotonic_ns();
        return noutput_items;
    }

private:
    latency_probe& d_probe;
    const cuda::stream d_stream;
    std::uint32_t d_done = 0;
};

} // namespace

copy_engine_source::copy_engine_source(std::shared_ptr<mem::gpu> gpu,
                                       const cuda::pinned_memory& from,
                                       std::size_t message_bytes)
    : gr::block("copy_engine_source",
                io_signature::make(0, 0, 0),
                io_signature::make(1, 1, item, ring_buffer::type)),
      d_gpu(std::move(gpu)),
      d_from(from),
      d_message(message_bytes / bench_item_bytes),
      d_stream(d_gpu->make_stream()),
      d_copies(*d_gpu)
{
    set_output_multiple(static_cast<int>(d_message));
}

std::shared_ptr<mem::ring_memory>
copy_engine_source::output_ring(int, std::size_t item_bytes, std::size_t)
{
    if (!d_ring)
        d_ring = make_ring(*d_gpu, d_message * item_bytes);
    return d_ring;
}

bool copy_engine_source::start()
{
    cuda::use_device(d_gpu->info().ordinal);
    d_started = nitems_written(0);
    d_copies.restart(d_started);
    return gr::block::start();
}

bool copy_engine_source::stop()
{
    d_stream->synchronize();
    return gr::block::stop();
}

// As many messages under way as `most_in_flight` and half the ring hold, an event for
// each `event_every` bytes, as completions are polled in batches. Spins, as who polls a
// completion queue does.
int copy_engine_source::general_work(int noutput_items,
                                     gr_vector_int&,
                                     gr_vector_const_void_star&,
                                     gr_vector_void_star& output_items)
{
    constexpr std::uint64_t most_in_flight = 32 << 20;
    constexpr std::uint64_t event_every = 1 << 20;
    const std::size_t bytes = d_message * bench_item_bytes;
    const std::uint64_t limit = std::max<std::uint64_t>(
        2 * d_message, std::min(most_in_flight, ring_bytes / 2) / bench_item_bytes);
    const std::uint64_t batch =
        std::max<std::uint64_t>(d_message, event_every / bench_item_bytes);
    const std::uint64_t written = nitems_written(0);
    const auto room = static_cast<std::uint64_t>(noutput_items);
    const cuda::stream_ref stream(static_cast<CUstream_st*>(d_stream->native()));
    auto* const to = static_cast<std::byte*>(output_items[0]);
    std::uint64_t done = d_copies.released();
    std::uint64_t marked = d_started;
    while (d_started - written + d_message <= room &&
           d_started - done + d_message <= limit) {
        cuda::check(cuda::copy_async(to + (d_started - written) * bench_item_bytes,
                                     d_from.as<std::byte>() + d_next,
                                     bytes,
                                     stream),
                    "cudaMemcpyAsync");
        d_started += d_message;
        d_next = (d_next + bytes) % d_from.bytes();
        if (d_started - marked >= batch) {
            cuda::check(d_copies.push(d_started, *d_stream), "cuEventRecord");
            marked = d_started;
            done = d_copies.released();
        }
    }
    if (marked != d_started)
        cuda::check(d_copies.push(d_started, *d_stream), "cuEventRecord");
    while (done == written && !d_copies.idle())
        done = d_copies.released();
    cuda::check(d_copies.error(), "a copy");
    return static_cast<int>(done - written);
}

reading_sink::reading_sink(const std::string& memory)
    : gr::block("reading_sink",
                io_signature::make(1, 1, item, ring_buffer::type),
                io_signature::make(0, 0, 0, ring_buffer::type)),
      device_block(memory),
      d_sum(gpu()->info().ordinal, sizeof(std::uint32_t))
{
}

int reading_sink::device_work(int,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star&)
{
    const int n = ninput_items[0];
    const auto bytes = static_cast<std::size_t>(n) * bench_item_bytes;
    check(cuda::launch_read_all({ static_cast<const std::uint32_t*>(input_items[0]),
                                  bytes / sizeof(std::uint32_t) },
                                d_sum.as<std::uint32_t>(),
                                stream()),
          "cudaLaunchKernel");
    consume_each(n);
    d_bytes += bytes;
    return 0;
}

gr::block_sptr make_completion_source(latency_probe& probe, std::shared_ptr<mem::gpu> gpu)
{
    return gnuradio::make_block_sptr<completion_source>(probe, std::move(gpu));
}

gr::block_sptr make_stock_source(latency_probe& probe)
{
    return gnuradio::make_block_sptr<stock_source>(probe);
}

gr::block_sptr
make_flag_sink(latency_probe& probe, const std::string& memory, const std::string& wait)
{
    return gnuradio::make_block_sptr<flag_sink>(probe, memory, wait);
}

gr::block_sptr make_stock_flag_sink(latency_probe& probe, int device)
{
    return gnuradio::make_block_sptr<stock_flag_sink>(probe, device);
}

} // namespace apps
} // namespace rdma
} // namespace gr
