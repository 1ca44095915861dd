/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_GPU_LEVEL_H
#define INCLUDED_RDMA_TESTING_GPU_LEVEL_H

#include "mem/gpu.h"
#include "testing/process_resources.h"
#include "testing/shared_gpu.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief What must be as it was, however long a test runs or often it starts.
 *
 * GPU memory is the device's, and pinned pages are the machine's: nothing else may use
 * them meanwhile. Where gpu_is_shared() nothing is required: a tool has threads and
 * memory, too.
 */
struct gpu_level {
    std::uint64_t gpu_bytes = 0;
    long pinned = 0;     //!< pages
    long locked_kib = 0; //!< VmPin and VmLck
    long descriptors = 0;
    long threads = 0;

    static constexpr long slack = 1000; // the kernel counts by processor, in batches

    static gpu_level now(const mem::gpu& gpu)
    {
        return { gpu.free_bytes(),
                 pinned_pages(),
                 status_number("VmPin") + status_number("VmLck"),
                 count_descriptors(),
                 count_threads() };
    }
    //! Threads may end between \p before and now, and do so a moment after their join.
    void require(const gpu_level& before) const
    {
        if (gpu_is_shared())
            return;
        BOOST_TEST(gpu_bytes == before.gpu_bytes);
        BOOST_TEST(pinned <= before.pinned + slack);
        BOOST_TEST(locked_kib == before.locked_kib);
        BOOST_TEST(descriptors == before.descriptors);
        BOOST_TEST(count_threads_down_to(before.threads) <= before.threads);
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_GPU_LEVEL_H */
