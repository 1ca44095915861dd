/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "colour_map.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace gr {
namespace rdma {
namespace apps {

namespace {
// Equidistant; straight lines between them stay within what the eye can tell.
constexpr colour anchors[] = {
    { 0x00, 0x00, 0x04 }, { 0x1b, 0x0c, 0x42 }, { 0x4b, 0x0c, 0x6b },
    { 0x78, 0x1c, 0x6d }, { 0xa5, 0x2c, 0x60 }, { 0xcf, 0x44, 0x46 },
    { 0xed, 0x69, 0x25 }, { 0xfb, 0x9a, 0x06 }, { 0xf7, 0xd0, 0x3c },
    { 0xfc, 0xff, 0xa4 },
};
} // namespace

colour map_colour(double x) noexcept
{
    constexpr std::size_t last = std::size(anchors) - 1;
    const double at = std::clamp(x, 0.0, 1.0) * last;
    const std::size_t i = std::min(static_cast<std::size_t>(at), last - 1);
    const double part = at - i;
    const auto mix = [part](std::uint8_t a, std::uint8_t b) {
        return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
    };
    return { mix(anchors[i].red, anchors[i + 1].red),
             mix(anchors[i].green, anchors[i + 1].green),
             mix(anchors[i].blue, anchors[i + 1].blue) };
}

} // namespace apps
} // namespace rdma
} // namespace gr
