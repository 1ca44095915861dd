/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_PNG_FILE_H
#define INCLUDED_RDMA_APPS_PNG_FILE_H

#include "output_file.h"

#include <cstddef>

namespace gr {
namespace rdma {
namespace apps {

//! Write an opaque picture of native-endian 0xXXRRGGBB words, \p stride bytes a row, as
//! PNG, and close the file. \throws run_error the file cannot be written
void write_png(output_file& to,
               const unsigned char* pixels,
               unsigned width,
               unsigned height,
               std::size_t stride);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_PNG_FILE_H */
