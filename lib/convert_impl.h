/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CONVERT_IMPL_H
#define INCLUDED_RDMA_CONVERT_IMPL_H

#include "core/sample.h"

#include <gnuradio/rdma/convert.h>

namespace gr {
namespace rdma {

class convert_impl : public convert
{
public:
    explicit convert_impl(const convert_config& config);
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

private:
    const core::sample_type d_sample;
    const std::size_t d_vlen;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CONVERT_IMPL_H */
