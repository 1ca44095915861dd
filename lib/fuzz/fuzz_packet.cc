/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Any datagram through the parser: what it accepts lies inside the datagram and is
// written again bit for bit, reserved bits aside; both forms of both ICRCs agree; a lost
// IP identification is found again.
#include "fuzz/input.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#include <cstring>
#include <vector>

namespace {

using namespace gr::rdma::wire;
using gr::rdma::fuzz::input;

void check_view(const std::byte* d, std::size_t bytes, const packet& p)
{
    const opcode_traits& t = traits(p.bth.opcode);
    FUZZ_REQUIRE(t.known);
    FUZZ_REQUIRE(p.payload == d + t.header_bytes);
    FUZZ_REQUIRE(t.header_bytes + p.payload_bytes + p.bth.pad + icrc_bytes == bytes);
    FUZZ_REQUIRE(t.has_payload || p.payload_bytes == 0);
    FUZZ_REQUIRE(p.bth.dest_qpn <= 0xffffff && p.deth.source_qpn <= 0xffffff &&
                 p.aeth.msn <= 0xffffff && p.aeth.value <= 31);
}

// Bits that the headers of an opcode have and a packet has no field for.
std::vector<std::byte> reserved_bits(const opcode_traits& t)
{
    std::vector<std::byte> mask(t.header_bytes);
    mask[4] = std::byte{ 0xff };
    mask[8] = std::byte{ 0x7f };
    if (t.has_deth)
        mask[bth_bytes + 4] = std::byte{ 0xff };
    // An AETH whose upper syndrome bit is set reads as kind "reserved", one of 128.
    if (t.has_aeth)
        mask[bth_bytes] = std::byte{ 0x80 };
    return mask;
}

void check_written(const std::byte* d, std::size_t bytes, const packet& p)
{
    const opcode_traits& t = traits(p.bth.opcode);
    std::byte out[max_header_bytes];
    const std::size_t n = write_headers(p, out);
    if (n == 0)
        return; // atomics
    FUZZ_REQUIRE(n == t.header_bytes && n <= max_header_bytes);
    const std::vector<std::byte> reserved = reserved_bits(t);
    const bool reserved_kind =
        t.has_aeth && (d[bth_bytes] & std::byte{ 0x80 }) != std::byte{};
    for (std::size_t i = 0; i < n; ++i)
        if (!(reserved_kind && i == bth_bytes))
            FUZZ_REQUIRE((out[i] & ~reserved[i]) == (d[i] & ~reserved[i]));

    std::vector<std::byte> again(d, d + bytes);
    std::memcpy(again.data(), out, n);
    packet q;
    FUZZ_REQUIRE(parse(again.data(), bytes, q) == parse_status::ok);
    FUZZ_REQUIRE(q.bth.psn == p.bth.psn && q.bth.dest_qpn == p.bth.dest_qpn &&
                 q.immediate == p.immediate && q.reth.address == p.reth.address &&
                 q.aeth.kind == p.aeth.kind && q.payload_bytes == p.payload_bytes &&
                 q.icrc == p.icrc);
    std::byte third[max_header_bytes];
    FUZZ_REQUIRE(write_headers(q, third) == n && std::memcmp(out, third, n) == 0);
}

void check_icrc(const std::byte* d, std::size_t bytes)
{
    if (bytes < bth_bytes)
        return;
    input in(reinterpret_cast<const std::uint8_t*>(d), bytes);
    const ipv4_flow v4{ in.u32(), in.u32(), in.u16(), in.u16() };
    ipv6_flow v6;
    std::memcpy(v6.source.data(), d, bth_bytes);
    v6.source_port = v4.source_port;
    const auto ip_id = static_cast<std::uint16_t>(v4.source ^ v4.destination);
    const std::size_t cut = bth_bytes + v4.source % (bytes - bth_bytes + 1);

    const std::uint32_t whole = icrc_ipv4(v4, ip_id, true, d, bytes);
    FUZZ_REQUIRE(icrc_ipv4(v4, ip_id, true, d, cut, d + cut, bytes - cut) == whole);
    FUZZ_REQUIRE(icrc_ipv6(v6, d, cut, d + cut, bytes - cut) == icrc_ipv6(v6, d, bytes));

    const icrc_ip_id_solver solver(bytes);
    std::uint16_t found = 0;
    FUZZ_REQUIRE(solver.solve(whole ^ icrc_ipv4(v4, 0, true, d, bytes), found));
    FUZZ_REQUIRE(found == ip_id);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    const auto* d = reinterpret_cast<const std::byte*>(data);
    packet p;
    if (parse(d, bytes, p) == parse_status::ok) {
        check_view(d, bytes, p);
        check_written(d, bytes, p);
        check_icrc(d, bytes - icrc_bytes);
    }
    return 0;
}
