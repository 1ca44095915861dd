/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_NEEDS_GPU_H
#define INCLUDED_RDMA_TESTING_NEEDS_GPU_H

#include "cuda/device.h"
#include "testing/skip.h"

#include <cstdio>
#include <exception>

namespace gr {
namespace rdma {
namespace testing {

//! BOOST_TEST_GLOBAL_FIXTURE(needs_gpu): skips the program where no kernel can run. What
//! tests print comes line by line from here on: a hang shows where.
struct needs_gpu {
    needs_gpu()
    {
        std::setvbuf(stdout, nullptr, _IOLBF, 0);
        try {
            cuda::describe_device(0);
        } catch (const std::exception& error) {
            skip("gpu", error.what());
        }
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_NEEDS_GPU_H */
