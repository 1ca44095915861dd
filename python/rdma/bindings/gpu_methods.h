/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PYTHON_GPU_METHODS_H
#define INCLUDED_RDMA_PYTHON_GPU_METHODS_H

#include <pybind11/pybind11.h>

namespace gr {
namespace rdma {
namespace python {

//! The methods that all blocks for the CPU or a GPU have.
template <typename Block, typename... Bases>
void def_gpu_methods(pybind11::class_<Block, Bases...>& block)
{
    block
        .def("memory",
             &Block::memory,
             pybind11::call_guard<pybind11::gil_scoped_release>(),
             "The GPU at work, such as cuda:0; host where it works on the CPU. Where "
             "memory=auto may be either, it is known once the flowgraph has started.")
        .def("failure",
             &Block::failure,
             pybind11::call_guard<pybind11::gil_scoped_release>(),
             "Why the block ended its stream on the GPU, with its name; empty while all "
             "is well, and on the CPU.");
}

} // namespace python
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_PYTHON_GPU_METHODS_H */
