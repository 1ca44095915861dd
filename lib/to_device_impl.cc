/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "to_device_impl.h"

#include "block_checks.h"
#include "copy_parts.h"
#include "core/sample.h"
#include "gpu_choice.h"
#include "host_copy.h"
#include "readers.h"

#include <algorithm>
#include <cstring>
#include <gnuradio/block_detail.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/ring_buffer.h>

namespace gr {
namespace rdma {

namespace {

int bytes_of(const to_device_config& config)
{
    return item_bytes(core::sample_bytes(core::parse_sample(config.sample)), config.vlen);
}

} // namespace

to_device::sptr to_device::make(const to_device_config& config)
{
    const int bytes = bytes_of(config);
    auto gpu = choose_gpu(config.memory).gpu;
    if (!gpu)
        return gnuradio::make_block_sptr<host_copy<to_device>>("rdma_to_device", bytes);
    return gnuradio::make_block_sptr<to_device_impl>(config, std::move(gpu));
}

to_device_impl::to_device_impl(const to_device_config& config,
                               std::shared_ptr<mem::gpu> gpu)
    : gr::block("rdma_to_device",
                io_signature::make(1, 1, bytes_of(config)),
                io_signature::make(1, 1, bytes_of(config), ring_buffer::type)),
      d_gpu(std::move(gpu)),
      d_item_bytes(static_cast<std::size_t>(bytes_of(config))),
      d_board(kernel_board::of(d_gpu)),
      d_stream(d_gpu->make_stream()),
      d_copies(*d_gpu)
{
}

std::shared_ptr<mem::ring_memory>
to_device_impl::output_ring(int, std::size_t item_bytes, std::size_t min_items)
{
    if (!d_ring) {
        mem::gpu_ring_config config;
        config.min_bytes = copy_ring_bytes(item_bytes, min_items);
        config.unit_bytes = item_bytes;
        d_ring = d_gpu->make_ring(config);
        d_staging = std::make_unique<pinned_ring>(
            d_gpu,
            4 * copy_part_items(item_bytes, config.min_bytes) * item_bytes,
            item_bytes);
    }
    return d_ring;
}

bool to_device_impl::start()
{
    d_started = nitems_written(0);
    d_copies.restart(d_started);
    d_failure.clear();
    return block::start();
}

bool to_device_impl::stop()
{
    // Nothing of ours writes the ring any more. The last copies may have failed where
    // nobody asks for more of them.
    int code = d_stream->synchronize();
    code = code != 0 ? code : ring_error();
    if (code != 0)
        failed(code, "a copy");
    return block::stop();
}

void to_device_impl::forecast(int, gr_vector_int& ninput_items_required)
{
    // While copies are under way there is work without input.
    ninput_items_required[0] = d_started > nitems_written(0) ? 0 : 1;
}

int to_device_impl::failed(int code, const char* what)
{
    const std::string text = identifier() + " on " + d_gpu->info().describe() + ": " +
                             d_board->describe(code, what);
    if (d_failure.set(text))
        d_logger->error("{:s}", text);
    return WORK_DONE;
}

// Readers get nothing more then; see ring_device::wrote().
int to_device_impl::ring_error() const
{
    auto* const ring = dynamic_cast<ring_buffer*>(detail()->output(0).get());
    return ring ? device_error_of(*ring) : 0;
}

int to_device_impl::general_work(int noutput_items,
                                 gr_vector_int& ninput_items,
                                 gr_vector_const_void_star& input_items,
                                 gr_vector_void_star& output_items)
{
    const std::uint64_t written = nitems_written(0);
    const auto room = static_cast<std::uint64_t>(noutput_items);
    const auto* in = static_cast<const std::uint8_t*>(input_items[0]);
    const std::uint64_t staging = d_staging->first_mapping().bytes / d_item_bytes;
    const std::uint64_t part =
        copy_part_items(d_item_bytes, d_ring->first_mapping().bytes);
    const auto there = static_cast<std::uint64_t>(ninput_items[0]);
    std::uint64_t done = d_copies.released();
    std::uint64_t taken = 0;
    while (taken < there) {
        const std::uint64_t ahead = d_started - written;
        const std::uint64_t n = std::min({ there - taken,
                                           room > ahead ? room - ahead : 0,
                                           staging - (d_started - done),
                                           part });
        if (n == 0)
            break;
        std::byte* const held =
            d_staging->first_mapping().host + d_started % staging * d_item_bytes;
        std::memcpy(held, in + taken * d_item_bytes, n * d_item_bytes);
        int code = d_stream->copy(address_of(output_items[0]) + ahead * d_item_bytes,
                                  address_of(held),
                                  n * d_item_bytes);
        if (code == 0)
            code = d_copies.push(d_started + n, *d_stream);
        if (code != 0)
            return failed(code, "the start of a copy");
        d_started += n;
        taken += n;
        done = d_copies.released();
    }
    consume_each(static_cast<int>(taken));
    if (taken == 0 && done == written && !d_copies.idle()) {
        const int code = d_copies.wait();
        if (code != 0)
            return failed(code, "a copy");
        done = d_copies.released();
    }
    if (d_copies.error() != 0)
        return failed(d_copies.error(), "a copy");
    if (const int code = ring_error(); code != 0)
        return failed(code, "showing the readers what was copied");
    return static_cast<int>(std::min(done - written, room));
}

} // namespace rdma
} // namespace gr
