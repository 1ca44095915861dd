/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_INTERNED_H
#define INCLUDED_RDMA_INTERNED_H

#include <pmt/pmt.h>

namespace gr {
namespace rdma {

//! A symbol for file scope: looked up once (that takes a lock), and never destroyed,
//! since a flowgraph may still run while the process ends.
inline const pmt::pmt_t& interned(const char* name)
{
    return *new pmt::pmt_t(pmt::mp(name));
}

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_INTERNED_H */
