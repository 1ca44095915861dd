/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_SPECTRUM_SINK_H
#define INCLUDED_RDMA_APPS_SPECTRUM_SINK_H

#include "ending_sink.h"
#include "spectrum_csv.h"
#include "waterfall.h"

#include <cstdint>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief Hands the vectors of rdma.spectrometer to a CSV file and a waterfall, with the
 * time that its rx_time tags give, and the gaps.
 *
 * Both receivers must outlive it and be left alone until the flowgraph has ended.
 */
class spectrum_sink : public ending_sink
{
public:
    //! \param csv, \param fall may be nullptr \param period seconds from vector to vector
    spectrum_sink(std::size_t bins,
                  double period,
                  spectrum_csv* csv,
                  waterfall* fall,
                  std::function<void()> on_finished);

    //! Any thread.
    std::uint64_t spectra() const noexcept { return d_spectra.load(); }
    std::uint64_t gaps() const noexcept { return d_gaps.load(); }

protected:
    void begin() override;
    int consume(const void* items, int n) override;

private:
    void apply(const gr::tag_t& tag);

    const std::size_t d_bins;
    const double d_period;
    spectrum_csv* const d_csv;
    waterfall* const d_fall;

    // The time of vector k is d_anchor_time + (k - d_anchor) * d_period.
    std::uint64_t d_anchor = 0;
    double d_anchor_time = 0;
    bool d_has_epoch = false;
    std::uint64_t d_epoch_whole = 0; // rx_time of the first vector: time 0
    double d_epoch_fraction = 0;
    double d_last_time = 0;
    std::string d_gap;

    std::vector<gr::tag_t> d_tags;
    std::atomic<std::uint64_t> d_spectra{ 0 };
    std::atomic<std::uint64_t> d_gaps{ 0 };
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_SPECTRUM_SINK_H */
