/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CONVERT_CHECKS_H
#define INCLUDED_RDMA_CONVERT_CHECKS_H

#include "core/sample.h"

#include <gnuradio/rdma/convert.h>

namespace gr {
namespace rdma {

//! What comes in. \throws config_error sample is none that is converted
core::sample_type convert_sample(const convert_config& config);
//! Bytes of an item on either side. \throws config_error sample or vlen is wrong
int convert_input_bytes(const convert_config& config);
int convert_output_bytes(const convert_config& config);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CONVERT_CHECKS_H */
