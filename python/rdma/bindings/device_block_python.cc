/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/rdma/device_block.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace {

using gr::rdma::device_block;

constexpr const char* class_doc =
    R"(The base of blocks whose work is CUDA kernels, written in C++.

There is nothing to make of it in Python. A block derived from it in C++ needs its own binding,
which names this class as its base, and imports gnuradio.rdma first:

  py::module_::import("gnuradio.rdma");
  py::class_<scale, gr::rdma::device_block, std::shared_ptr<scale>>(m, "scale")

Exceptions out of its constructor, and out of start() of its flowgraph, come as those of this
module's blocks.)";

} // namespace

void bind_device_block(py::module_& m)
{
    py::class_<device_block, gr::block, gr::basic_block, std::shared_ptr<device_block>>(
        m, "device_block", class_doc)
        .def("device",
             &device_block::device,
             py::call_guard<py::gil_scoped_release>(),
             "The GPU at work, such as cuda:0.")
        .def("failure",
             &device_block::failure,
             py::call_guard<py::gil_scoped_release>(),
             "Why the block ended its stream, with its name; empty while all is well.");
}
