/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CONVERT_DEVICE_H
#define INCLUDED_RDMA_CONVERT_DEVICE_H

#include "core/sample.h"

#include <gnuradio/rdma/convert.h>
#include <gnuradio/rdma/device_block.h>

namespace gr {
namespace rdma {

//! The conversion on a GPU: both sides are rings in its memory. Only in builds with CUDA.
class convert_device : public convert, public device_block
{
public:
    explicit convert_device(const convert_config& config);
    std::string memory() const override { return device(); }
    std::string failure() const override { return device_block::failure(); }
    //! As many items as there are, not as many as there is room for.
    void forecast(int, gr_vector_int& ninput_items_required) override
    {
        ninput_items_required[0] = 1;
    }
    int device_work(int noutput_items,
                    gr_vector_int& ninput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items) override;

private:
    const core::sample_type d_sample;
    const std::size_t d_in_bytes;   // per item
    const std::size_t d_out_floats; // per item
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CONVERT_DEVICE_H */
