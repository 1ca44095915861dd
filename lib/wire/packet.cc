/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/packet.h"
#include "wire/byte_order.h"

#include <array>
#include <iterator>

namespace gr {
namespace rdma {
namespace wire {

namespace {

constexpr std::size_t atomiceth_bytes = 28;
constexpr std::size_t atomicacketh_bytes = 8;

struct extension {
    bool has_deth = false;
    bool has_reth = false;
    bool has_aeth = false;
    bool has_immdt = false;
    std::size_t atomic_bytes = 0;
};

constexpr extension extension_of(operation o)
{
    extension e;
    e.has_reth = o == operation::write_first || o == operation::write_only ||
                 o == operation::write_only_immediate || o == operation::read_request;
    e.has_aeth = o == operation::read_response_first ||
                 o == operation::read_response_last ||
                 o == operation::read_response_only || o == operation::acknowledge ||
                 o == operation::atomic_acknowledge;
    e.has_immdt =
        o == operation::send_last_immediate || o == operation::send_only_immediate ||
        o == operation::write_last_immediate || o == operation::write_only_immediate;
    if (o == operation::atomic_acknowledge)
        e.atomic_bytes = atomicacketh_bytes;
    else if (o == operation::compare_swap || o == operation::fetch_add)
        e.atomic_bytes = atomiceth_bytes;
    return e;
}

constexpr bool exists(service s, operation o)
{
    switch (s) {
    case service::rc:
        return o <= operation::fetch_add;
    case service::uc:
        return o <= operation::write_only_immediate;
    case service::ud:
        return o == operation::send_only || o == operation::send_only_immediate;
    }
    return false;
}

constexpr opcode_traits make_traits(std::uint8_t opcode)
{
    const auto s = static_cast<service>(opcode & 0xe0);
    const auto o = static_cast<operation>(opcode & 0x1f);
    opcode_traits t;
    if (!exists(s, o))
        return t;
    const bool response =
        o >= operation::read_response_first && o <= operation::read_response_only;
    const extension e = extension_of(o);
    t.known = true;
    t.starts = o == operation::send_first || o == operation::send_only ||
               o == operation::send_only_immediate || o == operation::write_first ||
               o == operation::write_only || o == operation::write_only_immediate ||
               o == operation::read_response_first || o == operation::read_response_only;
    t.is_send = o <= operation::send_only_immediate;
    t.is_write = o >= operation::write_first && o <= operation::write_only_immediate;
    t.has_payload = t.is_send || t.is_write || response;
    t.ends = t.has_payload && o != operation::send_first && o != operation::send_middle &&
             o != operation::write_first && o != operation::write_middle &&
             o != operation::read_response_first && o != operation::read_response_middle;
    t.has_deth = s == service::ud;
    t.has_reth = e.has_reth;
    t.has_aeth = e.has_aeth;
    t.has_immdt = e.has_immdt;
    t.header_bytes = static_cast<std::uint8_t>(
        bth_bytes + (t.has_deth ? deth_bytes : 0) + (t.has_reth ? reth_bytes : 0) +
        (t.has_aeth ? aeth_bytes : 0) + (t.has_immdt ? immdt_bytes : 0) + e.atomic_bytes);
    return t;
}

constexpr std::array<opcode_traits, 256> make_table()
{
    std::array<opcode_traits, 256> table;
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] = make_traits(static_cast<std::uint8_t>(i));
    return table;
}

constexpr std::array<opcode_traits, 256> table = make_table();

bool has_atomic(std::uint8_t opcode) noexcept
{
    return opcode >= make_opcode(service::rc, operation::atomic_acknowledge) &&
           opcode <= make_opcode(service::rc, operation::fetch_add);
}

void read_bth(const std::byte* p, bth& out) noexcept
{
    const auto flags = std::to_integer<std::uint8_t>(p[1]);
    out.opcode = std::to_integer<std::uint8_t>(p[0]);
    out.solicited = flags & 0x80;
    out.migreq = flags & 0x40;
    out.pad = flags >> 4 & 3;
    out.version = flags & 0xf;
    out.pkey = load_be<std::uint16_t>(p + 2);
    out.dest_qpn = load_be<std::uint32_t, 3>(p + 5);
    out.ack_request = (p[8] & std::byte{ 0x80 }) != std::byte{ 0 };
    out.psn = psn(load_be<std::uint32_t, 3>(p + 9));
}

void write_bth(const bth& b, std::byte* p) noexcept
{
    p[0] = std::byte{ b.opcode };
    p[1] = static_cast<std::byte>((b.solicited ? 0x80 : 0) | (b.migreq ? 0x40 : 0) |
                                  (b.pad & 3) << 4 | (b.version & 0xf));
    store_be<std::uint16_t>(p + 2, b.pkey);
    p[4] = std::byte{ 0 };
    store_be<std::uint32_t, 3>(p + 5, b.dest_qpn);
    p[8] = std::byte{ b.ack_request ? std::uint8_t{ 0x80 } : std::uint8_t{ 0 } };
    store_be<std::uint32_t, 3>(p + 9, b.psn.value());
}

void read_aeth(const std::byte* p, aeth& out) noexcept
{
    const auto syndrome = std::to_integer<std::uint8_t>(p[0]);
    // The whole upper half of the syndromes is reserved.
    out.kind =
        syndrome & 0x80 ? aeth_kind::reserved : static_cast<aeth_kind>(syndrome >> 5 & 3);
    out.value = syndrome & 0x1f;
    out.msn = load_be<std::uint32_t, 3>(p + 1);
}

// In the order in which they stand behind the BTH (spec vol. 1, 9.3).
void read_extensions(const std::byte* p, const opcode_traits& t, packet& out) noexcept
{
    if (t.has_deth) {
        out.deth.qkey = load_be<std::uint32_t>(p);
        out.deth.source_qpn = load_be<std::uint32_t, 3>(p + 5);
        p += deth_bytes;
    }
    if (t.has_reth) {
        out.reth.address = load_be<std::uint64_t>(p);
        out.reth.rkey = load_be<std::uint32_t>(p + 8);
        out.reth.bytes = load_be<std::uint32_t>(p + 12);
        p += reth_bytes;
    }
    if (t.has_aeth) {
        read_aeth(p, out.aeth);
        p += aeth_bytes;
    }
    if (t.has_immdt)
        out.immediate = load_be<std::uint32_t>(p);
}

std::uint32_t read_icrc(const std::byte* p) noexcept
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < icrc_bytes; ++i)
        value |= std::to_integer<std::uint32_t>(p[i]) << (8 * i);
    return value;
}

} // namespace

const opcode_traits& traits(std::uint8_t opcode) noexcept { return table[opcode]; }

parse_status parse(const std::byte* datagram, std::size_t bytes, packet& out) noexcept
{
    if (bytes < bth_bytes + icrc_bytes)
        return parse_status::too_short;
    out = packet{};
    read_bth(datagram, out.bth);
    if (out.bth.version != 0)
        return parse_status::version;
    const opcode_traits& t = table[out.bth.opcode];
    if (!t.known)
        return parse_status::opcode;
    if (bytes < t.header_bytes + icrc_bytes)
        return parse_status::too_short;
    const std::size_t body = bytes - t.header_bytes - icrc_bytes;
    if (out.bth.pad > body || (!t.has_payload && body > 0))
        return parse_status::pad;
    if (t.header_bytes > bth_bytes)
        read_extensions(datagram + bth_bytes, t, out);
    out.payload = datagram + t.header_bytes;
    out.payload_bytes = body - out.bth.pad;
    out.icrc = read_icrc(datagram + bytes - icrc_bytes);
    return parse_status::ok;
}

std::size_t write_headers(const packet& p, std::byte* out) noexcept
{
    const opcode_traits& t = table[p.bth.opcode];
    if (!t.known || has_atomic(p.bth.opcode))
        return 0;
    write_bth(p.bth, out);
    std::byte* at = out + bth_bytes;
    if (t.has_deth) {
        store_be<std::uint32_t>(at, p.deth.qkey);
        store_be<std::uint32_t>(at + 4, p.deth.source_qpn & psn::mask);
        at += deth_bytes;
    }
    if (t.has_reth) {
        store_be<std::uint64_t>(at, p.reth.address);
        store_be<std::uint32_t>(at + 8, p.reth.rkey);
        store_be<std::uint32_t>(at + 12, p.reth.bytes);
        at += reth_bytes;
    }
    if (t.has_aeth) {
        at[0] = static_cast<std::byte>((static_cast<unsigned>(p.aeth.kind) & 3) << 5 |
                                       (p.aeth.value & 0x1f));
        store_be<std::uint32_t, 3>(at + 1, p.aeth.msn);
        at += aeth_bytes;
    }
    if (t.has_immdt) {
        store_be<std::uint32_t>(at, p.immediate);
        at += immdt_bytes;
    }
    return static_cast<std::size_t>(at - out);
}

std::int64_t rnr_timer_ns(std::uint8_t code) noexcept
{
    // In units of 10 us.
    constexpr std::array<std::uint16_t, 32> table45{
        { 0,    1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
          48,   64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
          2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152 }
    };
    const unsigned units = code & 0x1f ? table45[code & 0x1f] : 65536;
    return std::int64_t{ 10000 } * units;
}

namespace {
// 0, 1, 2, 3, 4, then 1.5 times and 2 times the powers of two.
constexpr std::uint64_t credit_counts[] = { 0,     1,     2,    3,    4,    6,    8,
                                            12,    16,    24,   32,   48,   64,   96,
                                            128,   192,   256,  384,  512,  768,  1024,
                                            1536,  2048,  3072, 4096, 6144, 8192, 12288,
                                            16384, 24576, 32768 };
} // namespace

std::uint8_t credit_code(std::uint64_t credits) noexcept
{
    std::uint8_t code = 30;
    while (credit_counts[code] > credits)
        --code;
    return code;
}

std::uint64_t credits_of(std::uint8_t code) noexcept
{
    return code < std::size(credit_counts) ? credit_counts[code] : UINT64_MAX;
}

} // namespace wire
} // namespace rdma
} // namespace gr
