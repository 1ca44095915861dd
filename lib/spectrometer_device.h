/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPECTROMETER_DEVICE_H
#define INCLUDED_RDMA_SPECTROMETER_DEVICE_H

#include "gpu_spectrum_engine.h"
#include "ring_client.h"
#include "spectrometer_common.h"

#include <gnuradio/rdma/device_block.h>

#include <atomic>
#include <memory>

namespace gr {
namespace rdma {

/*
 * The spectrometer on a GPU, or with memory=auto behind a ring in host memory on the CPU,
 * which only start() can tell. Vectors come back to host memory, so the output is a host
 * ring of our own: an output that declared no ring would hide from GNU Radio up
 * to 3.10.12 that the input is one.
 */
class spectrometer_device : public spectrometer_common,
                            public device_block,
                            public ring_client
{
public:
    explicit spectrometer_device(const spectrometer_config& config);

    std::string memory() const override { return d_on_host ? "host" : device(); }
    std::string failure() const override { return device_block::failure(); }
    std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) override;

    bool start() override;
    bool stop() override;
    int device_work(int noutput_items,
                    gr_vector_int& ninput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items) override;

protected:
    bool reads_host_rings() const override { return d_auto; }

private:
    const dsp::spectrum_config d_config;
    std::shared_ptr<mem::ring_memory> d_ring;
    const bool d_auto;                         // memory=auto
    std::atomic<bool> d_on_host{ false };      // of this run: the input is a host ring
    std::unique_ptr<spectrum_engine> d_engine; // of one run
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTROMETER_DEVICE_H */
