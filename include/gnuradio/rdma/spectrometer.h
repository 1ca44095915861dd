/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPECTROMETER_H
#define INCLUDED_RDMA_SPECTROMETER_H

#include <cstddef>
#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/fft/window.h>
#include <gnuradio/rdma/api.h>
#include <string>

namespace gr {
namespace rdma {

//! Parameters of rdma.spectrometer.
struct RDMA_API spectrometer_config {
    std::string sample = "sc16"; //!< cu8, sc8, sc16, fc32 or byte
    std::size_t vlen = 1;        //!< samples per input item, as the source's
    std::size_t length = 1024;   //!< transform length: a power of two, 16 to 65536
    fft::window::win_type window =
        fft::window::WIN_HANN;      //!< GNU Radio's own window types
    double window_parameter = 6.76; //!< beta of the Kaiser window and its like
    unsigned average = 1;           //!< transforms per output vector
    std::size_t overlap = 0; //!< samples shared by neighbouring transforms, below length
    std::string scaling = "spectrum"; //!< spectrum or density, as scipy.signal.welch
    bool fftshift = true;             //!< zero frequency in the middle
    double rate = 1;                  //!< samples per second; scales density
    std::string memory = "auto";      //!< auto, host or cuda:N: where the input lives
};

/*!
 * \brief Samples in, averaged linear power spectra out: float vectors of `length` bins.
 * \ingroup rdma
 *
 * Convert, window, FFT, squared magnitude, average over `average` transforms. Scaling
 * follows scipy.signal.welch with return_onesided=False, detrend=False: "spectrum" is
 * power per bin (V**2, divided by sum(w)**2), "density" is V**2/Hz (divided by rate *
 * sum(w**2)). Integer samples are scaled to full scale 1: sc8 and byte by 1/128, sc16 by
 * 1/32768, cu8 as (x - 127.5)/128. The window is the periodic form of GNU Radio's window
 * of that name.
 *
 * A gap (tag rx_gap, or packet_len shorter than its slot) never lies inside a transform:
 * the partial frame and the partial average in front of it are dropped and counted.
 *
 * Output tags: rx_time of the first sample of each average (where the stream states time
 * and rate), rx_rate (spectra per second) and rx_freq at the start and on change.
 */
class RDMA_API spectrometer : virtual public gr::block
{
public:
    using sptr = std::shared_ptr<spectrometer>;

    //! \throws config_error a parameter is wrong; named, with the value and what would be
    //! right
    static sptr make(const spectrometer_config& config);

    //! Spectra produced. Any thread.
    virtual std::uint64_t spectra() const = 0;
    //! Samples that went into no spectrum because a gap cut their frame or average. Any
    //! thread.
    virtual std::uint64_t samples_dropped() const = 0;
    //! Frames cut by a gap. Any thread.
    virtual std::uint64_t frames_dropped() const = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTROMETER_H */
