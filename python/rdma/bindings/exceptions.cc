/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "exceptions.h"

#include <exception>
#include <gnuradio/rdma/error.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace gr {
namespace rdma {
namespace python {

void translate_exceptions()
{
    py::register_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer)
                std::rethrow_exception(pointer);
        } catch (const config_error& error) {
            PyErr_SetString(PyExc_ValueError, error.what());
        } catch (const os_error& error) {
            const auto arguments = py::make_tuple(error.code().value(), error.what());
            PyErr_SetObject(PyExc_OSError, arguments.ptr());
        } catch (const out_of_memory& error) {
            PyErr_SetString(PyExc_MemoryError, error.what());
        }
    });
}

} // namespace python
} // namespace rdma
} // namespace gr
