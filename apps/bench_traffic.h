/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_BENCH_TRAFFIC_H
#define INCLUDED_RDMA_APPS_BENCH_TRAFFIC_H

#include "io/endpoint_config.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief A sender and a receiver in this process, busy from construction to destruction.
 *
 * received() and sent() count payload bytes and may be asked from any thread.
 */
class traffic
{
public:
    virtual ~traffic() = default;
    virtual std::uint64_t received() const = 0;
    virtual std::uint64_t sent() const = 0;
    //! End the sending; what is under way may still arrive.
    virtual void end_sending() = 0;
};

//! What all of them share. Addresses are loopback ones that nobody else uses.
struct traffic_config {
    std::string from;
    std::string to;
    std::uint32_t mtu = 4096; //!< payload of a datagram
    std::uint64_t message_bytes = 1u << 20;
    double rate =
        0; //!< payload bytes per second, UDP senders only; 0: as fast as they can
};

//! A softroce endpoint sends messages as fast as it can to rdma.source and a null sink.
//! \throws config_error, os_error
std::unique_ptr<traffic> make_source_traffic(const traffic_config& config,
                                             io::service_type service,
                                             const char* receive = "auto");

/*!
 * \brief UDP without any protocol: datagrams of a RoCEv2 packet's size (payload, 12 bytes
 * in front, 4 behind), sent by GSO, received by a loop of recvmmsg() that scatters the
 * payloads into a ring of 16 MiB. \throws std::system_error
 */
std::unique_ptr<traffic> make_bare_traffic(const traffic_config& config);

//! The same sender without the 16 bytes, to GNU Radio's network.udp_source and a null
//! sink. \throws std::system_error, std::runtime_error
std::unique_ptr<traffic> make_udp_source_traffic(const traffic_config& config);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_BENCH_TRAFFIC_H */
