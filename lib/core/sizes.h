/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_SIZES_H
#define INCLUDED_RDMA_CORE_SIZES_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace core {

//! \p n rounded up to a multiple of \p multiple (which is not 0).
constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t multiple) noexcept
{
    return (n + multiple - 1) / multiple * multiple;
}

//! "4096 bytes", "1 MiB", "1.5 GiB": for messages that people read.
std::string human_bytes(std::uint64_t bytes);
//! "2.5", "1e+09", "nan": for errors, with at most so many significant digits.
std::string number_text(double value, int digits = 6);

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_SIZES_H */
