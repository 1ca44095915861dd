/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_BENCH_TRAFFIC_H
#define INCLUDED_RDMA_APPS_BENCH_TRAFFIC_H

#include "io/endpoint_config.h"

#include <gnuradio/basic_block.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief A sender and a receiver in this process, busy from construction to destruction,
 * or sending when it is told to.
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
    //! Send one message, if `on_demand`. \throws std::system_error
    virtual void send_message() {}
};

//! What all of them share. Addresses are loopback ones that nobody else uses.
struct traffic_config {
    std::string from;
    std::string to;
    std::uint32_t mtu = 4096; //!< payload of a datagram
    std::uint64_t message_bytes = 1u << 20;
    //! Payload bytes per second, UDP senders only; 0: as fast as they can.
    double rate = 0;
    //! Nothing is sent but by send_message(): not for make_bare_traffic().
    bool on_demand = false;
};

//! The receiving flowgraph.
struct receiving {
    std::string receive = "auto"; //!< these three: parameters of rdma.source
    std::string memory = "host";
    std::string wait = "hybrid";
    std::size_t item_bytes = 1; //!< of network.udp_source; rdma.source has sc16
    //! What the samples go through, in a row; none: a null sink.
    std::vector<gr::basic_block_sptr> behind;
    //! What received() says; null: what came to the first block.
    std::function<std::uint64_t()> received;
};

//! A softroce endpoint sends messages as fast as it can to rdma.source.
//! \throws config_error, os_error, cuda_error
std::unique_ptr<traffic> make_source_traffic(const traffic_config& config,
                                             io::service_type service,
                                             receiving to = {});

/*!
 * \brief UDP without any protocol: datagrams of a RoCEv2 packet's size (payload, 12 bytes
 * in front, 4 behind), sent by GSO, received by a loop of recvmmsg() that scatters the
 * payloads into a ring of 16 MiB. \throws std::system_error
 */
std::unique_ptr<traffic> make_bare_traffic(const traffic_config& config);

//! The same sender without the 16 bytes, to GNU Radio's network.udp_source.
//! \throws std::system_error, std::runtime_error
std::unique_ptr<traffic> make_udp_source_traffic(const traffic_config& config,
                                                 receiving to = {});

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_BENCH_TRAFFIC_H */
