/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_LOSSY_LINK_H
#define INCLUDED_RDMA_TESTING_LOSSY_LINK_H

#include "io/lossy_link.h"
#include "testing/datagram.h"

namespace gr {
namespace rdma {
namespace testing {

//! The product's own, which `gr-rdma send` uses for its faults.
using io::lossy_link;
using io::lossy_link_config;

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_LOSSY_LINK_H */
