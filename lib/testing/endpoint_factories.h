/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ENDPOINT_FACTORIES_H
#define INCLUDED_RDMA_TESTING_ENDPOINT_FACTORIES_H

#include "io/endpoint.h"

#include <atomic>
#include <string>
#include <unistd.h>
#include <utility>

namespace gr {
namespace rdma {
namespace testing {

//! A number that no other call in this process got.
inline unsigned fresh_number()
{
    static std::atomic<unsigned> n{ 0 };
    return ++n;
}

//! An address of this machine that no test beside this one uses.
inline std::string fresh_address(unsigned n)
{
    return "127.7." + std::to_string(::getpid() % 250 + 1) + "." +
           std::to_string(n % 250 + 1);
}

//! The same of an own_ipv6_network.
inline std::string fresh_address_ipv6(unsigned n)
{
    return "fd91::" + std::to_string(n % 250 + 1);
}

struct inproc_endpoints {
    static constexpr bool tells_the_end = true;
    static constexpr bool has_datagrams = false;
    static constexpr bool has_unreliable = true;
    static constexpr bool sees_losses = true;
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        const std::string n = std::to_string(fresh_number());
        common.endpoint = "inproc";
        common.source = "a" + n;
        common.connect = "b" + n;
        io::endpoint_config other = common;
        std::swap(other.source, other.connect);
        return { common, other };
    }
};

struct softroce_endpoints {
    static constexpr bool tells_the_end = false; // nobody says goodbye
    static constexpr bool has_datagrams = true;
    static constexpr bool has_unreliable = true;
    static constexpr bool sees_losses = true;
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        const unsigned n = fresh_number();
        common.endpoint = "softroce";
        common.source = fresh_address(2 * n);
        common.connect = fresh_address(2 * n + 1);
        common.qpn = 0x1000 + n;
        common.remote_qpn = 0x2000 + n;
        common.psn = 0xffffff - n % 64; // wraps soon
        common.remote_psn = 0x123456;
        if (common.service != io::service_type::rc && common.rate_bytes == 0)
            common.rate_bytes = 200e6;
        io::endpoint_config other = common;
        std::swap(other.source, other.connect);
        std::swap(other.qpn, other.remote_qpn);
        std::swap(other.psn, other.remote_psn);
        return { common, other };
    }
};

//! The same, but for payloads that the kernel puts straight into the ring.
struct softroce_scatter_endpoints : softroce_endpoints {
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        common.receive = io::receive_strategy::scatter;
        return softroce_endpoints::make(common);
    }
};

//! The same over IPv6; needs an own_ipv6_network.
struct softroce_ipv6_endpoints : softroce_endpoints {
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        auto both = softroce_endpoints::make(common);
        const unsigned n = fresh_number();
        both.first.source = both.second.connect = fresh_address_ipv6(2 * n);
        both.first.connect = both.second.source = fresh_address_ipv6(2 * n + 1);
        return both;
    }
};

//! The same by the connection manager: a calls, b listens.
struct softroce_cm_endpoints {
    static constexpr bool tells_the_end = true;
    static constexpr bool has_datagrams = false;
    static constexpr bool has_unreliable = true;
    static constexpr bool sees_losses = true;
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        const unsigned n = fresh_number();
        common.endpoint = "softroce";
        if (common.service != io::service_type::rc && common.rate_bytes == 0)
            common.rate_bytes = 200e6;
        io::endpoint_config caller = common;
        caller.source = fresh_address(2 * n);
        caller.connect = fresh_address(2 * n + 1) + ":7471";
        io::endpoint_config listener = common;
        listener.listen = caller.connect;
        return { caller, listener };
    }
};

struct softroce_ipv6_cm_endpoints : softroce_cm_endpoints {
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        auto both = softroce_cm_endpoints::make(common);
        const unsigned n = fresh_number();
        both.first.source = fresh_address_ipv6(2 * n);
        both.first.connect = both.second.listen =
            "[" + fresh_address_ipv6(2 * n + 1) + "]:7471";
        return both;
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_ENDPOINT_FACTORIES_H */
