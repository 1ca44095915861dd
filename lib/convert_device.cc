/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "convert_device.h"

#include "convert_checks.h"
#include "cuda/convert.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "mem/gpu.h"

#include <algorithm>
#include <gnuradio/io_signature.h>

namespace gr {
namespace rdma {

convert_device::convert_device(const convert_config& config)
    : gr::block(
          "rdma_convert",
          io_signature::make(1, 1, convert_input_bytes(config), ring_buffer::type),
          io_signature::make(1, 1, convert_output_bytes(config), ring_buffer::type)),
      device_block(config.memory, config.wait),
      d_sample(convert_sample(config)),
      d_in_bytes(static_cast<std::size_t>(convert_input_bytes(config))),
      d_out_floats(static_cast<std::size_t>(convert_output_bytes(config)) / sizeof(float))
{
    // A build without code for this GPU is told to the one who named it.
    if (config.memory != "auto")
        cuda::try_kernel(gpu()->info().ordinal);
}

int convert_device::device_work(int noutput_items,
                                gr_vector_int& ninput_items,
                                gr_vector_const_void_star& input_items,
                                gr_vector_void_star& output_items)
{
    const int n = std::min(noutput_items, ninput_items[0]);
    const auto items = static_cast<std::size_t>(n);
    cuda::check(cuda::launch_convert(
                    d_sample,
                    { input_items[0], items * d_in_bytes },
                    { static_cast<float*>(output_items[0]), items * d_out_floats },
                    stream()),
                "launch of convert_kernel");
    consume_each(n);
    return n;
}

} // namespace rdma
} // namespace gr
