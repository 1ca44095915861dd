/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "argument.h"
#include "gpu_methods.h"

#include <gnuradio/rdma/convert.h>

namespace py = pybind11;

namespace {

using namespace gr::rdma::python;
using gr::rdma::convert;
using gr::rdma::convert_config;

constexpr const char* class_doc =
    R"(Integer samples in, floats of full scale 1 out, sample by sample.

Complex types become gr_complex, byte becomes float; sc8 and byte by 1/128, sc16 by
1/32768, cu8 as (x - 127.5)/128. Tags are passed on.

  sample            cu8, sc8, sc16 or byte, as the source's
  vlen              samples per item, in and out
  memory            where the samples are and the floats go: auto (the first GPU that can
                    be used, else host), host, or cuda: with a number, UUID or PCI address
  wait              on a GPU, how to wait for input: event (sleep) or busy (spin, on a CPU
                    of its own)

Raises
  ValueError        a parameter is wrong: its name, the value, and what would be right
  TypeError         a parameter is of another type, named likewise
  rdma.CudaError    the GPU's driver failed, or this build has no code for the GPU that
                    memory names)";

convert::sptr make(const str_argument& sample,
                   const int_argument& vlen,
                   const str_argument& memory,
                   const str_argument& wait)
{
    convert_config c;
    c.sample = text_of(sample, "sample");
    c.vlen = number_of<std::size_t>(vlen, "vlen");
    c.memory = text_of(memory, "memory");
    c.wait = text_of(wait, "wait");

    py::gil_scoped_release release;
    return convert::make(c);
}

} // namespace

void bind_convert(py::module_& m)
{
    const convert_config d; // the defaults, in one place
    py::class_<convert, gr::block, gr::basic_block, std::shared_ptr<convert>> block(
        m, "convert", class_doc);
    block.def(py::init(&make),
              py::kw_only(),
              py::arg("sample") = d.sample,
              py::arg("vlen") = d.vlen,
              py::arg("memory") = d.memory,
              py::arg("wait") = d.wait);
    def_gpu_methods(block);
}
