/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_SCENE_H
#define INCLUDED_RDMA_APPS_SCENE_H

#include "core/sample.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

//! One transmitter of a scene: adds its signal to a block of samples, full scale 1.
class emitter
{
public:
    virtual ~emitter() = default;
    //! Add the next \p n samples to \p out. Phase runs on from call to call.
    virtual void add(std::complex<float>* out, std::size_t n) = 0;
};

/*!
 * \brief A synthetic band: emitters over white Gaussian noise, endless and repeatable.
 *
 * Centre frequencies are fractions of the sample rate, so that each rate shows the same
 * picture: fm -0.30, chirp -0.19 to -0.05, tone +0.10, qpsk +0.30. The sum stays below
 * full scale. The same seed, rate and emitters give the same samples, in whatever blocks
 * they are asked for. Not thread-safe.
 */
class scene
{
public:
    static constexpr double tone_offset = 0.10;
    static constexpr double fm_offset = -0.30;
    static constexpr double chirp_low = -0.19;
    static constexpr double chirp_high = -0.05;
    static constexpr double qpsk_offset = 0.30;

    /*!
     * \param emitters "default" (all of them), "noise" (none), or names of tone, fm,
     * qpsk, chirp with commas \param rate samples per second
     * \throws usage_error an unknown name, one given twice
     */
    scene(const std::string& emitters, double rate, std::uint64_t seed);

    void generate(std::complex<float>* out, std::size_t n);

private:
    std::mt19937_64 d_noise;
    std::vector<std::unique_ptr<emitter>> d_emitters;
};

/*!
 * \brief Round \p n samples to \p sample, full scale 1, saturating: the inverse of what
 * rdma.spectrometer does with integers. byte takes the real part, as a signed octet.
 * \param out n * sample_bytes(sample) bytes
 */
void quantise(core::sample_type sample,
              const std::complex<float>* in,
              std::size_t n,
              std::byte* out);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_SCENE_H */
