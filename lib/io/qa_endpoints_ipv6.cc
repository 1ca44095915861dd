/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The contract over IPv6.
#include "testing/endpoint_contract.h"
#include "testing/endpoint_contract_life.h"
#include "testing/endpoint_contract_load.h"
#include "testing/endpoint_factories.h"
#include "testing/own_network.h"

using gr::rdma::testing::own_ipv6_network;
using gr::rdma::testing::softroce_ipv6_cm_endpoints;
using gr::rdma::testing::softroce_ipv6_endpoints;

BOOST_GLOBAL_FIXTURE(own_ipv6_network);

RDMA_ENDPOINT_CONTRACT(softroce_ipv6_endpoints)
RDMA_ENDPOINT_CONTRACT(softroce_ipv6_cm_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(softroce_ipv6_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(softroce_ipv6_cm_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(softroce_ipv6_endpoints)
