/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_COLOUR_MAP_H
#define INCLUDED_RDMA_APPS_COLOUR_MAP_H

#include <cstdint>

namespace gr {
namespace rdma {
namespace apps {

//! 8-bit sRGB.
struct colour {
    std::uint8_t red;
    std::uint8_t green;
    std::uint8_t blue;
};

/*!
 * \brief A perceptual map from black over violet and orange to pale yellow, in the manner
 * of matplotlib's inferno: lightness grows with \p x all the way, so that it also reads
 * in grey. \param x clamped to [0, 1]
 */
colour map_colour(double x) noexcept;

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_COLOUR_MAP_H */
