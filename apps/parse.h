/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_PARSE_H
#define INCLUDED_RDMA_APPS_PARSE_H

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief Text of a flag's value to a number. All throw usage_error naming \p flag, the
 * text and what would be right; none takes trailing characters, "nan" or "inf".
 */

//! A whole number, decimal or 0x hexadecimal, in [\p min, \p max].
std::uint64_t parse_count(const std::string& flag,
                          const std::string& text,
                          std::uint64_t min,
                          std::uint64_t max);

//! Bytes: a whole number with an optional unit KiB, MiB, GiB (1024) or kB, MB, GB (1000).
std::uint64_t parse_bytes(const std::string& flag, const std::string& text);

//! Hertz, or samples per second: a number with an optional k, M or G; at least \p min.
double parse_hertz(const std::string& flag, const std::string& text, double min);

//! A finite number in [\p min, \p max], with \p unit named in the error.
double parse_number(const std::string& flag,
                    const std::string& text,
                    double min,
                    double max,
                    const std::string& unit);

//! Of a file's name: does \p text end in \p end?
bool ends_with(const std::string& text, const std::string& end);

//! 2000000 -> "2 M", 1090000000 -> "1.09 G", 1500 -> "1.5 k": a unit goes behind it.
std::string human_number(double value);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_PARSE_H */
