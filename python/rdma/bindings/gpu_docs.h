/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PYTHON_GPU_DOCS_H
#define INCLUDED_RDMA_PYTHON_GPU_DOCS_H

namespace gr {
namespace rdma {
namespace python {

// Of methods that all blocks for the CPU or a GPU have.
constexpr const char* memory_doc =
    "The GPU at work, such as cuda:0; host where it works on the CPU. Where memory=auto "
    "may be either, it is known once the flowgraph has started.";
constexpr const char* failure_doc =
    "Why the block ended its stream on the GPU, with its name; empty while all is well, "
    "and on the CPU.";

} // namespace python
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_PYTHON_GPU_DOCS_H */
