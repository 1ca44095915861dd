/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The Python module qa_faulty_block: somebody's own GPU block, whose kernel faults.
#include "testing/pattern_kernels.h"

#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/device_block.h>
#include <pybind11/pybind11.h>

#include <algorithm>

namespace py = pybind11;

namespace {

class faulty : public gr::rdma::device_block
{
public:
    //! \param fault_at the kernel behind the round with this item faults
    faulty(std::uint64_t fault_at, const std::string& memory)
        : gr::block("faulty", floats(), floats()),
          device_block(memory),
          d_fault_at(fault_at)
    {
    }
    int device_work(int room,
                    gr_vector_int& there,
                    gr_vector_const_void_star&,
                    gr_vector_void_star& out) override
    {
        const int n = std::min(room, there[0]);
        const auto items = static_cast<std::uint64_t>(n);
        check(gr::rdma::testing::launch_pattern(
                  static_cast<std::uint32_t*>(out[0]), nitems_read(0), items, stream()),
              "launch_pattern");
        if (nitems_read(0) + items > d_fault_at)
            check(gr::rdma::testing::launch_fault(stream()), "launch_fault");
        consume_each(n);
        return n;
    }

private:
    static gr::io_signature::sptr floats()
    {
        return gr::io_signature::make(1, 1, sizeof(float), gr::rdma::ring_buffer::type);
    }
    const std::uint64_t d_fault_at;
};

} // namespace

PYBIND11_MODULE(qa_faulty_block, m)
{
    py::module_::import("gnuradio.rdma");
    py::class_<faulty, gr::rdma::device_block, std::shared_ptr<faulty>>(m, "faulty")
        .def(py::init([](std::uint64_t fault_at, const std::string& memory) {
                 return gnuradio::make_block_sptr<faulty>(fault_at, memory);
             }),
             py::arg("fault_at"),
             py::arg("memory"));
}
