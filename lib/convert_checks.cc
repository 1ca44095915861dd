/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "convert_checks.h"

#include "block_checks.h"
#include "dsp/convert.h"

#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

core::sample_type convert_sample(const convert_config& config)
{
    constexpr const char* choices = "cu8, sc8, sc16 or byte";
    const auto sample = core::parse_sample(config.sample, "sample", choices);
    if (sample == core::sample_type::fc32)
        throw config_error(
            std::string("sample='fc32' is float already: leave the block out, "
                        "or use ") +
            choices);
    return sample;
}

// The larger item, so its limit is vlen's.
int convert_output_bytes(const convert_config& config)
{
    const auto elements = dsp::float_elements(convert_sample(config));
    return item_bytes(elements * sizeof(float), config.vlen);
}

int convert_input_bytes(const convert_config& config)
{
    convert_output_bytes(config);
    return item_bytes(core::sample_bytes(convert_sample(config)), config.vlen);
}

} // namespace rdma
} // namespace gr
