/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PYTHON_FAILURE_H
#define INCLUDED_RDMA_PYTHON_FAILURE_H

#include <gnuradio/rdma/device_block.h>
#include <string>

namespace gr {
namespace rdma {
namespace python {

constexpr const char* failure_doc =
    "Why the block ended its stream, with its name; empty while all is well, and on the "
    "CPU.";

//! device_block's, of a block that is one where it works on a GPU. Any thread.
template <typename Block>
std::string failure_of(const Block& block)
{
    const auto* on_gpu = dynamic_cast<const device_block*>(&block);
    return on_gpu ? on_gpu->failure() : std::string();
}

} // namespace python
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_PYTHON_FAILURE_H */
