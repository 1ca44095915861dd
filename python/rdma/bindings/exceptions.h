/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PYTHON_EXCEPTIONS_H
#define INCLUDED_RDMA_PYTHON_EXCEPTIONS_H

#include <pybind11/pybind11.h>

namespace gr {
namespace rdma {
namespace python {

/*!
 * \brief config_error becomes ValueError, os_error OSError (errno set, so that
 * PermissionError and its like come out), out_of_memory MemoryError, cuda_error
 * CudaError, a type that \p m gets.
 *
 * For every module of the process that shares pybind11's registry: what our blocks throw
 * while GNU Radio's own binding of start() builds the flowgraph is translated too.
 */
void translate_exceptions(pybind11::module_& m);

} // namespace python
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_PYTHON_EXCEPTIONS_H */
