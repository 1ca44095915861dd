/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "exceptions.h"

#include <pybind11/pybind11.h>

namespace py = pybind11;

void bind_convert(py::module_& m);
void bind_device_block(py::module_& m);
void bind_source(py::module_& m);
void bind_spectrometer(py::module_& m);
void bind_to_device(py::module_& m);
void bind_to_host(py::module_& m);

PYBIND11_MODULE(rdma_python, m)
{
    // The base class gr.block must be registered before ours can name it.
    py::module_::import("gnuradio.gr");
    gr::rdma::python::translate_exceptions(m);
    bind_convert(m);
    bind_device_block(m);
    bind_source(m);
    bind_spectrometer(m);
    bind_to_device(m);
    bind_to_host(m);
}
