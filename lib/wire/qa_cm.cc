/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/qa_cm.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace gr::rdma::wire;

BOOST_AUTO_TEST_CASE(lengths_never_exceed_their_array)
{
    for (unsigned n = 0; n < 256; ++n) {
        cm_rej rej;
        rej.ari_bytes = static_cast<std::uint8_t>(n);
        cm_sidr_rep rep;
        rep.additional_bytes = static_cast<std::uint8_t>(n);
        mad out = written({ 0, rej });
        const unsigned right = n < 72 ? n : 72;
        BOOST_TEST(std::to_integer<unsigned>(out[24 + 9]) == right << 1);
        out[24 + 9] = static_cast<std::byte>(n); // the lowest bit is reserved
        BOOST_TEST(body_of<cm_rej>(out).ari_bytes == (n / 2 < 72 ? n / 2 : 72));

        out = written({ 0, rep });
        BOOST_TEST(std::to_integer<unsigned>(out[24 + 5]) == right);
        out[24 + 5] = static_cast<std::byte>(n);
        BOOST_TEST(body_of<cm_sidr_rep>(out).additional_bytes == right);
    }
}

BOOST_AUTO_TEST_CASE(the_mad_header)
{
    const mad out = written({ 0x0102030405060708, cm_rtu{} });
    const unsigned right[24] = { 1, 7, 2, 3, 0, 0,    0, 0, 1, 2, 3, 4,
                                 5, 6, 7, 8, 0, 0x14, 0, 0, 0, 0, 0, 0 };
    for (unsigned i = 0; i < 24; ++i)
        BOOST_TEST(std::to_integer<unsigned>(out[i]) == right[i], "byte " << i);
    BOOST_TEST(parsed(out).transaction_id == 0x0102030405060708u);
}

BOOST_AUTO_TEST_CASE(every_other_header_is_refused)
{
    const mad good = written({ 7, cm_rtu{} });
    const cm_parse_status status[4] = { cm_parse_status::base_version,
                                        cm_parse_status::management_class,
                                        cm_parse_status::class_version,
                                        cm_parse_status::method };
    for (unsigned i = 0; i < 4; ++i) {
        for (unsigned value = 0; value < 256; ++value) {
            mad bad = good;
            bad[i] = static_cast<std::byte>(value);
            cm_message m;
            m.transaction_id = 99;
            const bool right = bad == good;
            BOOST_TEST((parse_cm(bad.data(), bad.size(), m) ==
                        (right ? cm_parse_status::ok : status[i])));
            BOOST_TEST(m.transaction_id == (right ? 7u : 99u));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_attribute_says_its_transaction)
{
    for (unsigned id = 0; id < 65536; ++id) {
        mad in = written({ 7, cm_rtu{} });
        in[16] = static_cast<std::byte>(id >> 8);
        in[17] = static_cast<std::byte>(id & 0xff);
        cm_message m;
        const bool known = id >= 0x10 && id <= 0x18;
        if ((parse_cm(in.data(), in.size(), m) == cm_parse_status::ok) != known)
            BOOST_ERROR("attribute " << id);
        if (!known)
            BOOST_REQUIRE(
                (parse_cm(in.data(), in.size(), m) == cm_parse_status::attribute));
        BOOST_REQUIRE(m.transaction_id == 7u);
        if (known)
            BOOST_REQUIRE(static_cast<unsigned>(attribute_of(m)) == id);
    }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_too_short)
{
    const mad whole = written({ 7, cm_req{} });
    for (std::size_t n = 0; n < mad_bytes; ++n) {
        // On the heap, so that a sanitizer sees any read beyond it.
        const std::unique_ptr<std::byte[]> copy(new std::byte[n]);
        std::memcpy(copy.get(), whole.data(), n);
        cm_message m;
        BOOST_TEST((parse_cm(copy.get(), n, m) == cm_parse_status::too_short));
        BOOST_TEST(m.transaction_id == 0u);
    }
    std::vector<std::byte> longer(whole.begin(), whole.end());
    longer.resize(300, std::byte{ 0xff });
    cm_message m;
    BOOST_TEST((parse_cm(longer.data(), longer.size(), m) == cm_parse_status::ok));
}

BOOST_AUTO_TEST_CASE(what_is_parsed_is_written_the_same)
{
    std::mt19937 random(6);
    for (int round = 0; round < 20000; ++round) {
        const std::unique_ptr<mad> noise(new mad);
        for (std::byte& b : *noise)
            b = static_cast<std::byte>(random() & 0xff);
        const mad header = written({ random(), cm_rtu{} });
        std::copy(header.begin(), header.begin() + 24, noise->begin());
        (*noise)[17] = static_cast<std::byte>(0x10 + random() % 9);
        const cm_message once = parsed(*noise);
        const mad out = written(once); // the noise without its reserved bits
        for (std::size_t i = 0; i < out.size(); ++i)
            // A length that was cut may have bits that the noise had not.
            if ((out[i] & ~(*noise)[i]) != std::byte{ 0 } && i != 24 + 9 && i != 24 + 5)
                BOOST_ERROR("byte " << i << " of attribute "
                                    << std::to_integer<unsigned>(out[17]));
        BOOST_TEST((written(parsed(out)) == out));
    }
}

BOOST_AUTO_TEST_CASE(noise_is_refused)
{
    std::mt19937 random(7);
    for (int round = 0; round < 20000; ++round) {
        mad noise;
        for (std::byte& b : noise)
            b = static_cast<std::byte>(random() & 0xff);
        const std::size_t n = random() % (mad_bytes + 1);
        const std::unique_ptr<std::byte[]> copy(new std::byte[n]);
        std::memcpy(copy.get(), noise.data(), n);
        cm_message m;
        BOOST_TEST((parse_cm(copy.get(), n, m) != cm_parse_status::ok));
    }
}

BOOST_AUTO_TEST_CASE(reasons_and_states_in_words)
{
    std::set<std::string> words;
    for (unsigned n = 0; n < 65536; ++n) {
        const std::string word =
            to_string(cm_rej_reason{ static_cast<std::uint16_t>(n) });
        const bool known = n >= 1 && n <= 35 && n != 34;
        BOOST_REQUIRE((word == "unknown reason") != known);
        words.insert(word);
    }
    BOOST_TEST(words.size() == 35u); // no two the same
    const auto reason = [](unsigned n) {
        return std::string(to_string(cm_rej_reason{ static_cast<std::uint16_t>(n) }));
    };
    BOOST_TEST(reason(1) == "no QP available");
    BOOST_TEST(reason(4) == "timeout");
    BOOST_TEST(reason(8) == "invalid service ID");
    BOOST_TEST(reason(9) == "invalid transport service type");
    BOOST_TEST(reason(10) == "stale connection");
    BOOST_TEST(reason(26) == "invalid path MTU");
    BOOST_TEST(reason(28) == "rejected by the consumer");
    BOOST_TEST(reason(33) == "invalid alternate flow label");
    BOOST_TEST(reason(35) == "vendor option not supported");
    BOOST_TEST(to_string(cm_sidr_status::valid_qpn) == std::string("QPN valid"));
    BOOST_TEST(to_string(cm_sidr_status::no_qp_available) ==
               std::string("no QP available"));
    BOOST_TEST(to_string(cm_sidr_status{ 5 }) == std::string("version not supported"));
    BOOST_TEST(to_string(cm_sidr_status{ 6 }) == std::string("unknown status"));
}

BOOST_AUTO_TEST_CASE(timeouts)
{
    BOOST_TEST(cm_timeout_ns(0) == 4096);
    BOOST_TEST(cm_timeout_ns(14) == 67108864);
    BOOST_TEST(cm_timeout_ns(20) == 4294967296);
    BOOST_TEST(cm_timeout_ns(31) == 8796093022208);
    BOOST_TEST(cm_timeout_ns(32) == 4096); // five bits count
    BOOST_TEST(int{ cm_timeout_code(0) } == 0);
    BOOST_TEST(int{ cm_timeout_code(-5) } == 0);
    for (int code = 0; code < 32; ++code) {
        const std::int64_t ns = cm_timeout_ns(static_cast<std::uint8_t>(code));
        BOOST_TEST(int{ cm_timeout_code(ns) } == code);
        BOOST_TEST(int{ cm_timeout_code(ns + 1) } == std::min(code + 1, 31));
    }
    BOOST_TEST(int{ cm_timeout_code(INT64_MAX) } == 31);
}

BOOST_AUTO_TEST_CASE(path_mtu_codes)
{
    const std::size_t right[] = { 0, 256, 512, 1024, 2048, 4096, 0, 0 };
    for (std::uint8_t code = 0; code < 8; ++code)
        BOOST_TEST(mtu_bytes(code) == right[code]);
    BOOST_TEST(mtu_bytes(255) == 0u);
    BOOST_TEST(int{ mtu_code(0) } == 0);
    BOOST_TEST(int{ mtu_code(255) } == 0);
    BOOST_TEST(int{ mtu_code(256) } == 1);
    BOOST_TEST(int{ mtu_code(1443) } == 3);
    BOOST_TEST(int{ mtu_code(4096) } == 5);
    BOOST_TEST(int{ mtu_code(65536) } == 5);
}
