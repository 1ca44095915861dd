/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/endpoint_contract_life.h"
#include "testing/endpoint_contract_load.h"
#include "testing/endpoint_factories.h"

using gr::rdma::testing::inproc_endpoints;
using gr::rdma::testing::softroce_cm_endpoints;
using gr::rdma::testing::softroce_endpoints;

RDMA_ENDPOINT_LIFE_CONTRACT(inproc_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(softroce_endpoints)
RDMA_ENDPOINT_LIFE_CONTRACT(softroce_cm_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(inproc_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(softroce_endpoints)
RDMA_ENDPOINT_LOAD_CONTRACT(softroce_cm_endpoints)
