/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrometer_device.h"

#include "cuda/device.h"
#include "mem/gpu.h"
#include "mem/host_ring.h"
#include "readers.h"
#include "spectrometer_checks.h"

#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

spectrometer_device::spectrometer_device(const spectrometer_config& config)
    : gr::block("rdma_spectrometer",
                io_signature::make(1, 1, item_bytes(config), ring_buffer::type),
                io_signature::make(
                    1,
                    1,
                    static_cast<int>(spectrum_config(config).length * sizeof(float)),
                    ring_buffer::type)),
      spectrometer_common(config),
      device_block(config.memory, config.wait),
      d_config(spectrum_config(config)),
      d_auto(config.memory == "auto")
{
    // A build without code for this GPU is told to the one who named it.
    if (!d_auto)
        cuda::try_kernel(gpu()->info().ordinal);
}

std::shared_ptr<mem::ring_memory>
spectrometer_device::output_ring(int, std::size_t item_bytes, std::size_t min_items)
{
    constexpr std::uint64_t usual = 1 << 20;
    if (!d_ring) {
        mem::host_ring_config ring;
        ring.unit_bytes = item_bytes;
        ring.min_bytes = std::max<std::uint64_t>(
            usual, std::uint64_t(item_bytes) * std::max<std::size_t>(min_items, 4));
        d_ring = std::make_shared<mem::host_ring>(ring);
    }
    return d_ring;
}

bool spectrometer_device::start()
{
    set_engine(nullptr);
    d_engine.reset();
    d_on_host = d_auto && reads_host_ring(*this);
    return d_on_host ? start_on_host() : device_block::start();
}

bool spectrometer_device::stop()
{
    set_engine(nullptr);
    d_engine.reset();
    return device_block::stop();
}

int spectrometer_device::device_work(int noutput_items,
                                     gr_vector_int& ninput_items,
                                     gr_vector_const_void_star& input_items,
                                     gr_vector_void_star& output_items)
{
    if (!d_engine) {
        // Here, where what is thrown ends the flowgraph with this block's name.
        if (d_on_host) {
            d_engine = make_host_engine(d_config);
        } else {
            const int device = gpu()->info().ordinal;
            cuda::try_kernel(device);
            d_engine = std::make_unique<gpu_engine>(d_config, device, stream());
        }
        set_engine(d_engine.get());
        start_over();
    }
    const int produced = run(noutput_items,
                             ninput_items[0],
                             input_items[0],
                             static_cast<float*>(output_items[0]));
    if (!d_engine->failure().empty())
        throw cuda_error(0, d_engine->failure());
    return produced;
}

} // namespace rdma
} // namespace gr
