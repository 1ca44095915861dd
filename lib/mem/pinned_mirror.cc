/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/pinned_mirror.h"

namespace gr {
namespace rdma {
namespace mem {

namespace {

host_ring_config of_length(std::uint64_t bytes)
{
    host_ring_config config;
    config.min_bytes = bytes;
    config.prefault = true; // it is pinned at once
    return config;
}

} // namespace

pinned_mirror::pinned_mirror(std::shared_ptr<gpu> device, std::uint64_t bytes)
    : d_gpu(std::move(device)),
      d_ring(of_length(bytes)),
      d_pinned(d_gpu->pin(d_ring.first_mapping().host, 2 * d_ring.first_mapping().bytes))
{
}

staged_ring::staged_ring(std::shared_ptr<gpu> device, std::shared_ptr<ring_memory> ring)
    : d_ring(std::move(ring)),
      d_mirror(std::make_shared<pinned_mirror>(std::move(device),
                                               d_ring->first_mapping().bytes))
{
}

void staged_ring::zero(std::uint64_t offset, std::uint64_t bytes)
{
    d_ring->zero(offset, bytes);
    d_mirror->zero(offset, bytes);
}

} // namespace mem
} // namespace rdma
} // namespace gr
