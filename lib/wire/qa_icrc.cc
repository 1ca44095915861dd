/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/byte_order.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

using namespace gr::rdma::wire;

namespace {

using buffer = std::vector<std::byte>;

buffer from_hex(const std::string& text)
{
    buffer bytes;
    for (std::size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(
            static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

buffer random_bytes(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    buffer bytes(n);
    for (std::byte& b : bytes)
        b = static_cast<std::byte>(random() & 0xff);
    return bytes;
}

const ipv4_flow flow{ 0x7f000001, 0x7f000002, 49152, roce_udp_port };

// An IPv4 packet from its header to its ICRC.
struct datagram {
    buffer bytes;
    explicit datagram(const std::string& hex) : bytes(from_hex(hex)) {}

    const std::byte* bth() const { return bytes.data() + 28; }
    std::size_t bth_to_icrc() const { return bytes.size() - 28; }
    std::uint32_t wire_icrc() const
    {
        packet p;
        // CNPs are no opcode of ours: the place of the ICRC is the same.
        buffer as_send(bth(), bth() + bth_to_icrc());
        as_send[0] = std::byte{ 0x04 };
        as_send[1] = std::byte{ 0 };
        BOOST_REQUIRE(parse(as_send.data(), as_send.size(), p) == parse_status::ok);
        return p.icrc;
    }
    std::uint32_t computed_icrc() const
    {
        const std::byte* ip = bytes.data();
        const ipv4_flow f{ load_be<std::uint32_t>(ip + 12),
                           load_be<std::uint32_t>(ip + 16),
                           load_be<std::uint16_t>(ip + 20),
                           load_be<std::uint16_t>(ip + 22) };
        return icrc_ipv4(f,
                         load_be<std::uint16_t>(ip + 4),
                         (ip[6] & std::byte{ 0x40 }) != std::byte{ 0 },
                         bth(),
                         bth_to_icrc() - icrc_bytes);
    }
};

} // namespace

// Captured from a ConnectX-4 Lx (a congestion notification); bytes as published in the
// tests of Scapy's RoCE layer, test/contrib/roce.uts.
BOOST_AUTO_TEST_CASE(a_packet_of_an_adapter_has_our_icrc)
{
    const datagram d("45c2003c718c400040119161" // IPv4
                     "0a0011010a001201"
                     "000012b700280000"         // UDP
                     "8100ffff4000011800000000" // BTH, with BECN set
                     "00000000000000000000000000000000"
                     "82fd002a");
    BOOST_TEST(d.computed_icrc() == d.wire_icrc());
    BOOST_TEST(d.computed_icrc() == 0x2a00fd82u);
}

// UC SEND ONLY with two bytes of pad; the example in the same file.
BOOST_AUTO_TEST_CASE(the_example_of_another_implementation_has_our_icrc)
{
    const datagram d("45010040047840004011b4d5"
                     "c0a80007c0a80007"
                     "c00012b7002caca2"
                     "2460ffff000000d300cf1710"
                     "4630818be28935d90e9a95505401be885e500000"
                     "78f353f3");
    BOOST_TEST(d.computed_icrc() == d.wire_icrc());
    BOOST_TEST(d.computed_icrc() == 0xf353f378u);
}

// The definition, bit by bit, on the packet laid out as the annex has it.
static std::uint32_t reference(std::uint16_t ip_id, bool df, const buffer& bth)
{
    buffer m(8, std::byte{ 0xff });
    const auto put = [&m](unsigned value, int bytes) {
        while (bytes-- > 0)
            m.push_back(static_cast<std::byte>(value >> (8 * bytes) & 0xff));
    };
    const unsigned length = static_cast<unsigned>(bth.size() + 4);
    put(0x45ff, 2), put(28 + length, 2), put(ip_id, 2), put(df ? 0x4000 : 0, 2);
    put(0xff11, 2), put(0xffff, 2), put(flow.source, 4), put(flow.destination, 4);
    put(flow.source_port, 2), put(flow.destination_port, 2), put(8 + length, 2);
    put(0xffff, 2);
    m.insert(m.end(), bth.begin(), bth.end());
    m[8 + 20 + 8 + 4] = std::byte{ 0xff };
    std::uint32_t crc = ~0u;
    for (std::byte b : m) {
        crc ^= std::to_integer<std::uint32_t>(b);
        for (int i = 0; i < 8; ++i)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

BOOST_AUTO_TEST_CASE(every_length_agrees_with_the_definition)
{
    // Payloads of 0 to 67 bytes: every pad count several times.
    for (std::size_t payload = 0; payload < 68; ++payload) {
        buffer bth = random_bytes(12 + payload, static_cast<unsigned>(payload));
        bth.resize(12 + (payload + 3) / 4 * 4);
        for (const bool df : { false, true })
            BOOST_TEST(icrc_ipv4(flow, 0x1234, df, bth.data(), bth.size()) ==
                       reference(0x1234, df, bth));
    }
    for (const std::size_t payload : { 256, 1024, 4096, 8192 }) {
        const buffer bth = random_bytes(32 + payload, 7);
        BOOST_TEST(icrc_ipv4(flow, 0, true, bth.data(), bth.size()) ==
                   reference(0, true, bth));
    }
}

BOOST_AUTO_TEST_CASE(two_pieces_give_the_same_as_one)
{
    for (const std::size_t headers : { 12, 16, 20, 24, 28, 32 }) {
        for (const std::size_t payload : { 0, 4, 8, 100, 4096 }) {
            const buffer whole = random_bytes(headers + payload, 11);
            const buffer front(whole.begin(), whole.begin() + headers);
            const buffer back(whole.begin() + headers, whole.end());
            BOOST_TEST(
                icrc_ipv4(
                    flow, 9, true, front.data(), headers, back.data(), back.size()) ==
                icrc_ipv4(flow, 9, true, whole.data(), whole.size()));
        }
    }
    // An acknowledge has no payload at all, not even an address of one.
    const buffer ack = random_bytes(16, 12);
    BOOST_TEST(icrc_ipv4(flow, 9, true, ack.data(), 16, nullptr, 0) ==
               reference(9, true, ack));
}

BOOST_AUTO_TEST_CASE(what_routers_change_is_not_covered_and_all_else_is)
{
    const buffer packet = random_bytes(12 + 64, 3);
    const std::uint32_t right = icrc_ipv4(flow, 5, true, packet.data(), packet.size());
    for (std::size_t i = 0; i < packet.size(); ++i) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            buffer changed = packet;
            changed[i] ^= static_cast<std::byte>(1u << bit);
            const bool same =
                icrc_ipv4(flow, 5, true, changed.data(), changed.size()) == right;
            BOOST_TEST(same == (i == 4)); // FECN, BECN and their neighbours
        }
    }
    const auto with = [&packet](const ipv4_flow& f, std::uint16_t id, bool df) {
        return icrc_ipv4(f, id, df, packet.data(), packet.size());
    };
    for (unsigned bit = 0; bit < 32; ++bit) {
        ipv4_flow f = flow;
        f.source ^= 1u << bit;
        BOOST_TEST(with(f, 5, true) != right);
        f = flow;
        f.destination ^= 1u << bit;
        BOOST_TEST(with(f, 5, true) != right);
        f = flow;
        (bit < 16 ? f.source_port : f.destination_port) ^=
            static_cast<std::uint16_t>(1u << bit % 16);
        BOOST_TEST(with(f, 5, true) != right);
        BOOST_TEST(with(flow, static_cast<std::uint16_t>(5 ^ 1u << bit % 16), true) !=
                   right);
    }
    BOOST_TEST(with(flow, 5, false) != right);
}

BOOST_AUTO_TEST_CASE(the_solver_finds_every_identification)
{
    for (const std::size_t bytes : { 12, 16, 13 + 7, 12 + 1024, 12 + 4096, 65000 }) {
        const icrc_ip_id_solver solver(bytes);
        BOOST_TEST(solver.bytes() == bytes);
        unsigned wrong = 0;
        for (unsigned id = 0; id < 65536; ++id) {
            std::uint16_t found = 0;
            const std::uint32_t d = solver.difference(static_cast<std::uint16_t>(id));
            wrong += !solver.solve(d, found) || found != id;
        }
        BOOST_TEST(wrong == 0u);
    }
}

BOOST_AUTO_TEST_CASE(the_solver_explains_real_icrcs)
{
    for (const std::size_t bytes : { 12, 16, 40, 12 + 1024, 12 + 4096 }) {
        const buffer packet = random_bytes(bytes, 21);
        const icrc_ip_id_solver solver(bytes);
        const std::uint32_t zero = icrc_ipv4(flow, 0, true, packet.data(), bytes);
        unsigned wrong = 0;
        for (unsigned id = 0; id<65536; id += bytes> 100 ? 97 : 1) {
            const auto id16 = static_cast<std::uint16_t>(id);
            const std::uint32_t icrc = icrc_ipv4(flow, id16, true, packet.data(), bytes);
            std::uint16_t found = 0;
            wrong += solver.difference(id16) != (icrc ^ zero) ||
                     !solver.solve(icrc ^ zero, found) || found != id;
        }
        BOOST_TEST(wrong == 0u);
    }
}

BOOST_AUTO_TEST_CASE(the_solver_refuses_what_no_identification_explains)
{
    const icrc_ip_id_solver solver(12 + 4096);
    std::mt19937 random(1);
    unsigned solved = 0;
    for (int i = 0; i < 1000000; ++i) {
        const auto d = static_cast<std::uint32_t>(random());
        std::uint16_t id = 0xabcd;
        if (solver.solve(d, id)) {
            ++solved;
            BOOST_TEST(solver.difference(id) == d);
        } else if (id != 0xabcd) {
            BOOST_ERROR("an identification was given without a solution");
        }
    }
    // 2^16 of 2^32 differences: 15 are expected of a million.
    BOOST_TEST(solved < 60u);
}
