/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPECTROMETER_IMPL_H
#define INCLUDED_RDMA_SPECTROMETER_IMPL_H

#include "spectrometer_common.h"

#include <memory>

namespace gr {
namespace rdma {

//! The spectrometer on the CPU.
class spectrometer_impl : public spectrometer_common
{
public:
    //! \param engine null: the host's, for config
    explicit spectrometer_impl(const spectrometer_config& config,
                               std::unique_ptr<spectrum_engine> engine = nullptr);
    std::string memory() const override { return "host"; }
    std::string failure() const override { return {}; }
    bool start() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    const std::unique_ptr<spectrum_engine> d_engine;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTROMETER_IMPL_H */
