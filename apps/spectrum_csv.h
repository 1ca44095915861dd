/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_SPECTRUM_CSV_H
#define INCLUDED_RDMA_APPS_SPECTRUM_CSV_H

#include "output_file.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

//! Power in dB, -200 for nothing or less: the floor of CSV and picture.
float power_db(float power) noexcept;

/*!
 * \brief Writes spectra as CSV: comment lines (#), a line of column names (time_s, then
 * each bin's frequency in Hz), a line per spectrum (seconds from the start of the stream,
 * then dB with two decimals), and a comment line at each gap.
 *
 * Not thread-safe. An object that was not closed has written what the buffer let through.
 */
class spectrum_csv
{
public:
    //! \param path as output_file, emptied by begin() or what comes first \param
    //! comments without "# " \param frequencies Hz, lowest first \throws run_error the
    //! file cannot be made
    spectrum_csv(const std::string& path,
                 const std::vector<std::string>& comments,
                 const std::vector<double>& frequencies);

    //! Empties the file and writes its head, if nothing has. \throws run_error
    void begin() { put(""); }
    //! \param power linear, a value for each frequency \throws run_error
    void add(const float* power, double time);
    void mark_gap(double time, const std::string& text);
    //! Flush and close; once. \throws run_error disk full, a closed pipe
    void close();

private:
    void put(const std::string& line);

    output_file d_file;
    std::size_t d_bins;
    std::string d_head; // until it is written
    std::string d_line; // kept for its memory
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_SPECTRUM_CSV_H */
