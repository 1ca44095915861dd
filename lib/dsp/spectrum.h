/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_SPECTRUM_H
#define INCLUDED_RDMA_DSP_SPECTRUM_H

#include "core/sample.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace dsp {

//! The words of scipy.signal.welch: power per bin, or power per hertz.
enum class scaling : std::uint8_t { spectrum, density };

//! \throws config_error naming scaling, the text, and the known words
scaling parse_scaling(const std::string& text);

//! What to compute. length: a power of two, 16 to 65536; overlap below it; average at
//! least 1; rate above 0.
struct spectrum_config {
    core::sample_type sample = core::sample_type::sc16;
    std::size_t length = 1024; //!< samples per transform, and bins per output vector
    std::vector<float> window; //!< `length` taps
    unsigned average = 1;      //!< transforms per output vector
    std::size_t overlap = 0;   //!< samples that neighbouring transforms share
    scaling scale = scaling::spectrum;
    bool fftshift = true; //!< bin length / 2 is zero frequency; else bin 0 is
    double rate = 1;      //!< samples per second; used by density only

    //! Samples from the start of one transform to the start of the next.
    std::size_t hop() const noexcept { return length - overlap; }
};

//! Checks everything but the window.
//! \throws config_error the first parameter that is wrong: name, value, what would be
//! right
void validate(const spectrum_config& config);
//! Checks the window of a config whose rest is right. \throws config_error it has another
//! number of taps, or they are not finite or add up to 0
void validate_window(const spectrum_config& config);

//! The factor of each sample of a frame, as levels (sample_format.h): the window, the
//! sample type's unit and the scaling. Squared magnitudes of transforms of the products
//! are output, but for the average. \param config a valid one
std::vector<float> scaled_taps(const spectrum_config& config);

/*!
 * \brief Averaged power spectra of a stream of samples that arrives in pieces.
 *
 * Transform k starts at sample k * hop() after construction or reset(); output vector j
 * is the mean of transforms [j * average, (j + 1) * average), so it starts at sample j *
 * average * hop(). Integers are scaled to full scale 1 (sc8 and byte by 1/128, sc16 by
 * 1/32768, cu8 as (x - 127.5)/128); byte is a signed real sample whose two-sided spectrum
 * comes out. Power is divided by sum(w)**2 (spectrum) or rate * sum(w**2) (density).
 *
 * The result does not depend on where the pieces are cut: the same samples give the same
 * bits. Not thread-safe. Implementations differ in where samples and output live: in host
 * memory for make_host_spectrum().
 */
class spectrum
{
public:
    struct progress {
        std::size_t consumed; //!< samples taken from the input
        std::size_t produced; //!< vectors written to the output
    };
    struct dropped {
        std::uint64_t
            frames; //!< transforms that reach no output: cut, or of a cut average
        std::uint64_t samples; //!< samples that were in no output
    };

    virtual ~spectrum() = default;

    /*!
     * \brief Take samples, put out each vector that they complete. Never waits.
     *
     * Takes everything unless \p max_out vectors are not enough; then it stops one sample
     * short of completing the next. What was taken is kept: the input may be reused.
     *
     * \param samples \p n samples of the configured type, aligned for it
     * \param out     room for \p max_out vectors of `length` floats
     */
    virtual progress process(const void* samples,
                             std::size_t n,
                             float* out,
                             std::size_t max_out) noexcept = 0;

    //! The stream breaks here: forget the partial transform and the partial average. The
    //! next sample is sample 0 of a new series. \return what was lost by that
    virtual dropped reset() noexcept = 0;
};

//! What a series of samples has come to, since construction or reset().
struct series_counts {
    std::uint64_t samples = 0;  //!< taken
    std::uint64_t frames = 0;   //!< begun and whole
    std::uint64_t averages = 0; //!< put out
    //! What would be lost if the series ended here.
    spectrum::dropped
    lost(std::size_t length, std::size_t hop, unsigned average) const noexcept;
};

/*!
 * \brief The implementation for the CPU: FFTW, single precision.
 *
 * Plans are measured here (up to about a second for the longest transforms, once per
 * process and length).
 *
 * \param planner locked while FFTW plans, whose planner is one per process; every user of
 * FFTW in the process has to share it, and it must outlive the result
 * \throws config_error as validate() and validate_window();
 * std::bad_alloc
 */
std::unique_ptr<spectrum> make_host_spectrum(const spectrum_config& config,
                                             std::mutex& planner);

} // namespace dsp
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DSP_SPECTRUM_H */
