/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_NEEDS_DEVICE_H
#define INCLUDED_RDMA_TESTING_NEEDS_DEVICE_H

#include "testing/skip.h"
#include "testing/verbs_factories.h"

namespace gr {
namespace rdma {
namespace testing {

//! BOOST_TEST_GLOBAL_FIXTURE(needs_device): skips the program where no addresses on RDMA
//! devices are named.
struct needs_device {
    needs_device()
    {
        if (verbs_addresses().first.empty())
            skip("rdma",
                 "RDMA_TEST_DEVICE_ADDRESSES does not name two addresses on "
                 "RDMA devices");
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_NEEDS_DEVICE_H */
