/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_SAMPLE_H
#define INCLUDED_RDMA_CORE_SAMPLE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace core {

/*!
 * \brief One sample as it stands in memory and on the wire (integers little-endian).
 *
 * cu8: unsigned 8-bit I, Q, zero at 127.5. sc8, sc16: signed 8- or 16-bit I, Q. fc32:
 * float I, Q. byte: one octet; where it must be a number (spectra), a signed real sample.
 */
enum class sample_type : std::uint8_t { cu8, sc8, sc16, fc32, byte };

//! Bytes of one sample: 2, 2, 4, 8, 1.
std::size_t sample_bytes(sample_type type) noexcept;
const char* to_string(sample_type type) noexcept;
//! \param choices what an error tells to use
//! \throws config_error naming \p parameter, the text, and \p choices
sample_type parse_sample(const std::string& text,
                         const char* parameter = "sample",
                         const char* choices = "cu8, sc8, sc16, fc32 or byte");

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_SAMPLE_H */
