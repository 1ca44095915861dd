/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_SCATTER_READER_H
#define INCLUDED_RDMA_IO_SOFTROCE_SCATTER_READER_H

#include "wire/ip_address.h"
#include "wire/packet.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

/*!
 * \brief The other way to read: recvmmsg() that puts payloads where the next packets of a
 * stream are expected, straight into the ring, without a copy of ours.
 *
 * The guess is a run of packets with a 12-byte BTH, one MTU of payload (the last: what is
 * left of the slot) and an ICRC. What turns out otherwise has to be gathered before
 * anything is delivered, since a later datagram may lie where an earlier one belongs.
 *
 * Reads of a socket without UDP GRO. One thread uses it.
 */
class scatter_reader
{
public:
    static constexpr std::size_t batch = 64;

    explicit scatter_reader(int fd);
    ~scatter_reader();

    /*!
     * \brief Read up to batch datagrams; never waits.
     * \param at where the next payload is expected, or nullptr if nothing is
     * \param room bytes there that are free
     * \return datagrams read
     */
    std::size_t read(std::byte* at, std::size_t room, std::size_t mtu) noexcept;

    //! UDP payload bytes of datagram \p i.
    std::size_t bytes(std::size_t i) const noexcept;
    wire::ip_address source(std::size_t i) const noexcept;
    std::uint16_t source_port(std::size_t i) const noexcept;
    //! Datagrams that the kernel dropped for want of buffer, since the socket was made.
    std::uint32_t kernel_drops() const noexcept { return d_kernel_drops; }

    //! \return true if datagram \p i has just the lengths that were guessed; then \p
    //! header has its BTH, and behind it its ICRC, 16 bytes in all; the payload lies in
    //! its place.
    bool as_guessed(std::size_t i,
                    const std::byte*& header,
                    const std::byte*& payload,
                    std::size_t& payload_bytes) const noexcept;
    //! Datagram \p i in one piece, out of the ring. Valid until the next read().
    const std::byte* gather(std::size_t i) noexcept;

private:
    struct buffers;
    std::unique_ptr<buffers> d_buffers;
    int d_fd;
    std::size_t d_planned = 0; // of the last read: datagrams that were given a place
    std::uint32_t d_kernel_drops = 0;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_SCATTER_READER_H */
