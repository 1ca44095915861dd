/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_UDP_SOCKET_H
#define INCLUDED_RDMA_IO_SOFTROCE_UDP_SOCKET_H

#include "io/softroce/addresses.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! One read: a datagram, or several of the same length back to back (the last may be
//! shorter).
struct datagrams {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::size_t each = 0; //!< bytes of one datagram
    wire::ip_address source;
    std::uint16_t source_port = 0;
};

/*!
 * \brief UDP socket on port 4791 of one address: batched reads with UDP GRO, batched
 * sends with UDP GSO where the kernel has them. Knows nothing of protocols beyond sealing
 * a packet with its ICRC.
 *
 * IPv4: unconnected and with DF set, so that the kernel sends IP identification 0, which
 * the ICRC covers; segments of one GSO send count the identification up from 0. IPv6 has
 * no such field; packets without a UDP checksum are taken, as Linux's rdma_rxe sends
 * them. One thread uses it.
 */
class udp_socket
{
public:
    static constexpr std::size_t read_batch = 8;
    static constexpr std::size_t read_bytes = 65536;

    /*!
     * \param own own address; packets to multicast groups leave by its interface
     * \param buffer_bytes asked of the kernel for each direction
     * \param gro let the kernel join datagrams, if it can
     * \param group a multicast group to be bound instead of \p own, and joined on its
     * interface; other sockets may be, too, and each gets every packet. Unspecified: none
     * \throws os_error port in use (EADDRINUSE), limits; names address and port
     */
    udp_socket(const host_address& own,
               std::uint32_t buffer_bytes,
               bool gro = true,
               const wire::ip_address& group = wire::ip_address());
    ~udp_socket();
    udp_socket(const udp_socket&) = delete;
    udp_socket& operator=(const udp_socket&) = delete;

    int fd() const noexcept { return d_fd; }
    //! The destination of what it receives: the own address, or the group.
    const wire::ip_address& address() const noexcept { return d_at.ip; }
    //! Of packets that it sends to multicast groups; 1 unless set. Any thread.
    void set_multicast_ttl(std::uint8_t ttl) noexcept;
    bool has_gro() const noexcept { return d_gro; }
    bool has_gso() const noexcept { return d_gso; }
    //! What the kernel granted for receiving, bytes of its own accounting.
    std::uint32_t receive_buffer() const noexcept { return d_receive_buffer; }

    //! Read what is there, at most read_batch entries of \p out; never waits. The data
    //! stays valid until the next call. \return entries filled
    std::size_t receive(datagrams* out) noexcept;
    //! Datagrams that the kernel dropped for want of buffer, since the socket was made.
    std::uint32_t kernel_drops() const noexcept { return d_kernel_drops; }

    /*!
     * \brief Queue one packet; headers are copied, the payload is read at flush().
     * \return false: the batch is full; flush() and queue it again
     */
    bool queue(const wire::ip_address& destination, const wire::packet& packet) noexcept;
    bool nothing_queued() const noexcept { return d_messages == 0; }

    //! The UDP payload that queue() and flush() would send for one packet alone.
    std::vector<std::byte> sealed(const wire::ip_address& destination,
                                  const wire::packet& packet) const;
    //! Send one UDP payload as it is. \return false if the kernel refused it
    bool send_as_is(const wire::ip_address& destination,
                    const std::vector<std::byte>& datagram) noexcept;

    enum class send_status : std::uint8_t {
        sent,
        too_big, //!< a packet is larger than the path's MTU
        refused, //!< the kernel refused some; errno in last_error()
    };
    //! Send all that was queued. Waits for room in the socket buffer, at most 100 ms.
    send_status flush() noexcept;
    int last_error() const noexcept { return d_last_error; }
    //! Where a packet was to go: address and QPN.
    struct target {
        wire::ip_address address;
        std::uint32_t qpn = 0;
    };
    //! Of the packets that flush() could not send last.
    target last_failed() const noexcept { return d_last_failed; }
    //! Packets that flush() could not send, since the socket was made.
    std::uint64_t unsent() const noexcept { return d_unsent; }

private:
    struct buffers; // headers, trailers, scratch and the kernel's structures
    struct segment;
    wire::udp_flow flow_to(const wire::ip_address& destination) const noexcept;
    void seal(std::size_t segment, std::uint16_t ip_id) noexcept;
    bool send_one_by_one(std::size_t message) noexcept;

    int d_fd;
    host_address d_at;
    bool d_gro = false;
    bool d_gso = false;
    std::uint32_t d_receive_buffer = 0;
    std::uint32_t d_kernel_drops = 0;
    std::unique_ptr<buffers> d_buffers;
    std::size_t d_messages = 0; // open or closed sends in the batch
    std::size_t d_segments = 0;
    std::size_t d_scratch_used = 0;
    int d_last_error = 0;
    target d_last_failed;
    std::uint64_t d_unsent = 0;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_UDP_SOCKET_H */
