/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "png_file.h"
#include "usage_error.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <png.h>
#include <unistd.h>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

void check_png_path(const std::string& path)
{
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        throw run_error("cannot write '" + path + "': " + std::strerror(errno));
    close(fd);
}

void write_png(const std::string& path,
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
    std::FILE* const file = std::fopen(path.c_str(), "wbe");
    if (!file)
        throw run_error("cannot write '" + path + "': " + std::strerror(errno));
    png_image image;
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGB;
    const bool written =
        png_image_write_to_stdio(&image, file, 0, rgb.data(), 0, nullptr);
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed)
        throw run_error("cannot write '" + path +
                        "': " + (written ? std::strerror(errno) : image.message));
}

} // namespace apps
} // namespace rdma
} // namespace gr
