/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPECTROMETER_CHECKS_H
#define INCLUDED_RDMA_SPECTROMETER_CHECKS_H

#include "dsp/spectrum.h"

#include <gnuradio/rdma/spectrometer.h>

namespace gr {
namespace rdma {

//! Bytes of one input item. \throws config_error sample or vlen is wrong
int item_bytes(const spectrometer_config& config);

/*!
 * \brief The block's parameters as dsp::spectrum takes them, the window built.
 *
 * The window is GNU Radio's in the periodic form, as scipy.signal.get_window gives it:
 * one tap longer than asked, the last left out. WIN_NONE is the rectangular one.
 *
 * \throws config_error a parameter is wrong: its name, the value, what would be right
 */
dsp::spectrum_config spectrum_config(const spectrometer_config& config);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTROMETER_CHECKS_H */
