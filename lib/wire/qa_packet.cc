/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/roce_opcodes.h"
#include "wire/packet.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

using namespace gr::rdma::wire;
using namespace gr::rdma::testing;

namespace {

using buffer = std::vector<std::byte>;

packet random_packet(std::uint8_t opcode, std::mt19937& random)
{
    packet p;
    const auto r24 = [&random] {
        return static_cast<std::uint32_t>(random() & 0xffffff);
    };
    p.bth.opcode = opcode;
    p.bth.solicited = random() & 1;
    p.bth.migreq = random() & 1;
    p.bth.pkey = static_cast<std::uint16_t>(random());
    p.bth.dest_qpn = r24();
    p.bth.ack_request = random() & 1;
    p.bth.psn = psn(r24());
    p.deth = { static_cast<std::uint32_t>(random()), r24() };
    p.reth = { static_cast<std::uint64_t>(random()) << 32 | random(),
               static_cast<std::uint32_t>(random()),
               static_cast<std::uint32_t>(random()) };
    p.aeth = { static_cast<aeth_kind>(random() & 3),
               static_cast<std::uint8_t>(random() & 0x1f),
               r24() };
    p.immediate = static_cast<std::uint32_t>(random());
    return p;
}

void check_bth(const bth& a, const bth& b)
{
    BOOST_TEST(a.opcode == b.opcode);
    BOOST_TEST(a.solicited == b.solicited);
    BOOST_TEST(a.migreq == b.migreq);
    BOOST_TEST(a.pad == b.pad);
    BOOST_TEST(a.version == b.version);
    BOOST_TEST(a.pkey == b.pkey);
    BOOST_TEST(a.dest_qpn == b.dest_qpn);
    BOOST_TEST(a.ack_request == b.ack_request);
    BOOST_TEST(a.psn.value() == b.psn.value());
}

// Fields that are not on the wire are as initialised.
void check_extensions(const packet& got, const packet& sent, const std::string& entry)
{
    const packet none;
    const packet& d = has(entry, 'D') ? sent : none;
    BOOST_TEST(got.deth.qkey == d.deth.qkey);
    BOOST_TEST(got.deth.source_qpn == d.deth.source_qpn);
    const packet& r = has(entry, 'R') ? sent : none;
    BOOST_TEST(got.reth.address == r.reth.address);
    BOOST_TEST(got.reth.rkey == r.reth.rkey);
    BOOST_TEST(got.reth.bytes == r.reth.bytes);
    const packet& a = has(entry, 'A') ? sent : none;
    BOOST_TEST((got.aeth.kind == a.aeth.kind));
    BOOST_TEST(got.aeth.value == a.aeth.value);
    BOOST_TEST(got.aeth.msn == a.aeth.msn);
    BOOST_TEST(got.immediate == (has(entry, 'I') ? sent.immediate : 0u));
}

buffer bytes_of(std::initializer_list<unsigned> values)
{
    buffer b;
    for (unsigned v : values)
        b.push_back(static_cast<std::byte>(v));
    return b;
}

} // namespace

BOOST_AUTO_TEST_CASE(traits_are_those_of_the_specification)
{
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        BOOST_TEST_CONTEXT("opcode " << opcode)
        {
            const opcode_traits& t = traits(static_cast<std::uint8_t>(opcode));
            const auto found = table38.find(opcode);
            const bool known = found != table38.end();
            const std::string entry = known ? found->second : "";
            BOOST_TEST(t.known == known);
            BOOST_TEST(t.starts == has(entry, '<'));
            BOOST_TEST(t.ends == has(entry, '>'));
            BOOST_TEST(t.is_send == has(entry, 'S'));
            BOOST_TEST(t.is_write == has(entry, 'W'));
            BOOST_TEST(t.has_deth == has(entry, 'D'));
            BOOST_TEST(t.has_reth == has(entry, 'R'));
            BOOST_TEST(t.has_aeth == has(entry, 'A'));
            BOOST_TEST(t.has_immdt == has(entry, 'I'));
            BOOST_TEST(t.has_payload == has(entry, 'P'));
            BOOST_TEST(t.header_bytes == (known ? header_bytes_of(entry) : 0u));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_bits_lie_where_the_specification_has_them)
{
    packet p;
    p.bth.opcode = make_opcode(service::rc, operation::write_only_immediate);
    p.bth.solicited = true;
    p.bth.migreq = false;
    p.bth.pad = 2;
    p.bth.pkey = 0x8123;
    p.bth.dest_qpn = 0x456789;
    p.bth.ack_request = true;
    p.bth.psn = psn(0xabcdef);
    p.reth = { 0x0102030405060708, 0x11121314, 0x21222324 };
    p.immediate = 0x31323334;
    buffer out(max_header_bytes);
    BOOST_TEST(write_headers(p, out.data()) == max_header_bytes);
    const buffer right =
        bytes_of({ 0x0b, 0xa0, 0x81, 0x23, 0x00, 0x45, 0x67, 0x89, 0x80, 0xab, 0xcd,
                   0xef, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12,
                   0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34 });
    BOOST_TEST((out == right));

    packet ud;
    ud.bth.opcode = make_opcode(service::ud, operation::send_only);
    ud.bth.dest_qpn = 1;
    ud.deth = { 0x80010000, 0x000001 };
    BOOST_TEST(write_headers(ud, out.data()) == 20u);
    out.resize(20);
    BOOST_TEST((out == bytes_of({ 0x64, 0x40, 0xff, 0xff, 0, 0, 0, 1, 0, 0,
                                  0,    0,    0x80, 1,    0, 0, 0, 0, 0, 1 })));

    packet nak;
    nak.bth.opcode = make_opcode(service::rc, operation::acknowledge);
    nak.aeth = { aeth_kind::nak,
                 static_cast<std::uint8_t>(nak_code::remote_access_error),
                 0x010203 };
    BOOST_TEST(write_headers(nak, out.data()) == 16u);
    BOOST_TEST((buffer(out.begin() + 12, out.begin() + 16) ==
                bytes_of({ 0x62, 0x01, 0x02, 0x03 })));
}

BOOST_AUTO_TEST_CASE(what_is_wider_than_its_field_does_not_reach_its_neighbours)
{
    packet p;
    p.bth.opcode = make_opcode(service::ud, operation::send_only);
    p.bth.dest_qpn = 0xff000001;
    p.bth.pad = 0xfc;
    p.deth.source_qpn = 0xff000002;
    buffer out(20, std::byte{ 0xff }); // as a packet sent before has left it
    write_headers(p, out.data());
    BOOST_TEST((out[1] == std::byte{ 0x40 }));
    BOOST_TEST((out[4] == std::byte{ 0 }));
    BOOST_TEST((out[16] == std::byte{ 0 }));
    p.bth.opcode = make_opcode(service::rc, operation::acknowledge);
    p.aeth = { aeth_kind::ack, 0xff, 0xff000000 };
    write_headers(p, out.data());
    BOOST_TEST((out[12] == std::byte{ 0x1f }));
    BOOST_TEST((out[13] == std::byte{ 0 }));
}

BOOST_AUTO_TEST_CASE(every_opcode_goes_there_and_back)
{
    std::mt19937 random(2);
    for (const auto& [opcode, entry] : table38) {
        if (has(entry, 'C') || has(entry, 'K'))
            continue;
        for (int round = 0; round < 50; ++round) {
            packet sent = random_packet(static_cast<std::uint8_t>(opcode), random);
            const std::size_t payload = has(entry, 'P') ? random() % 40 : 0;
            sent.bth.pad = static_cast<std::uint8_t>((4 - payload % 4) % 4);
            buffer d(max_header_bytes, std::byte{ 0xee });
            const std::size_t headers = write_headers(sent, d.data());
            BOOST_TEST(headers == header_bytes_of(entry));
            for (std::size_t i = headers; i < d.size(); ++i)
                BOOST_REQUIRE((d[i] == std::byte{ 0xee })); // wrote no further
            d.resize(headers + payload + sent.bth.pad);
            for (std::size_t i = 0; i < payload; ++i)
                d[headers + i] = static_cast<std::byte>(i + 1);
            const buffer icrc = bytes_of({ 0x78, 0x56, 0x34, 0x12 });
            d.insert(d.end(), icrc.begin(), icrc.end());

            packet got;
            BOOST_TEST_CONTEXT("opcode " << opcode)
            {
                BOOST_REQUIRE(parse(d.data(), d.size(), got) == parse_status::ok);
                check_bth(got.bth, sent.bth);
                check_extensions(got, sent, entry);
                BOOST_TEST((got.payload == d.data() + headers));
                BOOST_TEST(got.payload_bytes == payload);
                BOOST_TEST(got.icrc == 0x12345678u);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(opcodes_without_fields_are_not_written)
{
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        const auto found = table38.find(opcode);
        const bool writable = found != table38.end() && !has(found->second, 'C') &&
                              !has(found->second, 'K');
        packet p;
        p.bth.opcode = static_cast<std::uint8_t>(opcode);
        buffer out(max_header_bytes, std::byte{ 0xee });
        BOOST_TEST((write_headers(p, out.data()) > 0) == writable);
        if (!writable)
            BOOST_TEST((out == buffer(max_header_bytes, std::byte{ 0xee })));
    }
}

BOOST_AUTO_TEST_CASE(a_packet_taken_twice_keeps_nothing_of_the_first)
{
    std::mt19937 random(4);
    const packet sent = random_packet(0x0b, random);
    buffer d(max_header_bytes + icrc_bytes);
    write_headers(sent, d.data());
    packet got;
    BOOST_REQUIRE(parse(d.data(), d.size(), got) == parse_status::ok);
    BOOST_TEST(got.reth.address == sent.reth.address);
    buffer next(16);
    next[0] = std::byte{ 0x01 };
    BOOST_REQUIRE(parse(next.data(), next.size(), got) == parse_status::ok);
    check_extensions(got, packet(), "");
}

BOOST_AUTO_TEST_CASE(rnr_timer_codes)
{
    // Table 45, in units of 10 us.
    const std::int64_t right[32] = {
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
    };
    for (unsigned code = 0; code < 32; ++code)
        BOOST_TEST(rnr_timer_ns(static_cast<std::uint8_t>(code)) == right[code] * 10000);
    BOOST_TEST(rnr_timer_ns(0) == 655360000);
    BOOST_TEST(rnr_timer_ns(32) == rnr_timer_ns(0)); // five bits count
    BOOST_TEST(rnr_timer_ns(33) == rnr_timer_ns(1));
}

BOOST_AUTO_TEST_CASE(credit_codes_round_down_and_come_back)
{
    BOOST_TEST(credit_code(0) == 0);
    BOOST_TEST(credit_code(5) == 4);
    BOOST_TEST(credit_code(16) == 8);
    BOOST_TEST(credit_code(UINT64_MAX) == 30);
    for (std::uint8_t code = 0; code < 31; ++code)
        BOOST_TEST(credit_code(credits_of(code)) == code);
    BOOST_TEST(credits_of(31) == UINT64_MAX);
}
