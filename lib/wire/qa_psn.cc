/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/psn.h"

#include <boost/test/unit_test.hpp>

using gr::rdma::wire::psn;

BOOST_AUTO_TEST_CASE(a_psn_holds_24_bits)
{
    BOOST_TEST(psn().value() == 0u);
    BOOST_TEST(psn(0xffffff).value() == 0xffffffu);
    BOOST_TEST(psn(0x1000000).value() == 0u);
    BOOST_TEST(psn(0xff123456).value() == 0x123456u);
    BOOST_TEST((psn(0x1000005) == psn(5)));
    BOOST_TEST((psn(4) != psn(5)));
}

BOOST_AUTO_TEST_CASE(arithmetic_wraps)
{
    psn p(0xfffffe);
    BOOST_TEST((++p).value() == 0xffffffu);
    BOOST_TEST((++p).value() == 0u);
    BOOST_TEST((psn(0) - 1).value() == 0xffffffu);
    BOOST_TEST((psn(3) - 5).value() == 0xfffffeu);
    BOOST_TEST((psn(5) - 0x123456).value() == 0xedcbafu);
    BOOST_TEST((psn(0xfffff0) + 0x20).value() == 0x10u);
    BOOST_TEST((psn(7) + 0x1000000).value() == 7u);
    BOOST_TEST((psn(7) - 0x1000000).value() == 7u);
    BOOST_TEST((psn(7) + 0xffffffff).value() == 6u);
}

BOOST_AUTO_TEST_CASE(distance_is_signed_and_wraps)
{
    // From everywhere, the wrap included.
    for (std::uint32_t from :
         { 0x0u, 0x1u, 0x7fffffu, 0x800000u, 0xfffffeu, 0xffffffu }) {
        const psn a(from);
        for (std::int32_t d : { 0, 1, 2, 1000, 0x7ffffe, 0x7fffff }) {
            const auto n = static_cast<std::uint32_t>(d);
            BOOST_TEST(psn::distance(a, a + n) == d);
            BOOST_TEST(psn::distance(a + n, a) == -d);
        }
        // The point opposite counts as behind, seen from either side.
        BOOST_TEST(psn::distance(a, a + 0x800000) == -0x800000);
        BOOST_TEST(psn::distance(a + 0x800000, a) == -0x800000);
        BOOST_TEST(psn::distance(a, a + 0x800001) == -0x7fffff);
    }
}

BOOST_AUTO_TEST_CASE(usable_in_constant_expressions)
{
    static_assert((psn(0xffffff) + 2).value() == 1, "");
    static_assert(psn::distance(psn(0xffffff), psn(1)) == 2, "");
    static_assert(psn::distance(psn(1), psn(0xffffff)) == -2, "");
    BOOST_TEST(sizeof(psn) == 4u);
}
