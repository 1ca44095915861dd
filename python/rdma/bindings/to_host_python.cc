/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "argument.h"
#include "gpu_methods.h"

#include <gnuradio/rdma/to_host.h>

namespace py = pybind11;

namespace {

using namespace gr::rdma::python;
using gr::rdma::to_host;
using gr::rdma::to_host_config;

constexpr const char* class_doc =
    R"(Samples in a GPU's memory in, the same samples in host memory out.

Ordinary blocks may read what a GPU block writes without it. It is for blocks that take
this module's rings in host memory. Several copies are under way at once. Tags are passed on.

  sample            cu8, sc8, sc16, fc32 or byte
  vlen              samples per item, in and out
  memory            the GPU: auto (the first that can be used, else none) or cuda: with a
                    number, UUID or PCI address; host: none, a copy in host memory
  wait              on a GPU, how to wait for input: event (sleep) or busy (spin, on a CPU
                    of its own)

Raises
  ValueError        a parameter is wrong, or names no GPU that can be used
  TypeError         a parameter is of another type, named likewise
  rdma.CudaError    the driver failed)";

to_host::sptr make(const str_argument& sample,
                   const int_argument& vlen,
                   const str_argument& memory,
                   const str_argument& wait)
{
    to_host_config c;
    c.sample = text_of(sample, "sample");
    c.vlen = number_of<std::size_t>(vlen, "vlen");
    c.memory = text_of(memory, "memory");
    c.wait = text_of(wait, "wait");

    py::gil_scoped_release release;
    return to_host::make(c);
}

} // namespace

void bind_to_host(py::module_& m)
{
    const to_host_config d; // the defaults, in one place
    py::class_<to_host, gr::block, gr::basic_block, std::shared_ptr<to_host>> block(
        m, "to_host", class_doc);
    block.def(py::init(&make),
              py::kw_only(),
              py::arg("sample") = d.sample,
              py::arg("vlen") = d.vlen,
              py::arg("memory") = d.memory,
              py::arg("wait") = d.wait);
    def_gpu_methods(block);
}
