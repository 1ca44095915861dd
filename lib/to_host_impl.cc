/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "to_host_impl.h"

#include "block_checks.h"
#include "copy_parts.h"
#include "core/sample.h"
#include "gpu_choice.h"
#include "host_copy.h"
#include "readers.h"

#include <algorithm>
#include <cstring>
#include <gnuradio/io_signature.h>

namespace gr {
namespace rdma {

namespace {

int bytes_of(const to_host_config& config)
{
    return item_bytes(core::sample_bytes(core::parse_sample(config.sample)), config.vlen);
}

} // namespace

to_host::sptr to_host::make(const to_host_config& config)
{
    const int bytes = bytes_of(config);
    check_wait(config.wait, config.memory);
    if (!choose_gpu(config.memory).gpu)
        return gnuradio::make_block_sptr<host_copy<to_host>>("rdma_to_host", bytes);
    return gnuradio::make_block_sptr<to_host_impl>(config);
}

to_host_impl::to_host_impl(const to_host_config& config)
    : gr::block("rdma_to_host",
                io_signature::make(1, 1, bytes_of(config), ring_buffer::type),
                io_signature::make(1, 1, bytes_of(config), ring_buffer::type)),
      device_block(config.memory, config.wait),
      d_item_bytes(static_cast<std::size_t>(bytes_of(config))),
      d_auto(config.memory == "auto"),
      d_copies(*gpu())
{
}

std::shared_ptr<mem::ring_memory>
to_host_impl::output_ring(int, std::size_t item_bytes, std::size_t min_items)
{
    if (!d_ring)
        d_ring = std::make_shared<pinned_ring>(
            gpu(), copy_ring_bytes(item_bytes, min_items), item_bytes);
    return d_ring;
}

bool to_host_impl::start()
{
    d_on_host = d_auto && reads_host_ring(*this);
    const bool started = d_on_host ? start_on_host() : device_block::start();
    d_started = nitems_written(0);
    d_copies.restart(d_started);
    return started;
}

void to_host_impl::forecast(int, gr_vector_int& ninput_items_required)
{
    // While copies are under way there is work without input.
    ninput_items_required[0] = d_started > nitems_written(0) ? 0 : 1;
}

int to_host_impl::device_work(int noutput_items,
                              gr_vector_int& ninput_items,
                              gr_vector_const_void_star& input_items,
                              gr_vector_void_star& output_items)
{
    if (d_on_host) {
        const int n = std::min(noutput_items, ninput_items[0]);
        std::memcpy(
            output_items[0], input_items[0], static_cast<std::size_t>(n) * d_item_bytes);
        consume_each(n);
        d_started += static_cast<std::uint64_t>(n);
        return n;
    }
    const std::uint64_t written = nitems_written(0);
    const auto room = static_cast<std::uint64_t>(noutput_items);
    const std::uint64_t ahead = d_started - written;
    const std::uint64_t part =
        copy_part_items(d_item_bytes, d_ring->first_mapping().bytes);
    const std::uint64_t n = std::min({ static_cast<std::uint64_t>(ninput_items[0]),
                                       room > ahead ? room - ahead : 0,
                                       part });
    if (n != 0) {
        check(queue().copy(address_of(output_items[0]) + ahead * d_item_bytes,
                           address_of(input_items[0]),
                           n * d_item_bytes),
              "cudaMemcpyAsync");
        d_started += n;
        check(d_copies.push(d_started, queue()), "cudaEventRecord");
        consume_each(static_cast<int>(n));
    }
    std::uint64_t done = d_copies.released();
    if (n == 0 && done == written && !d_copies.idle()) {
        check(d_copies.wait(), "cudaEventSynchronize");
        done = d_copies.released();
    }
    check(d_copies.error(), "the copy to host memory");
    return static_cast<int>(std::min(done - written, room));
}

} // namespace rdma
} // namespace gr
