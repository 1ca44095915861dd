/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

// Out of line, so that each type has one home and exceptions cross library borders.
config_error::~config_error() = default;
os_error::~os_error() = default;
out_of_memory::~out_of_memory() = default;
cuda_error::~cuda_error() = default;

} // namespace rdma
} // namespace gr
