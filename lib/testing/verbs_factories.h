/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_VERBS_FACTORIES_H
#define INCLUDED_RDMA_TESTING_VERBS_FACTORIES_H

#include "io/endpoint.h"
#include "testing/endpoint_factories.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief Two own addresses on RDMA devices: fakes, or those that the environment variable
 * RDMA_TEST_DEVICE_ADDRESSES names, with a comma between them.
 */
inline std::pair<std::string, std::string>& verbs_addresses()
{
    static std::pair<std::string, std::string> both = [] {
        const char* given = std::getenv("RDMA_TEST_DEVICE_ADDRESSES");
        const std::string text = given ? given : "";
        const std::size_t comma = text.find(',');
        if (comma == std::string::npos)
            return std::make_pair(std::string(), std::string());
        return std::make_pair(text.substr(0, comma), text.substr(comma + 1));
    }();
    return both;
}

/*!
 * Static verbs endpoints: each tells the other its QPN, which the device has chosen, when
 * it is attached, before either starts.
 */
struct verbs_endpoints {
    static constexpr bool tells_the_end = false;
    static constexpr bool has_datagrams = true;
    static constexpr bool has_unreliable = true;
    static constexpr bool sees_losses = false; // a device shows no packet numbers
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        struct exchange {
            std::atomic<std::uint32_t> first{ 0 };
            std::atomic<std::uint32_t> second{ 0 };
        };
        const auto shared = std::make_shared<exchange>();
        common.endpoint = "verbs";
        common.source = verbs_addresses().first;
        common.connect = verbs_addresses().second;
        common.qpn = common.remote_qpn = 1;
        common.psn = 0xffffff - fresh_number() % 64; // wraps soon
        common.remote_psn = 0x123456;
        if (common.service != io::service_type::rc && common.rate_bytes == 0)
            common.rate_bytes = 50e6;
        io::endpoint_config other = common;
        std::swap(other.source, other.connect);
        std::swap(other.psn, other.remote_psn);
        common.tell_qpn = [shared](std::uint32_t n) { shared->first = n; };
        common.ask_remote_qpn = [shared] { return shared->second.load(); };
        other.tell_qpn = [shared](std::uint32_t n) { shared->second = n; };
        other.ask_remote_qpn = [shared] { return shared->first.load(); };
        return { common, other };
    }
};

//! The same by rdma_cm: a calls, b listens. RC.
struct verbs_cm_endpoints {
    static constexpr bool tells_the_end = true;
    static constexpr bool has_datagrams = false;
    static constexpr bool has_unreliable = false;
    static constexpr bool sees_losses = false;
    std::pair<io::endpoint_config, io::endpoint_config> make(io::endpoint_config common)
    {
        common.endpoint = "verbs";
        common.mtu = 0; // as the interface's, which rdma_cm proposes
        io::endpoint_config caller = common;
        caller.source = verbs_addresses().first;
        caller.connect = verbs_addresses().second + ":" +
                         std::to_string(20000 + fresh_number() % 20000);
        io::endpoint_config listener = common;
        listener.listen = caller.connect;
        return { caller, listener };
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_VERBS_FACTORIES_H */
