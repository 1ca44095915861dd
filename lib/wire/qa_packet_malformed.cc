/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/roce_opcodes.h"
#include "wire/packet.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

using namespace gr::rdma::wire;
using namespace gr::rdma::testing;

namespace {

using buffer = std::vector<std::byte>;

// Parses a copy of exactly \p bytes bytes on the heap, so that a sanitizer sees any read
// beyond them.
parse_status parse_exact(const std::byte* data, std::size_t bytes, packet& out)
{
    const std::unique_ptr<std::byte[]> copy(new std::byte[bytes]);
    if (bytes > 0)
        std::memcpy(copy.get(), data, bytes);
    const parse_status status = parse(copy.get(), bytes, out);
    if (status == parse_status::ok) {
        BOOST_REQUIRE(out.payload >= copy.get() + bth_bytes);
        BOOST_REQUIRE(out.payload + out.payload_bytes + out.bth.pad + icrc_bytes ==
                      copy.get() + bytes);
    }
    return status;
}

// A datagram by opcode, with zeros behind the BTH.
buffer bare(unsigned opcode, std::size_t bytes, unsigned pad = 0, unsigned version = 0)
{
    buffer d(bytes);
    if (bytes > 0)
        d[0] = static_cast<std::byte>(opcode);
    if (bytes > 1)
        d[1] = static_cast<std::byte>(pad << 4 | version);
    return d;
}

} // namespace

BOOST_AUTO_TEST_CASE(aeth_syndromes)
{
    for (unsigned syndrome = 0; syndrome < 256; ++syndrome) {
        buffer d = bare(0x11, 20);
        d[12] = static_cast<std::byte>(syndrome);
        packet p;
        BOOST_REQUIRE(parse_exact(d.data(), d.size(), p) == parse_status::ok);
        const aeth_kind kinds[] = {
            aeth_kind::ack, aeth_kind::rnr_nak, aeth_kind::reserved, aeth_kind::nak
        };
        BOOST_TEST((p.aeth.kind ==
                    (syndrome < 0x80 ? kinds[syndrome / 32] : aeth_kind::reserved)));
        BOOST_TEST(p.aeth.value == syndrome % 32);
    }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_too_short)
{
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        const auto found = table38.find(opcode);
        const bool known = found != table38.end();
        const std::size_t least = (known ? header_bytes_of(found->second) : 12) + 4;
        const std::size_t body = known && !has(found->second, 'P') ? 0 : 8;
        const buffer whole = bare(opcode, least + body);
        for (std::size_t n = 0; n <= whole.size(); ++n) {
            packet p;
            const parse_status status = parse_exact(whole.data(), n, p);
            const parse_status right = n < 16      ? parse_status::too_short
                                       : !known    ? parse_status::opcode
                                       : n < least ? parse_status::too_short
                                                   : parse_status::ok;
            if (status != right)
                BOOST_ERROR("opcode " << opcode << ", " << n << " bytes");
            if (status == parse_status::ok)
                BOOST_TEST(p.payload_bytes == n - least);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_other_version_is_refused)
{
    for (const auto& entry : table38) {
        for (unsigned version = 1; version < 16; ++version) {
            const buffer d = bare(entry.first, 100, 0, version);
            packet p;
            BOOST_TEST((parse_exact(d.data(), d.size(), p) == parse_status::version));
        }
    }
    // Before the opcode: another version may number them otherwise.
    const buffer d = bare(0xff, 100, 0, 1);
    packet p;
    BOOST_TEST((parse_exact(d.data(), d.size(), p) == parse_status::version));
}

BOOST_AUTO_TEST_CASE(every_pad_count_is_checked_against_the_payload)
{
    for (const auto& [opcode, entry] : table38) {
        for (unsigned pad = 0; pad < 4; ++pad) {
            for (std::size_t body = 0; body < 9; ++body) {
                const buffer d = bare(opcode, header_bytes_of(entry) + body + 4, pad);
                packet p;
                const parse_status status = parse_exact(d.data(), d.size(), p);
                const bool right = has(entry, 'P') ? pad <= body : pad == 0 && body == 0;
                if ((status == parse_status::ok) != right ||
                    (!right && status != parse_status::pad))
                    BOOST_ERROR("opcode " << opcode << ", pad " << pad << ", body "
                                          << body);
                if (right)
                    BOOST_TEST(p.payload_bytes == body - pad);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(reserved_bits_are_ignored)
{
    buffer d = bare(0x04, 16);
    d[4] = std::byte{ 0xff }; // FECN, BECN and six reserved
    d[8] = std::byte{ 0x7f };
    packet p;
    BOOST_REQUIRE(parse_exact(d.data(), d.size(), p) == parse_status::ok);
    BOOST_TEST(p.bth.dest_qpn == 0u);
    BOOST_TEST(!p.bth.ack_request);
    BOOST_TEST(p.bth.psn.value() == 0u);

    buffer ud = bare(0x64, 24);
    ud[16] = std::byte{ 0xff };
    BOOST_REQUIRE(parse_exact(ud.data(), ud.size(), p) == parse_status::ok);
    BOOST_TEST(p.deth.source_qpn == 0u);
}

BOOST_AUTO_TEST_CASE(noise_stays_within_its_bytes)
{
    std::mt19937 random(5);
    unsigned seen[5] = {};
    for (int i = 0; i < 1000000; ++i) {
        std::byte noise[64];
        for (std::size_t k = 0; k < sizeof(noise); k += 4) {
            const auto r = static_cast<std::uint32_t>(random());
            std::memcpy(noise + k, &r, 4);
        }
        if (i % 2) // most noise stops at the version: let half of it further
            noise[1] &= std::byte{ 0xf0 };
        packet p;
        const parse_status status = parse_exact(noise, random() % 65, p);
        ++seen[static_cast<int>(status)];
    }
    for (unsigned n : seen)
        BOOST_TEST(n > 100u); // all the ways out were taken
}
