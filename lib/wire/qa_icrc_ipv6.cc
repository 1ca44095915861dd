/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/icrc.h"
#include "wire/packet.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <vector>

using namespace gr::rdma::wire;

namespace {

using buffer = std::vector<std::byte>;

buffer random_bytes(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    buffer bytes(n);
    for (std::byte& b : bytes)
        b = static_cast<std::byte>(random() & 0xff);
    return bytes;
}

ipv6_flow random_flow(unsigned seed)
{
    const buffer bytes = random_bytes(36, seed);
    ipv6_flow f;
    std::copy(bytes.begin(), bytes.begin() + 16, f.source.begin());
    std::copy(bytes.begin() + 16, bytes.begin() + 32, f.destination.begin());
    f.source_port = static_cast<std::uint16_t>(seed * 7919u);
    return f;
}

// The definition, bit by bit, on the packet laid out as the annex has it.
std::uint32_t reference(const ipv6_flow& flow, const buffer& bth)
{
    buffer m(8, std::byte{ 0xff });
    const auto put = [&m](unsigned value, int bytes) {
        while (bytes-- > 0)
            m.push_back(static_cast<std::byte>(value >> (8 * bytes) & 0xff));
    };
    const unsigned length = static_cast<unsigned>(8 + bth.size() + 4);
    put(0x6fffffff, 4), put(length, 2), put(17, 1), put(0xff, 1);
    m.insert(m.end(), flow.source.begin(), flow.source.end());
    m.insert(m.end(), flow.destination.begin(), flow.destination.end());
    put(flow.source_port, 2), put(flow.destination_port, 2), put(length, 2);
    put(0xffff, 2);
    m.insert(m.end(), bth.begin(), bth.end());
    m[8 + 40 + 8 + 4] = std::byte{ 0xff };
    std::uint32_t crc = ~0u;
    for (std::byte b : m) {
        crc ^= std::to_integer<std::uint32_t>(b);
        for (int i = 0; i < 8; ++i)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_port_of_roce_is_the_default)
{
    BOOST_TEST(ipv6_flow().destination_port == roce_udp_port);
}

BOOST_AUTO_TEST_CASE(every_length_agrees_with_the_definition)
{
    for (std::size_t payload = 0; payload < 68; payload += 4) {
        const auto seed = static_cast<unsigned>(payload);
        const buffer bth = random_bytes(12 + payload, seed);
        const ipv6_flow flow = random_flow(seed + 1);
        BOOST_TEST(icrc_ipv6(flow, bth.data(), bth.size()) == reference(flow, bth));
    }
    for (const std::size_t payload : { 256, 1024, 4096, 8192 }) {
        const buffer bth = random_bytes(32 + payload, 7);
        BOOST_TEST(icrc_ipv6(random_flow(9), bth.data(), bth.size()) ==
                   reference(random_flow(9), bth));
    }
}

BOOST_AUTO_TEST_CASE(two_pieces_give_the_same_as_one)
{
    const ipv6_flow flow = random_flow(3);
    for (const std::size_t headers : { 12, 16, 20, 24, 28, 32 }) {
        for (const std::size_t payload : { 0, 4, 8, 100, 4096 }) {
            const buffer whole = random_bytes(headers + payload, 11);
            const buffer front(whole.begin(), whole.begin() + headers);
            const buffer back(whole.begin() + headers, whole.end());
            BOOST_TEST(icrc_ipv6(flow, front.data(), headers, back.data(), back.size()) ==
                       reference(flow, whole));
        }
    }
    const buffer ack = random_bytes(16, 12);
    BOOST_TEST(icrc_ipv6(flow, ack.data(), 16, nullptr, 0) == reference(flow, ack));
}

BOOST_AUTO_TEST_CASE(what_routers_change_is_not_covered_and_all_else_is)
{
    const buffer packet = random_bytes(12 + 64, 3);
    const ipv6_flow flow = random_flow(5);
    const std::uint32_t right = icrc_ipv6(flow, packet.data(), packet.size());
    for (std::size_t i = 0; i < packet.size(); ++i) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            buffer changed = packet;
            changed[i] ^= static_cast<std::byte>(1u << bit);
            const bool same = icrc_ipv6(flow, changed.data(), changed.size()) == right;
            BOOST_TEST(same == (i == 4)); // FECN, BECN and their neighbours
        }
    }
    for (unsigned bit = 0; bit < 128; ++bit) {
        ipv6_flow f = flow;
        f.source[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        BOOST_TEST(icrc_ipv6(f, packet.data(), packet.size()) != right);
        f = flow;
        f.destination[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        BOOST_TEST(icrc_ipv6(f, packet.data(), packet.size()) != right);
    }
    for (unsigned bit = 0; bit < 16; ++bit) {
        ipv6_flow f = flow;
        f.source_port ^= static_cast<std::uint16_t>(1u << bit);
        BOOST_TEST(icrc_ipv6(f, packet.data(), packet.size()) != right);
        f = flow;
        f.destination_port ^= static_cast<std::uint16_t>(1u << bit);
        BOOST_TEST(icrc_ipv6(f, packet.data(), packet.size()) != right);
    }
}
