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

namespace {
// Lives as long as the process: blocks may throw while the interpreter ends.
PyObject* cuda_error_type = nullptr;
} // namespace

void translate_exceptions(py::module_& m)
{
    cuda_error_type =
        PyErr_NewExceptionWithDoc("gnuradio.rdma.CudaError",
                                  "A CUDA call failed; `code` is CUDA's number for it.",
                                  PyExc_RuntimeError,
                                  nullptr);
    if (!cuda_error_type)
        throw py::error_already_set();
    m.attr("CudaError") = py::handle(cuda_error_type);
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
        } catch (const cuda_error& error) {
            const py::object made = py::handle(cuda_error_type)(error.what());
            made.attr("code") = error.code();
            PyErr_SetObject(cuda_error_type, made.ptr());
        }
    });
}

} // namespace python
} // namespace rdma
} // namespace gr
