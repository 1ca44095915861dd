/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "convert_impl.h"

#include "block_checks.h"
#include "dsp/convert.h"

#include <algorithm>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

namespace {

core::sample_type integers(const convert_config& config)
{
    const auto sample = core::parse_sample(config.sample);
    if (sample == core::sample_type::fc32)
        throw config_error("sample='fc32' is float already: leave the block out, or use "
                           "cu8, sc8, sc16 or byte");
    check_host_memory(config.memory, "converts");
    return sample;
}

// The larger item, so its limit is vlen's.
int output_bytes(const convert_config& config)
{
    return item_bytes(dsp::float_elements(integers(config)) * sizeof(float), config.vlen);
}

int input_bytes(const convert_config& config)
{
    output_bytes(config);
    return item_bytes(core::sample_bytes(integers(config)), config.vlen);
}

} // namespace

convert::sptr convert::make(const convert_config& config)
{
    return gnuradio::make_block_sptr<convert_impl>(config);
}

convert_impl::convert_impl(const convert_config& config)
    : gr::block("rdma_convert",
                io_signature::make(1, 1, input_bytes(config)),
                io_signature::make(1, 1, output_bytes(config))),
      d_sample(integers(config)),
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
