/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WIRE_QA_CM_H
#define INCLUDED_RDMA_WIRE_QA_CM_H

// What the tests of the CM's messages share.
#include "wire/cm.h"

#include <array>

#include <boost/test/unit_test.hpp>

namespace gr {
namespace rdma {
namespace wire {

using mad = std::array<std::byte, mad_bytes>;

inline mad written(const cm_message& m)
{
    mad out;
    out.fill(std::byte{ 0xee }); // as a message sent before has left it
    write_cm(m, out.data());
    return out;
}

inline cm_message parsed(const mad& in)
{
    cm_message m;
    BOOST_REQUIRE((parse_cm(in.data(), in.size(), m) == cm_parse_status::ok));
    return m;
}

template <typename M>
M body_of(const mad& in)
{
    const cm_message m = parsed(in);
    BOOST_REQUIRE(std::holds_alternative<M>(m.body));
    return std::get<M>(m.body);
}

} // namespace wire
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WIRE_QA_CM_H */
