/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The contract of every endpoint for verbs, on devices in memory.
#include "testing/endpoint_contract_life.h"
#include "testing/endpoint_contract_load.h"
#include "testing/fake_verbs.h"
#include "testing/verbs_factories.h"

using namespace gr::rdma::testing;

namespace {

// One world for all cases; nothing may be left of any of them.
struct fake_devices {
    fake_devices() { verbs_addresses() = { "192.0.2.1", "192.0.2.2" }; }
    ~fake_devices() { BOOST_TEST(world.problems() == ""); }
    fake_verbs world;
};
BOOST_TEST_GLOBAL_FIXTURE(fake_devices);

} // namespace

RDMA_ENDPOINT_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_CONTRACT(verbs_cm_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(verbs_cm_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(verbs_cm_endpoints)
