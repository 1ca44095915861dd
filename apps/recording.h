/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_RECORDING_H
#define INCLUDED_RDMA_APPS_RECORDING_H

#include "core/sample.h"
#include "mapped_file.h"
#include "output_file.h"
#include "sigmf.h"

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! Samples of a file, mapped, and what is known about them.
struct recording {
    mapped_file data;
    core::sample_type sample = core::sample_type::sc16;
    double rate = 0; //!< samples per second; 0: unknown
    double freq = 0; //!< Hz, of the first capture; 0: unknown
};

/*!
 * \brief Open a raw file of samples, or a SigMF recording by either of its names.
 *
 * \param sample the type of a raw file; for SigMF "" or what the metadata say, too
 * \throws usage_error a raw file without a sample type, or one that contradicts the
 * metadata \throws run_error missing, empty, cut inside a sample (with the sizes), bad
 * metadata
 */
recording open_recording(const std::string& path, const std::string& sample);

/*!
 * \brief Writes samples to a raw file, to stdout ("-"), or to a SigMF pair.
 *
 * The data file is written as it comes; close() writes the metadata. A recording whose
 * close() was not reached has its data file but no metadata. Not thread-safe.
 */
class recording_writer
{
public:
    //! \param path "-": stdout; *.sigmf-meta or *.sigmf-data: both files; else a raw
    //! file; as output_file, emptied by begin() or what comes first. \param metadata for
    //! SigMF: sample, rate, description \throws run_error the file cannot be made
    recording_writer(const std::string& path, const sigmf_metadata& metadata);

    //! Empties the file, if nothing has. \throws run_error
    void begin() { d_file.stream(); }
    //! \throws run_error with the errno in words: disk full, a closed pipe
    void write(const void* data, std::size_t bytes);

    //! A capture starts at the next sample to be written: first of all, and after a gap.
    void start_capture(double freq, const std::string& datetime);
    //! Note something at the next sample to be written.
    void annotate(const std::string& label, const std::string& comment);

    //! Flush, write the metadata, close. Once. \throws run_error
    void close();

    std::uint64_t bytes() const noexcept { return d_bytes; }

private:
    std::uint64_t next_sample() const noexcept;
    [[noreturn]] void refuse(const std::string& path, int error) const;

    output_file d_file; // of the data
    std::string d_meta_path;
    sigmf_metadata d_metadata;
    std::uint64_t d_bytes = 0;
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_RECORDING_H */
