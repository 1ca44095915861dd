/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/icrc_check.h"

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {
constexpr std::uint16_t small_id = 128;   // UDP_MAX_SEGMENTS of current kernels
constexpr std::uint32_t convinced = 1024; // packets with small identifications
} // namespace

const wire::icrc_ip_id_solver& icrc_check::solver(std::size_t bytes) noexcept
{
    for (const auto& s : d_solvers)
        if (s && s->bytes() == bytes)
            return *s;
    auto& slot = d_solvers[d_replace++ % remembered];
    slot = std::make_unique<wire::icrc_ip_id_solver>(bytes);
    return *slot;
}

bool icrc_check::accept(std::uint16_t ip_id, bool dont_fragment) noexcept
{
    const bool small = ip_id < small_id && dont_fragment;
    if (!small && d_one_peer && d_small_ids >= convinced)
        return false;
    d_small_ids = small ? d_small_ids + (d_small_ids < convinced) : 0;
    d_expected_id = static_cast<std::uint16_t>(ip_id + 1);
    d_dont_fragment = dont_fragment;
    return true;
}

bool icrc_check::right(const wire::ipv4_flow& flow,
                       const std::byte* bth,
                       std::size_t bytes,
                       std::uint32_t icrc) noexcept
{
    return right(flow, bth, bytes, nullptr, 0, icrc);
}

bool icrc_check::right(const wire::ipv4_flow& flow,
                       const std::byte* headers,
                       std::size_t header_bytes,
                       const std::byte* payload,
                       std::size_t payload_bytes,
                       std::uint32_t icrc) noexcept
{
    const auto with_id_0 = [&](bool dont_fragment) {
        return wire::icrc_ipv4(
            flow, 0, dont_fragment, headers, header_bytes, payload, payload_bytes);
    };
    const std::uint32_t difference = with_id_0(d_dont_fragment) ^ icrc;
    if (difference == 0)
        return accept(0, d_dont_fragment);
    const wire::icrc_ip_id_solver& ids = solver(header_bytes + payload_bytes);
    if (difference == ids.difference(d_expected_id))
        return accept(d_expected_id, d_dont_fragment);
    std::uint16_t ip_id = 0;
    if (ids.solve(difference, ip_id))
        return accept(ip_id, d_dont_fragment);
    const bool other = !d_dont_fragment;
    if (ids.solve(with_id_0(other) ^ icrc, ip_id))
        return accept(ip_id, other);
    return false;
}

bool icrc_check::right(const wire::udp_flow& flow,
                       const std::byte* headers,
                       std::size_t header_bytes,
                       const std::byte* payload,
                       std::size_t payload_bytes,
                       std::uint32_t icrc) noexcept
{
    if (!flow.source.is_v4())
        return icrc ==
               wire::icrc(flow, 0, true, headers, header_bytes, payload, payload_bytes);
    const wire::ipv4_flow four{
        flow.source.v4(), flow.destination.v4(), flow.source_port, flow.destination_port
    };
    return right(four, headers, header_bytes, payload, payload_bytes, icrc);
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
