/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_CUDA_BAR1_H
#define INCLUDED_RDMA_MEM_CUDA_BAR1_H

#include "mem/gpu.h"

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief The BAR1 window of the GPU at \p pci ("0000:17:00.0").
 *
 * From NVML, which is loaded for the call; where it is not installed, total_bytes is read
 * from the kernel's list of PCI resources and free_bytes is 0 for unknown. Both 0 where
 * nothing is known.
 */
bar1_memory machine_bar1(const char* pci);

//! Length of BAR1 in the text of /sys/bus/pci/devices/.../resource; 0 if there is none.
//! It is the first prefetchable memory region of 64 bits. Pure.
std::uint64_t bar1_bytes_of(const std::string& resource);

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_CUDA_BAR1_H */
