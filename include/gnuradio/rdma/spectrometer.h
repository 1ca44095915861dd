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
        fft::window::WIN_HANN; //!< GNU Radio's own window types
    //! Kaiser: beta. Exponential: decay in dB. Gaussian: sigma. Tukey: alpha, 0 to 1.
    double window_parameter = 6.76;
    unsigned average = 1;    //!< transforms per output vector
    std::size_t overlap = 0; //!< samples shared by neighbouring transforms, below length
    std::string scaling = "spectrum"; //!< spectrum or density, as scipy.signal.welch
    bool fftshift = true;             //!< zero frequency in the middle
    //! Samples per second: scales density, and counts time where no rx_rate is tagged. 1
    //! counts no time.
    double rate = 1;
    //! Where the input is and the work is done: host, cuda: with a GPU's number, UUID or
    //! PCI address, or auto: the first GPU that can be used, but the CPU behind a ring in
    //! host memory, and where there is no GPU.
    std::string memory = "auto";
    //! On a GPU, how to wait for input: event (sleep), or busy: spin, which answers
    //! within microseconds and takes a CPU of its own.
    std::string wait = "event";
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
 * Vector j after the start or a gap begins at sample j * average * (length - overlap),
 * and input may arrive in any pieces: the same samples give the same bits. What is left
 * at the end of the stream fills no vector and is not put out.
 *
 * A gap (tag rx_gap) never lies inside a transform: the partial frame and the partial
 * average in front of it are dropped and counted, and a new series begins at the tag. The
 * same holds when the flowgraph starts again.
 *
 * The zeros that rdma.source puts behind a message shorter than its slot are no samples:
 * what lies between the end that packet_len states and the next packet_len, rx_buffer or
 * rx_gap is left out, and the stream goes on behind it without a break. A message as
 * long as the slot, whose size the last short message told, has no such end.
 *
 * On a GPU it is a device_block, whose input is in that GPU's memory; vectors come to
 * host memory, several launches are under way at once, and the results are those of the
 * CPU within 1e-4 relative. There, where the input is cut may change last bits.
 *
 * Output tags, each on the vector that holds the sample it is about:
 * - rx_time, (whole seconds, fraction) of the vector's first sample, where the stream
 *   states a time, and a rate (rx_rate, else `rate` if it is not 1) to count on from it.
 *   On the first vector, after each gap, where the stream states a new time, and on every
 *   vector in between, or on every so many-th if they are shorter than 4096 samples.
 * - rx_rate, spectra per second, at the start and on change.
 * - rx_freq, passed on at the start and on change.
 * - rx_gap, passed on: on the first vector behind the gap (of several gaps in front of
 * one vector the last). Other tags are not passed on.
 */
class RDMA_API spectrometer : virtual public gr::block
{
public:
    using sptr = std::shared_ptr<spectrometer>;

    //! \throws config_error a parameter is wrong, or names no GPU that can be used; with
    //! the value and what would be right
    //! \throws cuda_error the driver failed
    static sptr make(const spectrometer_config& config);

    //! "cuda:0", or "host" where it works on the CPU. With memory=auto behind a ring in
    //! host memory that is known once the flowgraph has started. Any thread.
    virtual std::string memory() const = 0;
    //! Why the block ended its stream on the GPU, with its name; empty while all is well,
    //! and on the CPU. Any thread.
    virtual std::string failure() const = 0;

    //! Spectra produced. Any thread.
    virtual std::uint64_t spectra() const = 0;
    //! Samples that went into no spectrum because a gap cut their frame or average.
    //! Padding is not counted. Any thread.
    virtual std::uint64_t samples_dropped() const = 0;
    //! Frames that a gap cut, or whose average it cut. Any thread.
    virtual std::uint64_t frames_dropped() const = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTROMETER_H */
