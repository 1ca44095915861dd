/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/cm.h"
#include "wire/cma.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <random>

using namespace gr::rdma::wire;

namespace {

using header_bytes = std::array<std::byte, cma_header_bytes>;

header_bytes written(const cma_header& h)
{
    header_bytes out;
    out.fill(std::byte{ 0xee });
    write_cma(h, out.data());
    return out;
}

ip_address v6(std::initializer_list<unsigned> first, unsigned last)
{
    ip_address::bytes_type bytes{};
    std::size_t i = 0;
    for (unsigned b : first)
        bytes[i++] = static_cast<std::byte>(b);
    bytes[15] = static_cast<std::byte>(last);
    return ip_address(bytes);
}

} // namespace

BOOST_AUTO_TEST_CASE(service_ids)
{
    BOOST_TEST(cma_service_id(cma_port_space::tcp, 18515) == 0x0000000001064853u);
    BOOST_TEST(cma_service_id(cma_port_space::udp, 0xffff) == 0x000000000111ffffu);
    std::uint16_t port = 1;
    BOOST_TEST(cma_port_of(0x01060000, cma_port_space::tcp, port));
    BOOST_TEST(port == 0u);
    BOOST_TEST(cma_port_of(0x0111ffff, cma_port_space::udp, port));
    BOOST_TEST(port == 0xffffu);
    port = 5;
    for (std::uint64_t other : { std::uint64_t{ 0x01110001 },
                                 std::uint64_t{ 0x013f0001 },
                                 std::uint64_t{ 0x00060001 },
                                 std::uint64_t{ 0x0100000001060001 },
                                 std::uint64_t{ 0 } })
        BOOST_TEST(!cma_port_of(other, cma_port_space::tcp, port));
    BOOST_TEST(port == 5u);
}

BOOST_AUTO_TEST_CASE(the_bytes_over_ipv4)
{
    const cma_header h{ 0x1234,
                        ip_address::ipv4(0x0a000001),
                        ip_address::ipv4(0xc0a80102) };
    const header_bytes out = written(h);
    unsigned right[36] = { 0x00, 0x40, 0x12, 0x34 };
    right[16] = 10;
    right[19] = 1;
    right[32] = 192;
    right[33] = 168;
    right[34] = 1;
    right[35] = 2;
    for (unsigned i = 0; i < 36; ++i)
        BOOST_TEST(std::to_integer<unsigned>(out[i]) == right[i], "byte " << i);
    cma_header back;
    BOOST_REQUIRE((parse_cma(out.data(), out.size(), back) == cma_parse_status::ok));
    BOOST_TEST(back.source_port == 0x1234u);
    BOOST_TEST((back.source == h.source));
    BOOST_TEST((back.destination == h.destination));
}

BOOST_AUTO_TEST_CASE(the_bytes_over_ipv6)
{
    const cma_header h{ 0xffff,
                        v6({ 0xfe, 0x80 }, 1),
                        v6({ 0x20, 0x01, 0x0d, 0xb8 }, 2) };
    const header_bytes out = written(h);
    unsigned right[36] = { 0x00, 0x60, 0xff, 0xff, 0xfe, 0x80 };
    right[19] = 1;
    right[20] = 0x20;
    right[21] = 0x01;
    right[22] = 0x0d;
    right[23] = 0xb8;
    right[35] = 2;
    for (unsigned i = 0; i < 36; ++i)
        BOOST_TEST(std::to_integer<unsigned>(out[i]) == right[i], "byte " << i);
    cma_header back;
    BOOST_REQUIRE((parse_cma(out.data(), out.size(), back) == cma_parse_status::ok));
    BOOST_TEST((back.source == h.source));
    BOOST_TEST((back.destination == h.destination));
}

BOOST_AUTO_TEST_CASE(addresses_of_two_kinds_go_as_ipv6)
{
    const cma_header h{ 1, ip_address::ipv4(0x0a000001), v6({ 0x20 }, 2) };
    const header_bytes out = written(h);
    BOOST_TEST((out[1] == std::byte{ 0x60 }));
    cma_header back;
    BOOST_REQUIRE((parse_cma(out.data(), out.size(), back) == cma_parse_status::ok));
    BOOST_TEST((back.source == h.source));
    BOOST_TEST((back.destination == h.destination));
}

BOOST_AUTO_TEST_CASE(versions)
{
    const header_bytes good = written({ 1, ip_address::ipv4(1), ip_address::ipv4(2) });
    for (unsigned value = 0; value < 256; ++value) {
        header_bytes in = good;
        in[0] = static_cast<std::byte>(value);
        cma_header h;
        h.source_port = 77;
        BOOST_TEST((parse_cma(in.data(), in.size(), h) ==
                    (value == 0 ? cma_parse_status::ok : cma_parse_status::version)));
        BOOST_TEST(h.source_port == (value == 0 ? 1u : 77u));
        in = good;
        in[1] = static_cast<std::byte>(value); // the lower half is reserved
        const bool right = value / 16 == 4 || value / 16 == 6;
        BOOST_TEST((parse_cma(in.data(), in.size(), h) ==
                    (right ? cma_parse_status::ok : cma_parse_status::ip_version)));
    }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_too_short)
{
    const header_bytes good = written({ 1, ip_address(), v6({ 0x20 }, 2) });
    for (std::size_t n = 0; n < cma_header_bytes; ++n) {
        const std::unique_ptr<std::byte[]> copy(new std::byte[n]);
        std::memcpy(copy.get(), good.data(), n);
        cma_header h;
        BOOST_TEST((parse_cma(copy.get(), n, h) == cma_parse_status::too_short));
    }
}

BOOST_AUTO_TEST_CASE(the_consumers_share)
{
    BOOST_TEST(cma_req_consumer_bytes == 56u);
    BOOST_TEST(cma_sidr_req_consumer_bytes == 180u);
    BOOST_TEST(cma_header_bytes + cma_req_consumer_bytes == cm_req().private_data.size());
    BOOST_TEST(cma_header_bytes + cma_sidr_req_consumer_bytes ==
               cm_sidr_req().private_data.size());
}

BOOST_AUTO_TEST_CASE(address_kinds)
{
    const auto v4 = [](std::uint32_t a) { return ip_address::ipv4(a); };
    BOOST_TEST(v4(0x7f000001).is_v4());
    BOOST_TEST(v4(0xfffefdfc).v4() == 0xfffefdfcu);
    BOOST_TEST(v4(0).is_v4());
    BOOST_TEST(v4(0).is_unspecified());
    BOOST_TEST(!v4(1).is_unspecified());
    BOOST_TEST(!ip_address().is_v4());
    BOOST_TEST(ip_address().is_unspecified());
    BOOST_TEST(!v6({}, 1).is_unspecified());
    ip_address::bytes_type near = v4(1).bytes();
    near[9] = std::byte{ 1 };
    BOOST_TEST(!ip_address(near).is_v4());

    BOOST_TEST(v4(0x7f123456).is_loopback());
    BOOST_TEST(!v4(0x80000001).is_loopback());
    BOOST_TEST(v6({}, 1).is_loopback());
    BOOST_TEST(!v6({}, 2).is_loopback());
    BOOST_TEST(!v6({ 1 }, 1).is_loopback());

    BOOST_TEST(v4(0xa9fe0000).is_link_local());
    BOOST_TEST(!v4(0xa9ff0000).is_link_local());
    BOOST_TEST(!v4(0xaafe0000).is_link_local());
    BOOST_TEST(v6({ 0xfe, 0x80 }, 1).is_link_local());
    BOOST_TEST(v6({ 0xfe, 0xbf }, 1).is_link_local());
    BOOST_TEST(!v6({ 0xfe, 0xc0 }, 1).is_link_local());
    BOOST_TEST(!v6({ 0xff, 0x80 }, 1).is_link_local());

    BOOST_TEST(v4(0xe0000000).is_multicast());
    BOOST_TEST(v4(0xefffffff).is_multicast());
    BOOST_TEST(!v4(0xdfffffff).is_multicast());
    BOOST_TEST(!v4(0xf0000000).is_multicast());
    BOOST_TEST(v6({ 0xff, 0x02 }, 1).is_multicast());
    BOOST_TEST(!v6({ 0xfe, 0xff }, 1).is_multicast());
}

BOOST_AUTO_TEST_CASE(addresses_compare)
{
    const ip_address mapped = ip_address::ipv4(0x0a000001);
    BOOST_TEST((ip_address(mapped.bytes()) == mapped));
    BOOST_TEST((mapped != ip_address::ipv4(0x0a000002)));
    BOOST_TEST((mapped < ip_address::ipv4(0x0a000002)));
    BOOST_TEST(!(mapped < mapped));
    BOOST_TEST((ip_address() < mapped));
    BOOST_TEST((mapped < v6({ 0x20 }, 0)));
    const unsigned right[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1 };
    for (unsigned i = 0; i < 16; ++i)
        BOOST_TEST(std::to_integer<unsigned>(mapped.bytes()[i]) == right[i]);
}
