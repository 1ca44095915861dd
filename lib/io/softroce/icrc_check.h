/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_ICRC_CHECK_H
#define INCLUDED_RDMA_IO_SOFTROCE_ICRC_CHECK_H

#include "wire/icrc.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

/*!
 * \brief Verifies ICRCs of one peer although a UDP socket hides two covered fields of
 * IPv4: the identification and the DF flag. IPv6 has none that is hidden.
 *
 * An IPv4 packet is right if some identification makes its ICRC right. By chance 2^-15 of
 * corrupted packets would pass that; once a peer has shown that it counts small
 * identifications (Linux does: 0, or the segment's number in a GSO send), only those are
 * tried, and 2^-24 would.
 *
 * Not thread-safe.
 */
class icrc_check
{
public:
    //! \param one_peer false: several peers are checked with this, so no habit is learned
    explicit icrc_check(bool one_peer = true) noexcept : d_one_peer(one_peer) {}

    //! \param bytes UDP payload from BTH to pad, without the ICRC \param icrc as received
    bool right(const wire::ipv4_flow& flow,
               const std::byte* bth,
               std::size_t bytes,
               std::uint32_t icrc) noexcept;
    //! The same for a packet in two pieces.
    bool right(const wire::ipv4_flow& flow,
               const std::byte* headers,
               std::size_t header_bytes,
               const std::byte* payload,
               std::size_t payload_bytes,
               std::uint32_t icrc) noexcept;
    //! ... over either IP.
    bool right(const wire::udp_flow& flow,
               const std::byte* headers,
               std::size_t header_bytes,
               const std::byte* payload,
               std::size_t payload_bytes,
               std::uint32_t icrc) noexcept;

private:
    const wire::icrc_ip_id_solver& solver(std::size_t bytes) noexcept;
    bool accept(std::uint16_t ip_id, bool dont_fragment) noexcept;

    bool d_one_peer;
    static constexpr std::size_t remembered = 4;
    std::unique_ptr<wire::icrc_ip_id_solver>
        d_solvers[remembered]; // recent packet lengths
    std::size_t d_replace = 0;
    std::uint16_t d_expected_id = 0;
    bool d_dont_fragment = true;
    std::uint32_t d_small_ids = 0; // packets in a row whose identification was small
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_ICRC_CHECK_H */
