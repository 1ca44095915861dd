/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_EMITTERS_H
#define INCLUDED_RDMA_APPS_EMITTERS_H

#include "scene.h"

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief The emitters of a scene. Frequencies are in Hz from the centre, \p rate in
 * samples per second, amplitudes of full scale 1.
 */

std::unique_ptr<emitter> make_tone(double rate, double freq, float amplitude);

//! Frequency modulation by tones of 7 Hz, 440 Hz and 1 kHz, with \p deviation Hz at
//! their peak together.
std::unique_ptr<emitter>
make_fm(double rate, double freq, double deviation, float amplitude);

//! Sweeps from \p low to \p high in \p period seconds, and again, phase continuous.
std::unique_ptr<emitter>
make_chirp(double rate, double low, double high, double period, float amplitude);

//! Bursts of random QPSK symbols at a twentieth of the rate, root-raised-cosine shaped
//! (roll-off 0.35): 30 ms on, 20 ms off. \p amplitude is the RMS of a burst.
std::unique_ptr<emitter>
make_qpsk(double rate, double freq, float amplitude, std::uint64_t seed);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_EMITTERS_H */
