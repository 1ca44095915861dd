/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "argument.h"
#include "gpu_methods.h"

#include <gnuradio/rdma/spectrometer.h>

namespace py = pybind11;

namespace {

using namespace gr::rdma::python;
using gr::rdma::spectrometer;
using gr::rdma::spectrometer_config;

constexpr const char* class_doc =
    R"(Samples in, averaged linear power spectra out: vectors of `length` floats.

Convert, window, FFT, squared magnitude, average. Integer samples are scaled to full scale
1. A gap (tag rx_gap) never lies inside a transform: the partial frame and average in front
of it are dropped and counted. The zeros behind a message shorter than its slot are left
out.

  sample            cu8, sc8, sc16, fc32 or byte, as the source's
  vlen              samples per input item
  length            bins per spectrum: a power of two, 16 to 65536
  window            a member of gnuradio.fft.window.win_type, or its name such as 'hann'
  window_parameter  Kaiser: beta; exponential: decay in dB; Gaussian: sigma; Tukey: alpha
  average           transforms per output vector
  overlap           samples shared by neighbouring transforms, below length
  scaling           spectrum (V**2) or density (V**2/Hz), as scipy.signal.welch with
                    return_onesided=False, detrend=False
  fftshift          zero frequency in the middle
  rate              samples per second: scales density, and counts time where no rx_rate
                    is tagged; 1 counts no time
  memory            where the input is and the work is done: auto (the first GPU that can
                    be used, else host), host, or cuda: with a number, UUID or PCI address
  wait              on a GPU, how to wait for input: event (sleep) or busy (spin, on a CPU
                    of its own)

Output tags: rx_time of each vector's first sample, rx_rate in spectra per second, rx_freq,
rx_gap; from the input's tags.

Raises
  ValueError        a parameter is wrong: its name, the value, and what would be right
  TypeError         a parameter is of another type, named likewise
  rdma.CudaError    the GPU's driver failed, or this build has no code for the GPU that
                    memory names)";

spectrometer::sptr make(const str_argument& sample,
                        const int_argument& vlen,
                        const int_argument& length,
                        const py::object& window,
                        const float_argument& window_parameter,
                        const int_argument& average,
                        const int_argument& overlap,
                        const str_argument& scaling,
                        const bool_argument& fftshift,
                        const float_argument& rate,
                        const str_argument& memory,
                        const str_argument& wait)
{
    spectrometer_config c;
    c.sample = text_of(sample, "sample");
    c.vlen = number_of<std::size_t>(vlen, "vlen");
    c.length = number_of<std::size_t>(length, "length");
    c.window = window_of(window, "window");
    c.window_parameter = real_of(window_parameter, "window_parameter");
    c.average = number_of<unsigned>(average, "average");
    c.overlap = number_of<std::size_t>(overlap, "overlap");
    c.scaling = text_of(scaling, "scaling");
    c.fftshift = flag_of(fftshift, "fftshift");
    c.rate = real_of(rate, "rate");
    c.memory = text_of(memory, "memory");
    c.wait = text_of(wait, "wait");

    py::gil_scoped_release release;
    return spectrometer::make(c);
}

} // namespace

void bind_spectrometer(py::module_& m)
{
    const spectrometer_config d; // the defaults, in one place
    const auto release = py::call_guard<py::gil_scoped_release>();

    py::class_<spectrometer, gr::block, gr::basic_block, std::shared_ptr<spectrometer>>
        block(m, "spectrometer", class_doc);
    block
        .def(py::init(&make),
             py::kw_only(),
             py::arg("sample") = d.sample,
             py::arg("vlen") = d.vlen,
             py::arg("length") = d.length,
             py::arg("window") = window_name(d.window),
             py::arg("window_parameter") = d.window_parameter,
             py::arg("average") = d.average,
             py::arg("overlap") = d.overlap,
             py::arg("scaling") = d.scaling,
             py::arg("fftshift") = d.fftshift,
             py::arg("rate") = d.rate,
             py::arg("memory") = d.memory,
             py::arg("wait") = d.wait)
        .def("spectra", &spectrometer::spectra, release, "Spectra produced.")
        .def("samples_dropped",
             &spectrometer::samples_dropped,
             release,
             "Samples in no spectrum because a gap cut their frame or average.")
        .def("frames_dropped",
             &spectrometer::frames_dropped,
             release,
             "Frames that a gap cut, or whose average it cut.");
    def_gpu_methods(block);
}
