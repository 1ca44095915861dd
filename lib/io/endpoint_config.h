/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_ENDPOINT_CONFIG_H
#define INCLUDED_RDMA_IO_ENDPOINT_CONFIG_H

#include "core/log.h"
#include "io/lossy_link.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {

enum class service_type : std::uint8_t { rc, uc, ud };
enum class wait_mode : std::uint8_t { hybrid, busy, event };
/*!
 * How softroce reads its socket. gro: UDP GRO reads of up to 64 KiB and one copy into the
 * ring. scatter: recvmmsg() puts payloads straight into the ring, a datagram at a time.
 * automatic: gro where the kernel has it, which was the faster one wherever it was
 * measured (gr-rdma bench).
 */
enum class receive_strategy : std::uint8_t { automatic, gro, scatter };

//! \throws config_error naming \p parameter, the text, and the words that are known
service_type parse_service(const std::string& text, const char* parameter = "service");
wait_mode parse_wait(const std::string& text, const char* parameter = "wait");
receive_strategy parse_receive(const std::string& text,
                               const char* parameter = "receive");
const char* to_string(service_type service) noexcept;
const char* to_string(wait_mode wait) noexcept;

//! Range of legal path MTUs (InfiniBand spec vol. 1, 12.7: 256, 512, 1024, 2048, 4096
//! bytes).
bool is_path_mtu(std::uint32_t bytes) noexcept;

/*!
 * \brief Everything an endpoint wants to know. Names are those of the program's flags.
 *
 * A static connection (no connection manager) is one with qpn given: both sides are told
 * both QPNs, PSNs, addresses and the MTU.
 */
struct endpoint_config {
    std::string endpoint = "auto"; //!< auto, softroce, verbs, inproc
    service_type service = service_type::rc;
    std::string device;   //!< verbs: name of the RDMA device; empty: the one with source
    int gid_index = -1;   //!< verbs, static: index of the own GID; -1: by the own address
    unsigned ib_port = 0; //!< verbs: port of the device; 0: the one with the own address
    std::string source;   //!< own address; for inproc, any name
    std::string connect;  //!< the peer's address (static: HOST)
    std::string listen;   //!< HOST[:PORT], connection manager
    std::uint32_t qpn = 0;        //!< own QPN, 24 bits; 0: not static
    std::uint32_t remote_qpn = 0; //!< the peer's QPN, 24 bits
    std::uint32_t psn = 0;        //!< first PSN that we send, 24 bits
    std::uint32_t remote_psn = 0; //!< first PSN that the peer sends, 24 bits
    std::uint32_t mtu = 0;        //!< path MTU, bytes; 0: 1024 (static), what fits (CM)
    wait_mode wait = wait_mode::hybrid;
    receive_strategy receive = receive_strategy::automatic;
    int pump_cpu = -1; //!< softroce: the CPU that its thread is bound to; -1: any
    std::uint32_t header_bytes = 0; //!< of each message, into the header region
    std::uint32_t recv_depth = 64;  //!< receives that may be posted at once
    std::uint32_t send_depth = 64;  //!< sends that may be queued at once
    std::uint64_t message_bytes =
        0;                        //!< the usual message length, 0: unknown; sizes a gap
    std::uint8_t rnr_timer = 12;  //!< code of the RNR NAK timer (12: 0.64 ms)
    std::uint8_t retry_count = 7; //!< time-outs in a row before retry_exceeded
    std::uint8_t rnr_retry = 7;   //!< 7: for ever
    std::int64_t ack_timeout_ns = 67000000; //!< local ACK time-out
    std::uint32_t socket_buffer_bytes =
        4u << 20; //!< asked of the kernel; the grant is reported
    double rate_bytes =
        0; //!< paces sends, bytes per second of payload; 0: as fast as possible
    //! R_Key that a peer must give to WRITE into the attached ring, whose first byte has
    //! the address 0; 0: the peer may not. A WRITE must lie inside the next posted slot.
    std::uint32_t rkey = 0;
    std::uint32_t qkey = 0x11111111; //!< UD, static: what both sides must give
    //! UD, static: multicast group that is received from, too, on the interface of
    //! source.
    std::string group;
    std::uint8_t multicast_ttl = 1; //!< routers that a packet to a group may pass, plus 1
    std::vector<std::byte> private_data; //!< CM: sent to the peer, at most 56 bytes
    std::string
        peers; //!< CM, listening: who may connect, addresses by comma; empty: anyone
    std::int64_t connect_timeout_ns = 10000000000; //!< CM: until a handshake is given up
    //! verbs, static: the device gives out the QPNs. tell_qpn is called with the own one
    //! when it is known (open() or attach()); ask_remote_qpn, if given, is called by
    //! start() and replaces remote_qpn. For two ends that exchange them by other means.
    std::function<void(std::uint32_t)> tell_qpn;
    std::function<std::uint32_t()> ask_remote_qpn;
    lossy_link_config faults; //!< softroce: harm done to the packets of what is sent
    core::log_sink log;
};

} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_ENDPOINT_CONFIG_H */
