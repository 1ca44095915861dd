/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_WATERFALL_H
#define INCLUDED_RDMA_APPS_WATERFALL_H

#include "output_file.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

//! How spectra that share one line of the picture are joined.
enum class hold_mode : std::uint8_t { mean, max };

/*!
 * \brief Gathers power spectra of a stream of any length into a picture of bounded size.
 *
 * Frequency: more than max_columns bins are joined by their maximum, so that a narrow
 * signal stays. Time: lines double their duration whenever there would be more than
 * max_lines of them. Memory: at most max_lines * max_columns floats, twice. Not
 * thread-safe.
 */
class waterfall
{
public:
    static constexpr std::size_t max_columns = 1024;
    static constexpr std::size_t max_lines = 1024;
    static constexpr std::size_t max_gaps = 4096;

    //! \param bins of one spectrum, a power of two \param period seconds from one
    //! spectrum to the next
    waterfall(std::size_t bins, double period, hold_mode hold);

    //! \param power linear, `bins` values, lowest frequency first \param time seconds
    //! from the start of the stream of the spectrum's first sample, never falling
    void add(const float* power, double time);
    //! Something was lost in front of \p time. The first max_gaps are kept.
    void mark_gap(double time);

    std::size_t bins() const noexcept { return d_columns * d_bins_per_column; }
    std::size_t columns() const noexcept { return d_columns; }
    //! Lines so far; the last may be incomplete.
    std::size_t lines() const noexcept { return d_lines; }
    double line_seconds() const noexcept { return d_period * d_fold; }
    std::uint64_t spectra() const noexcept { return d_spectra; }
    std::uint64_t gap_count() const noexcept { return d_gap_count; }
    hold_mode hold() const noexcept { return d_hold; }
    const std::vector<double>& gaps() const noexcept { return d_gaps; }

    //! Linear power of a line, or nullptr for a line in which nothing came. Valid until
    //! the next add(). \param line below lines()
    const float* line(std::size_t line) const;
    //! Mean and maximum over the whole stream, a value a column; zero before any add().
    std::vector<float> mean() const;
    const std::vector<float>& peak() const noexcept { return d_peak; }

private:
    void fold();

    std::size_t d_columns;
    std::size_t d_bins_per_column;
    double d_period;
    hold_mode d_hold;
    std::uint64_t d_fold = 1; // spectra per line
    std::size_t d_lines = 0;
    std::uint64_t d_spectra = 0;
    std::uint64_t d_gap_count = 0;
    std::vector<float> d_power;          // max_lines * d_columns, means or maxima
    std::vector<std::uint64_t> d_joined; // spectra in each line
    std::vector<double> d_sum;           // over the stream
    std::vector<float> d_peak;
    std::vector<float> d_pooled;
    std::vector<double> d_gaps;
};

//! What stands around the picture.
struct waterfall_caption {
    std::string title;
    std::string subtitle;
    double rate = 1;           //!< samples per second: width of the picture, Hz
    double freq = 0;           //!< centre, Hz; 0: the axis shows offsets
    std::string unit = "dBFS"; //!< of the colour bar
    bool has_db_min = false;   //!< else from the data
    bool has_db_max = false;
    double db_min = 0;
    double db_max = 0;
};

//! \param db in any order \return a range in whole steps of 5 dB, at least 20 dB wide,
//! that keeps the noise dark and no more than a thousandth of the points saturated
void autoscale_db(std::vector<float> db, double& db_min, double& db_max);

/*!
 * \brief Draw and write the picture as PNG: mean and peak spectrum above, waterfall below
 * (time runs down), axes in MHz and seconds, gaps as marked lines, a dB colour bar.
 * Closes the file. \throws run_error it cannot be written
 */
void write_waterfall_png(output_file& to,
                         const waterfall& data,
                         const waterfall_caption& caption);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_WATERFALL_H */
