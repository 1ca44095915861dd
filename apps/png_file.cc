/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "png_file.h"
#include "usage_error.h"

#include <cstdint>
#include <cstring>
#include <png.h>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

void write_png(output_file& to,
               const unsigned char* pixels,
               unsigned width,
               unsigned height,
               std::size_t stride)
{
    std::vector<unsigned char> rgb;
    rgb.reserve(std::size_t(width) * height * 3);
    for (unsigned y = 0; y < height; ++y) {
        for (unsigned x = 0; x < width; ++x) {
            std::uint32_t word;
            std::memcpy(&word, pixels + y * stride + x * 4, sizeof word);
            rgb.push_back(static_cast<unsigned char>(word >> 16));
            rgb.push_back(static_cast<unsigned char>(word >> 8));
            rgb.push_back(static_cast<unsigned char>(word));
        }
    }
    png_image image;
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGB;
    const bool written =
        png_image_write_to_stdio(&image, to.stream(), 0, rgb.data(), 0, nullptr);
    const int error = to.close();
    if (!written)
        throw run_error("cannot write '" + to.path() + "': " + image.message);
    if (error != 0)
        to.refuse(error);
}

} // namespace apps
} // namespace rdma
} // namespace gr
