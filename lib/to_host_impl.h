/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TO_HOST_IMPL_H
#define INCLUDED_RDMA_TO_HOST_IMPL_H

#include "pending_work.h"
#include "pinned_ring.h"
#include "ring_client.h"

#include <gnuradio/rdma/device_block.h>
#include <gnuradio/rdma/to_host.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {

/*
 * The output is a page-locked ring of our own, so copies go straight to where the items
 * are read. Input is consumed when its copy is in the stream; output is produced when the
 * copy has come. With memory=auto behind a ring in host memory, which only start() can
 * tell, the CPU copies.
 */
class to_host_impl : public to_host, public device_block, public ring_client
{
public:
    explicit to_host_impl(const to_host_config& config);

    std::string memory() const override { return d_on_host ? "host" : device(); }
    std::string failure() const override { return device_block::failure(); }
    std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) override;

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;
    int device_work(int noutput_items,
                    gr_vector_int& ninput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items) override;

protected:
    bool reads_host_rings() const override { return d_auto; }

private:
    const std::size_t d_item_bytes;
    const bool d_auto;                    // memory=auto
    std::atomic<bool> d_on_host{ false }; // of this run: the input is a host ring
    std::shared_ptr<pinned_ring> d_ring;
    pending_work d_copies;
    std::uint64_t d_started = 0; // items whose copy is in the stream, or beyond
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TO_HOST_IMPL_H */
