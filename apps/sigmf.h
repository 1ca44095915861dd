/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_SIGMF_H
#define INCLUDED_RDMA_APPS_SIGMF_H

#include "core/sample.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief What a SigMF metadata file says, as far as this program uses it
 * (https://sigmf.org, version 1.2).
 *
 * Data types: cu8, ci8, ci16_le and cf32_le for the complex sample types; ri8 for byte,
 * and ru8 is read as byte too.
 */
struct sigmf_capture {
    std::uint64_t sample_start = 0;
    double freq = 0;      //!< Hz; 0: not stated
    std::string datetime; //!< ISO 8601, UTC, such as 2026-01-31T12:00:00.5Z; may be empty
};

struct sigmf_annotation {
    std::uint64_t sample_start = 0;
    std::string label;   //!< short
    std::string comment; //!< long
};

struct sigmf_metadata {
    core::sample_type sample = core::sample_type::sc16;
    double rate = 0; //!< samples per second; 0: not stated
    std::string description;
    std::vector<sigmf_capture> captures;
    std::vector<sigmf_annotation> annotations;
};

//! Is \p path the name of a SigMF metadata or data file?
bool is_sigmf_path(const std::string& path);

//! Both files of a recording, from either name or the name without extension.
struct sigmf_paths {
    explicit sigmf_paths(const std::string& path);
    std::string meta;
    std::string data;
};

//! \param path names the file in errors \throws run_error not JSON; a field missing or of
//! the wrong kind, a data type or a feature that this program does not read, by key, with
//! the value, where it stands, and what would be right
sigmf_metadata parse_sigmf(const std::string& json, const std::string& path);

//! The metadata as indented JSON, a newline at its end.
std::string format_sigmf(const sigmf_metadata& metadata);

//! ISO 8601 in UTC, as SigMF wants it. \param whole seconds since the Unix epoch \param
//! fraction of a second, [0, 1)
std::string iso_8601(std::uint64_t whole, double fraction);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_SIGMF_H */
