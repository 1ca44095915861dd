/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The contract of every endpoint on a real RDMA device. RDMA_TEST_DEVICE_ADDRESSES names
// two addresses of this machine that lie on RDMA devices, with a
// comma: 10.0.0.1,10.0.0.3.
#include "testing/endpoint_contract_life.h"
#include "testing/endpoint_contract_load.h"
#include "testing/needs_device.h"
#include "testing/verbs_factories.h"

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

BOOST_TEST_GLOBAL_FIXTURE(needs_device);

} // namespace

BOOST_AUTO_TEST_SUITE(churn)

// Connected, used and ended by either side in turn.
BOOST_AUTO_TEST_CASE(five_hundred_connections_leave_nothing)
{
    const auto round = [](unsigned n) {
        endpoint_pair<verbs_cm_endpoints> p(
            contract_config(io::service_type::rc), 100, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(n, 100));
        p.b->next();
        (n % 2 != 0 ? p.a : p.b)->ep->stop();
    };
    for (unsigned n = 0; n < 20; ++n)
        round(n); // what is made once in a process
    const long descriptors = count_descriptors();
    const long threads = count_threads();
    const long mappings = count_mappings();
    const long bytes = resident_bytes();
    for (unsigned n = 0; n < 500; ++n)
        round(n);
    BOOST_TEST(count_descriptors() == descriptors);
    BOOST_TEST(count_threads_down_to(threads) <= threads);
    BOOST_TEST(count_mappings() <= mappings + 10);
    BOOST_TEST(resident_bytes() < bytes + (1 << 20));
}

BOOST_AUTO_TEST_SUITE_END()

RDMA_ENDPOINT_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_CONTRACT(verbs_cm_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(verbs_cm_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(verbs_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(verbs_cm_endpoints)
