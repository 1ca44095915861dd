/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_SPECTRUM_OPTIONS_H
#define INCLUDED_RDMA_APPS_SPECTRUM_OPTIONS_H

#include "options.h"

#include <cstdint>
#include <gnuradio/rdma/spectrometer.h>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief The flags of `spectrum`: what to receive, how to look at it, and where to.
 *
 * Not thread-safe.
 */
struct spectrum_options {
    connection_options connection;
    stream_options stream;
    ring_options ring;
    talk_options talk;
    std::vector<std::string> outs; //!< as given
    std::uint64_t length = 1024;
    std::uint64_t average = 8;
    std::uint64_t overlap = 0;
    std::string window = "hann";
    double beta = 6.76; //!< of the Kaiser window
    std::string scaling = "spectrum";
    std::string hold = "mean";
    double db_min = 0, db_max = 0; //!< ends of the colours in dB, where they are given
    std::string csv, png;          //!< from outs: file names, - for stdout, or empty

    void declare(flags& f);
    //! outs to csv and png; CSV on stdout where nothing is given. \throws usage_error a
    //! name that is neither, or two of a kind
    void sort_outs();
    //! \throws usage_error values or flags that do not go together; as the options within
    void check(const flags& f) const;
    //! The block's settings. `--wait busy` is the block's, too, unless its memory is the
    //! host's: a block on the CPU has no way of waiting of its own.
    spectrometer_config spectrometer() const;
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_SPECTRUM_OPTIONS_H */
