/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_BENCH_MEASURE_H
#define INCLUDED_RDMA_APPS_BENCH_MEASURE_H

#include "bench_traffic.h"
#include "stop_signals.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*
 * What the benchmarks share: statistics, and how the rate of a path over loopback is
 * measured. Rates are payload bytes per second.
 */

//! Of none: 0.
double median(std::vector<double> values);
double percentile_99(std::vector<double> values);

//! A way from a sender to where samples are used.
struct path {
    const char* name;
    std::function<std::unique_ptr<traffic>(const traffic_config&)> make;
    bool reliable; //!< what is not received was still on its way
};

//! The measurements of one path at one MTU.
struct series {
    std::uint32_t mtu;
    const char* path;
    bool reliable;
    std::vector<double> rates; //!< of what was received
    double sent = 0, received = 0;
    double cpu_seconds = 0; //!< of both sides, kernel included

    double cpu_per_gigabyte() const
    {
        return received > 0 ? cpu_seconds / received * 1e9 : 0;
    }
    double rate() const { return median(rates); }
    double low() const;
    double high() const;
    //! The part of what was sent that was not received.
    double lost() const;
};

//! Two loopback addresses that nobody else on this machine uses.
traffic_config loopback_config(std::uint32_t mtu, std::uint64_t message_bytes);

//! One measurement. \return false: a signal came \throws run_error nothing arrived
bool measure(const path& p,
             const traffic_config& config,
             double seconds,
             stop_signals& signals,
             series& into);

/*!
 * \brief The highest rate at which a path that drops what comes too fast lost nothing for
 * \p seconds, found by going up from 100 kB/s in steps of a quarter; 0: it lost some at
 * that.
 *
 * \return false: a signal came
 */
bool find_lossless(const path& p,
                   traffic_config config,
                   double seconds,
                   stop_signals& signals,
                   series& into);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_BENCH_MEASURE_H */
