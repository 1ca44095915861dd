/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "convert_impl.h"

#include "block_checks.h"
#include "convert_checks.h"
#include "dsp/convert.h"
#include "gpu_choice.h"
#ifdef RDMA_HAVE_CUDA
#include "convert_device.h"
#endif

#include <algorithm>
#include <gnuradio/io_signature.h>

namespace gr {
namespace rdma {

convert::sptr convert::make(const convert_config& config)
{
    // A wrong parameter is told before a GPU is looked for.
    convert_input_bytes(config);
    check_wait(config.wait, config.memory);
    const bool on_gpu = choose_gpu(config.memory).gpu != nullptr;
#ifdef RDMA_HAVE_CUDA
    if (on_gpu)
        return gnuradio::make_block_sptr<convert_device>(config);
#else
    (void)on_gpu; // never: it has been refused
#endif
    return gnuradio::make_block_sptr<convert_impl>(config);
}

convert_impl::convert_impl(const convert_config& config)
    : gr::block("rdma_convert",
                io_signature::make(1, 1, convert_input_bytes(config)),
                io_signature::make(1, 1, convert_output_bytes(config))),
      d_sample(convert_sample(config)),
      d_vlen(config.vlen)
{
}

int convert_impl::general_work(int noutput_items,
                               gr_vector_int& ninput_items,
                               gr_vector_const_void_star& input_items,
                               gr_vector_void_star& output_items)
{
    const int n = std::min(noutput_items, ninput_items[0]);
    dsp::convert(d_sample,
                 input_items[0],
                 static_cast<std::size_t>(n) * d_vlen,
                 static_cast<float*>(output_items[0]));
    consume_each(n);
    return n;
}

} // namespace rdma
} // namespace gr
