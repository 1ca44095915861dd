/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_BENCH_GPU_SPECTRA_H
#define INCLUDED_RDMA_APPS_BENCH_GPU_SPECTRA_H

#include "bench_measure.h"
#include "stop_signals.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*
 * From the network to averaged spectra of a GPU, end to end, for `gr-rdma bench gpu`. All
 * paths compute vectors of 1024 bins, 16 transforms each, from sc16 samples in packets of
 * 4096 bytes over loopback, and have them in host memory. Only in builds with CUDA.
 */

//! One path, and what was measured on it.
struct spectra_path {
    const char* name;
    path rate_of;                     //!< messages of 1 MiB
    series rates;                     //!< reliable: each round; else the lossless one
    std::vector<double> microseconds; //!< of a message that makes one vector
};

/*!
 * \brief The paths, by the way that is measured: network.udp_source to an ordinary block,
 * which copies its input to the GPU by cudaMemcpy from the ordinary buffer where it is,
 * has the kernels of rdma.spectrometer compute, and waits for them; softroce RC to
 * rdma.source with its ring in GPU memory, filled by the copy engine, and
 * rdma.spectrometer, with the defaults of both blocks and with wait=busy.
 *
 * \param memory the GPU, whose number is \p device
 */
std::vector<spectra_path> spectra_paths(const std::string& memory, int device);

/*!
 * \brief One round: the rate of a reliable path, as fast as it goes, and how long it is
 * from a message handed to the sender to its vector in host memory, one message at a
 * time, at most \p samples of them in 5 times \p seconds.
 *
 * \return false: a signal came
 * \throws config_error, os_error, cuda_error, run_error
 */
bool measure_round(spectra_path& p,
                   double seconds,
                   std::uint64_t samples,
                   stop_signals& signals);

//! The rate of a path that is not reliable: the highest without loss. Once, at the end.
//! As measure_round().
bool measure_lossless(spectra_path& p, double seconds, stop_signals& signals);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_BENCH_GPU_SPECTRA_H */
