/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_OWN_NETWORK_H
#define INCLUDED_RDMA_TESTING_OWN_NETWORK_H

#include "testing/skip.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>

namespace gr {
namespace rdma {
namespace testing {

inline bool shell(const std::string& command)
{
    return std::system(command.c_str()) == 0;
}

/*!
 * \brief A network namespace of this process's own, left with it: a global fixture, made
 * before there are threads. Skips the whole program where it cannot be had (needs root).
 */
struct own_network {
    own_network()
    {
        if (::unshare(CLONE_NEWNET) != 0)
            skip("root",
                 "a network namespace of its own: " + std::string(std::strerror(errno)));
        if (!shell("ip link set lo up"))
            skip("root", "its loopback interface: 'ip link set lo up' failed");
    }
};

//! One whose loopback interface has the addresses of fresh_address_ipv6().
struct own_ipv6_network : own_network {
    own_ipv6_network()
    {
        if (!shell("for i in $(seq 1 251); do echo addr add fd91::$i/128 dev lo nodad; "
                   "done | ip -batch -"))
            skip("root", "IPv6 addresses: 'ip addr add fd91::1/128 dev lo' failed");
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_OWN_NETWORK_H */
