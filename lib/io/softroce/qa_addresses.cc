/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/addresses.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::io::softroce;

namespace {

template <typename Call>
void check_refused(Call call, const std::vector<std::string>& words)
{
    std::string said = "nothing";
    try {
        call();
    } catch (const config_error& e) {
        said = e.what();
    }
    for (const std::string& word : words)
        if (said.find(word) == std::string::npos)
            BOOST_ERROR("'" << said << "' does not say '" << word << "'");
}

wire::ip_address ip(const std::string& text) { return parse_literal(text, "ip")->ip; }

} // namespace

BOOST_AUTO_TEST_CASE(literals_are_read_and_written)
{
    for (const char* text : { "127.0.0.2", "0.0.0.0", "::", "::1", "fd00::2", "ff15::1" })
        BOOST_TEST(text_of(ip(text)) == text);
    BOOST_TEST(text_of(ip("[FD00:0::2]")) == "fd00::2");
    BOOST_TEST(text_of(ip("10.1.2.3"), 4791) == "10.1.2.3:4791");
    BOOST_TEST(text_of(ip("fd00::2"), 4791) == "[fd00::2]:4791");
    BOOST_TEST(ip("1.2.3.4").v4() == 0x01020304u);
    for (const char* text : { "fe80::1%eth9", "[fe80::1%eth9]", "ff02::1%eth9" })
        BOOST_TEST(parse_literal(text, "x")->interface == "eth9");
    for (const char* name :
         { "", "localhost", "a.b", "1.2.3", "host:7471", "[::1]:7471" })
        BOOST_TEST(!parse_literal(name, "x"));
    BOOST_TEST(version_of(ip("::1")) == std::string("IPv6"));
    BOOST_TEST(version_of(ip("127.0.0.1")) == std::string("IPv4"));
}

BOOST_AUTO_TEST_CASE(literals_that_cannot_be_used_are_refused)
{
    const std::vector<std::string> bad[] = {
        { "fe80::1", "link-local", "fe80::1%eth0" },
        { "[fe80::1]", "link-local" },
        { "fe80::1%", "link-local" },
        { "::ffff:10.0.0.1", "IPv6-mapped", "give 10.0.0.1" },
        { "fd00::1%eth0", "needs no interface", "give fd00::1" },
        { "fd00::1::2", "no IPv6 address" },
        { "fd00::2:18515", "no IPv6 address" },
        { "[localhost]", "no IPv6 address" },
        { "[127.0.0.1]", "no IPv6 address" },
        { "[]", "no IPv6 address" },
    };
    for (const auto& words : bad)
        check_refused([&] { parse_literal(words[0], "source"); },
                      { "source='" + words[0] + "'", words[1], words.back() });
}

BOOST_AUTO_TEST_CASE(groups_are_multicast_literals)
{
    for (const char* text : { "224.0.0.1", "239.255.255.255", "ff02::1", "[ff15::2:3]" })
        BOOST_TEST(multicast_group(text, "group").has_value());
    for (const char* text :
         { "", "223.255.255.255", "240.0.0.0", "fd00::1", "localhost" })
        BOOST_TEST(!multicast_group(text, "group"));
}

BOOST_AUTO_TEST_CASE(hosts_and_ports_are_taken_apart)
{
    const struct {
        const char* text;
        const char* host;
        unsigned port;
    } good[] = {
        { "", "", 7 },
        { ":8", "", 8 },
        { "host", "host", 7 },
        { "127.0.0.1:65535", "127.0.0.1", 65535 },
        { "[::1]", "::1", 7 },
        { "[::1]:18515", "::1", 18515 },
        { "[fe80::1%eth0]:9", "fe80::1%eth0", 9 },
    };
    for (const auto& g : good) {
        const host_port got = split_host_port(g.text, 7, "listen");
        BOOST_TEST(got.host == g.host);
        BOOST_TEST(got.port == g.port);
    }
    const std::vector<std::string> bad[] = {
        { "::1", "brackets", "[::1]:7" },
        { "fd00::1:18515", "brackets" },
        { "[::1", "brackets" },
        { "[::1]x", "no port" },
        { "[::1]18515", "no port" },
        { "[::1]:", "no port" },
        { "[::1]:0", "'0' is no port" },
        { "[::1]:65536", "no port" },
        { "[host]:5", "no IPv6 address" },
        { "h:x", "'x' is no port" },
        { "[fe80::1]:5", "link-local" },
        { "[::ffff:1.2.3.4]", "give 1.2.3.4" },
        { "h:-1", "no port" },
    };
    for (const auto& words : bad)
        check_refused(
            [&] { split_host_port(words[0], 7, "listen"); },
            { "listen='", words[1], words.back() == words[0] ? "" : words.back() });
}

BOOST_AUTO_TEST_CASE(names_are_looked_up_by_version)
{
    BOOST_TEST(resolve_host("localhost", "connect").ip.is_v4());
    BOOST_TEST(resolve_host("localhost", "connect", ip_version::v4).ip.is_loopback());
    check_refused([] { resolve_host("", "connect"); }, { "connect is missing" });
    check_refused([] { resolve_host("no.such.host.invalid", "connect"); },
                  { "connect='no.such.host.invalid'", "no IP address" });
    check_refused([] { resolve_host("no.such.host.invalid", "peers", ip_version::v6); },
                  { "peers=", "no IPv6 address" });
    check_refused([] { resolve_host("fe80::1%gr_none", "connect"); },
                  { "connect='fe80::1%gr_none'", "no interface 'gr_none'", "lo" });
}

BOOST_AUTO_TEST_CASE(own_addresses_are_those_of_this_machine)
{
    BOOST_TEST(resolve_own("127.9.9.9", "source").interface == 0u);
    for (const char* other : { "192.0.2.77", "2001:db8::77", "0.0.0.0", "::" })
        check_refused([&] { resolve_own(other, "source"); },
                      { std::string("source='") + other + "'", "127.0.0.1 (lo)" });
}
