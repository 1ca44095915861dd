/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TO_DEVICE_IMPL_H
#define INCLUDED_RDMA_TO_DEVICE_IMPL_H

#include "block_failure.h"
#include "kernel_log.h"
#include "mem/gpu.h"
#include "pending_work.h"
#include "pinned_ring.h"
#include "ring_client.h"

#include <gnuradio/rdma/to_device.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

/*
 * Brings the GPU's ring as its output and writes it as a NIC would: what is produced is
 * there. Input goes into a page-locked ring first, so it is consumed at once and the copy
 * engine works by itself; a part of that ring is used again when its copy has come.
 */
class to_device_impl : public to_device, public ring_client
{
public:
    to_device_impl(const to_device_config& config, std::shared_ptr<mem::gpu> gpu);

    std::string memory() const override { return d_gpu->info().tag(); }
    std::string failure() const override { return d_failure.text(); }
    std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) override;
    std::shared_ptr<mem::gpu> output_gpu() const override { return d_gpu; }

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    //! \param what failed, if it was that call alone
    int failed(int code, const char* what);
    int ring_error() const;

    const std::shared_ptr<mem::gpu> d_gpu;
    const std::size_t d_item_bytes;
    const std::shared_ptr<kernel_board> d_board;
    const std::unique_ptr<mem::gpu_stream> d_stream;
    std::shared_ptr<mem::ring_memory> d_ring;
    std::unique_ptr<pinned_ring> d_staging; // as many items as it has, by position
    pending_work d_copies;
    std::uint64_t d_started = 0; // items whose copy is in the stream, or beyond
    block_failure d_failure;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TO_DEVICE_IMPL_H */
