/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_ENDPOINT_ADDRESSES_H
#define INCLUDED_RDMA_IO_VERBS_ENDPOINT_ADDRESSES_H

#include "io/endpoint_config.h"
#include "io/verbs/address.h"

#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! Who talks to whom, as addresses.
struct endpoint_addresses {
    address own;  //!< with a port if it listens
    address peer; //!< empty: listens, or anybody
    address group;
    std::vector<address> allowed; //!< listening: who may connect; empty: anyone
};

//! May ask the resolver and the routing table. \throws config_error naming the parameter
endpoint_addresses resolve_addresses(const endpoint_config& config);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_ENDPOINT_ADDRESSES_H */
