/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "argument.h"
#include "gpu_methods.h"

#include <gnuradio/rdma/to_device.h>

namespace py = pybind11;

namespace {

using namespace gr::rdma::python;
using gr::rdma::to_device;
using gr::rdma::to_device_config;

constexpr const char* class_doc =
    R"(Samples in host memory in, the same samples in a GPU's memory out.

What an ordinary block writes goes to a GPU block without it. It is for rings of this
module in host memory, such as rdma.source's with memory=host. Several copies are under
way at once, through page-locked memory. Tags are passed on.

  sample            cu8, sc8, sc16, fc32 or byte
  vlen              samples per item, in and out
  memory            the GPU: auto (the first that can be used, else none) or cuda: with a
                    number, UUID or PCI address; host: none, a copy in host memory

Raises
  ValueError        a parameter is wrong, or names no GPU that can be used
  TypeError         a parameter is of another type, named likewise
  rdma.CudaError    the driver failed)";

to_device::sptr
make(const str_argument& sample, const int_argument& vlen, const str_argument& memory)
{
    to_device_config c;
    c.sample = text_of(sample, "sample");
    c.vlen = number_of<std::size_t>(vlen, "vlen");
    c.memory = text_of(memory, "memory");

    py::gil_scoped_release release;
    return to_device::make(c);
}

} // namespace

void bind_to_device(py::module_& m)
{
    const to_device_config d; // the defaults, in one place
    py::class_<to_device, gr::block, gr::basic_block, std::shared_ptr<to_device>> block(
        m, "to_device", class_doc);
    block.def(py::init(&make),
              py::kw_only(),
              py::arg("sample") = d.sample,
              py::arg("vlen") = d.vlen,
              py::arg("memory") = d.memory);
    def_gpu_methods(block);
}
