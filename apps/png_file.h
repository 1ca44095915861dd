/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_PNG_FILE_H
#define INCLUDED_RDMA_APPS_PNG_FILE_H

#include <cstddef>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! Makes the file if it is not there, so that what forbids it is known before there is
//! something to write. \throws run_error it cannot be written
void check_png_path(const std::string& path);

//! Write an opaque picture of native-endian 0xXXRRGGBB words, \p stride bytes a row, as
//! PNG. An existing file is replaced. \throws run_error the file cannot be written
void write_png(const std::string& path,
               const unsigned char* pixels,
               unsigned width,
               unsigned height,
               std::size_t stride);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_PNG_FILE_H */
