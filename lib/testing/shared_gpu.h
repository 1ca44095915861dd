/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_SHARED_GPU_H
#define INCLUDED_RDMA_TESTING_SHARED_GPU_H

#include <cstdlib>

namespace gr {
namespace rdma {
namespace testing {

//! Whether others use the GPU beside this test, so that its free memory says nothing: the
//! environment variable RDMA_GPU_IS_SHARED, which .ci/gpu_sanitizer.py sets.
inline bool gpu_is_shared() { return std::getenv("RDMA_GPU_IS_SHARED") != nullptr; }

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_SHARED_GPU_H */
