/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The contract of every endpoint on a real RDMA device. RDMA_TEST_DEVICE_ADDRESSES names
// two addresses of this machine that lie on RDMA devices, with a
// comma: 10.0.0.1,10.0.0.3.
#include "testing/endpoint_contract_life.h"
#include "testing/endpoint_contract_load.h"
#include "testing/skip.h"
#include "testing/verbs_factories.h"

using gr::rdma::testing::verbs_cm_endpoints;
using gr::rdma::testing::verbs_endpoints;

namespace {

struct needs_device {
    needs_device()
    {
        if (gr::rdma::testing::verbs_addresses().first.empty())
            gr::rdma::testing::skip(
                "rdma",
                "RDMA_TEST_DEVICE_ADDRESSES does not name two addresses on "
                "RDMA devices");
    }
};
BOOST_TEST_GLOBAL_FIXTURE(needs_device);

} // namespace

RDMA_ENDPOINT_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_CONTRACT(verbs_cm_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(verbs_cm_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(verbs_cm_endpoints)
