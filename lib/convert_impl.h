/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CONVERT_IMPL_H
#define INCLUDED_RDMA_CONVERT_IMPL_H

#include "core/sample.h"

#include <gnuradio/rdma/convert.h>

namespace gr {
namespace rdma {

//! The conversion on the CPU.
class convert_impl : public convert
{
public:
    explicit convert_impl(const convert_config& config);
    std::string memory() const override { return "host"; }
    std::string failure() const override { return {}; }
    //! As many items as there are, not as many as there is room for.
    void forecast(int, gr_vector_int& ninput_items_required) override
    {
        ninput_items_required[0] = 1;
    }
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    const core::sample_type d_sample;
    const std::size_t d_vlen;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CONVERT_IMPL_H */
