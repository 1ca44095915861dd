/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flags.h"
#include "options.h"
#include "parse.h"
#include "usage_error.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>

using namespace gr::rdma::apps;
namespace data = boost::unit_test::data;

namespace {

// What the error of a bad command line says; empty if it was taken.
std::string refusal(const std::vector<std::string>& args)
{
    flags f("gr-rdma test", "about", "examples");
    connection_options connection;
    stream_options stream;
    ring_options ring;
    talk_options talk;
    connection.declare(f, false);
    stream.declare(f, false);
    ring.declare(f);
    talk.declare(f);
    try {
        f.parse(args);
        connection.check(f, true);
        stream.check();
    } catch (const usage_error& e) {
        return e.what();
    }
    return "";
}

std::vector<std::string> words(const std::string& line)
{
    std::vector<std::string> out;
    for (std::size_t at = 0; at < line.size();) {
        const auto end = std::min(line.find(' ', at), line.size());
        out.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

const std::string good =
    "--source 127.0.0.1 --connect 127.0.0.2 --qpn 0x11 --remote-qpn 18";

struct bad_line {
    const char* more;
    const char* named; // the flag and the value
    const char* right; // what would be right
};
std::ostream& operator<<(std::ostream& out, const bad_line& b) { return out << b.more; }

const bad_line bad_lines[] = {
    { "--mtu 1500", "--mtu='1500'", "1024" },
    { "--mtu 8192", "--mtu='8192'", "4096" },
    { "--mtu abc", "--mtu='abc'", "whole number" },
    { "--endpoint inproc",
      "--endpoint='inproc'",
      "auto, softroce, verbs; the blocks' inproc has both ends in one process" },
    { "--service xx", "--service='xx'", "rc, uc, ud" },
    { "--sample sc12", "--sample='sc12'", "cu8, sc8, sc16, fc32, byte" },
    { "--message-bytes 7", "--message-bytes='7'", "multiple of 4" },
    { "--message-bytes 0", "--message-bytes='0'", "65536" },
    { "--message-bytes 1.5", "--message-bytes='1.5'", "whole number of bytes" },
    { "--message-bytes -4", "--message-bytes='-4'", "whole number of bytes" },
    { "--message-bytes 2GiB", "--message-bytes='2147483648'", "1 GiB" },
    { "--message-bytes 4KB", "--message-bytes='4KB'", "64KiB" },
    { "--psn 0x1000000", "--psn='0x1000000'", "16777215" },
    { "--remote-psn 12x", "--remote-psn='12x'", "whole number" },
    { "--service ud --qkey 0x100000000", "--qkey='0x100000000'", "4294967295" },
    { "--group 239.1.2.3", "--group belongs", "--service ud" },
    { "--qkey 5", "--qkey belongs", "--service ud" },
    { "--rate -1", "--rate='-1'", "at least" },
    { "--rate nan", "--rate='nan'", "2e6" },
    { "--rate 1e400", "--rate='1e400'", "2e6" },
    { "--rate 0", "--rate='0'", "at least" },
    { "--freq inf", "--freq='inf'", "such as" },
    { "--freq 1090T", "--freq='1090T'", "such as" },
    { "--buffers 1", "--buffers='1'", "2 to" },
    { "--count 0", "--count='0'", "1 or more" },
    { "--count 18446744073709551616", "--count=", "whole number" },
    { "--idle 0", "--idle='0'", "SECONDS" },
    { "--messagebytes 4096", "'--messagebytes'", "did you mean --message-bytes?" },
    { "--message 4096", "'--message'", "is no flag of gr-rdma test" },
    { "stray", "'stray'", "is no flag of gr-rdma test" },
    { "--quiet stray", "'stray'", "is no flag of gr-rdma test" },
    { "--mtu 1024 --mtu 4096", "--mtu is given 2 times", "once" },
    { "--mtu", "'--mtu'", "required argument" },
    { "--quiet=yes", "--quiet", "" },
};

} // namespace

BOOST_DATA_TEST_CASE(a_bad_command_line_is_refused_with_flag_value_and_remedy,
                     data::make(bad_lines))
{
    const std::string said = refusal(words(good + " " + sample.more));
    BOOST_TEST_CONTEXT("said: " << said)
    {
        BOOST_TEST(!said.empty());
        BOOST_TEST((said.find(sample.named) != said.npos));
        BOOST_TEST((said.find(sample.right) != said.npos));
    }
}

BOOST_AUTO_TEST_CASE(a_good_command_line_is_taken)
{
    BOOST_TEST(refusal(words(good)) == "");
}

BOOST_AUTO_TEST_CASE(what_a_connection_needs_is_asked_for)
{
    BOOST_TEST(refusal(words("--connect 127.0.0.2")) == "");
    BOOST_TEST(refusal(words("--listen 127.0.0.2:7000 --peers 127.0.0.1")) == "");
    const auto said = [](const char* line) { return refusal(words(line)); };
    BOOST_TEST(said("--quiet").find("--listen or --connect is needed") == 0u);
    BOOST_TEST(said("--connect a --qpn 17").find("--remote-qpn is needed") == 0u);
    BOOST_TEST(said("--source a --qpn 17 --remote-qpn 18").find("--connect is needed") ==
               0u);
    BOOST_TEST(said("--connect a --service ud") == "");
    BOOST_TEST(said("--listen a --service ud").find("--connect is needed instead of") ==
               0u);
    for (const char* group : { "239.1.2.3", "ff15::1", "[ff15::1]" })
        BOOST_TEST(refusal({ "--connect", group, "--qpn", "17", "--service", "ud" }) ==
                   "");
    for (const char* alone : { "--remote-qpn", "--psn", "--remote-psn" })
        BOOST_TEST(refusal({ "--connect", "a", alone, "5" })
                       .find(std::string(alone) + " belongs to a static connection") ==
                   0u);
}

BOOST_AUTO_TEST_CASE(a_sender_has_no_flags_of_receivers_and_says_what_is_right)
{
    flags f("gr-rdma send", "", "");
    connection_options connection;
    stream_options stream;
    stream.declare(f, true);
    connection.declare(f, true);
    ring_options::refuse(f);
    const std::pair<const char*, const char*> refused[] = {
        { "receive", "give it to the receiver" },
        { "group", "to --connect" },
        { "freq", "give it to the receiver" },
        { "buffers", "give it to the receiver" },
        { "memory", "give it to the receiver" },
        { "route", "give it to the receiver" },
        { "reconnect", "give it there" },
        { "idle", "--seconds" },
    };
    const std::string help = f.help();
    for (const auto& one : refused) {
        const std::string flag = std::string("--") + one.first, right = one.second;
        BOOST_TEST((help.find(flag) == help.npos), flag);
        for (const auto& line : { words(flag + " 1"), words(flag + "=1") })
            BOOST_CHECK_EXCEPTION(f.parse(line), usage_error, [&](const auto& e) {
                const std::string said = e.what();
                BOOST_TEST_MESSAGE(said);
                return said.find("'" + line[0] + "' is no flag of gr-rdma send: ") == 0 &&
                       said.find(right) != said.npos;
            });
    }
}

BOOST_AUTO_TEST_CASE(values_reach_their_variables_and_given_tells)
{
    flags f("gr-rdma test", "about", "examples");
    connection_options connection;
    stream_options stream;
    ring_options ring;
    talk_options talk;
    std::vector<std::string> outs;
    std::string scene;
    connection.declare(f, false);
    stream.declare(f, false);
    ring.declare(f);
    talk.declare(f);
    f.list("out", outs, "FILE", "");
    f.optional_text("scene", scene, "default", "LIST", "");
    BOOST_TEST(f.parse(words(
        good + " --rate 2M --freq=1.09G --message-bytes 1MiB --sample cu8 --idle "
               "0.5 --json --out a --out b --psn 0 --remote-psn 0xFFFFFF --scene")));
    BOOST_TEST(connection.qpn == 0x11u);
    BOOST_TEST(connection.remote_qpn == 18u);
    BOOST_TEST(connection.remote_psn == 0xffffffu);
    BOOST_TEST(stream.rate == 2e6);
    BOOST_TEST(stream.freq == 1.09e9);
    BOOST_TEST(stream.message_bytes == 1048576u);
    BOOST_TEST(stream.sample == "cu8");
    BOOST_TEST(ring.idle == 0.5);
    BOOST_TEST(ring.buffers == 16u);
    BOOST_TEST(talk.json);
    BOOST_TEST(!talk.quiet);
    BOOST_TEST(outs.size() == 2u);
    BOOST_TEST(scene == "default");
    BOOST_TEST(f.given("psn"));
    BOOST_TEST(!f.given("buffers"));
}

BOOST_AUTO_TEST_CASE(an_optional_value_may_stand_apart_or_be_left_out)
{
    const auto parsed = [](const std::string& line, bool& quiet) {
        flags f("gr-rdma test", "", "");
        std::string scene;
        talk_options talk;
        talk.declare(f);
        f.optional_text("scene", scene, "default", "LIST", "");
        f.parse(words(line));
        quiet = talk.quiet;
        return scene;
    };
    bool quiet = false;
    BOOST_TEST(parsed("--scene tone,fm --quiet", quiet) == "tone,fm");
    BOOST_TEST(parsed("--scene=tone,fm", quiet) == "tone,fm");
    BOOST_TEST(!quiet);
    BOOST_TEST(parsed("--scene --quiet", quiet) == "default");
    BOOST_TEST(quiet);
}

BOOST_AUTO_TEST_CASE(help_stops_before_anything_is_set_and_shows_defaults)
{
    flags f("gr-rdma test", "Does a thing.", "Examples: none.");
    stream_options stream;
    stream.declare(f, false);
    BOOST_TEST(!f.parse({ "--help", "--sample", "cu8" }));
    BOOST_TEST(stream.sample == "sc16");
    const std::string help = f.help();
    for (const char* part :
         { "Does a thing.", "Samples:", "--message-bytes BYTES", "[65536]", "Examples" })
        BOOST_TEST((help.find(part) != help.npos));
    for (std::size_t at = 0; at < help.size();) {
        const auto end = std::min(help.find('\n', at), help.size());
        BOOST_TEST(end - at <= 80u);
        at = end + 1;
    }
}

BOOST_AUTO_TEST_CASE(numbers_are_shown_with_their_unit)
{
    BOOST_TEST(human_number(2e6) == "2 M");
    BOOST_TEST(human_number(1.09e9) == "1.09 G");
    BOOST_TEST(human_number(100062500) == "100.0625 M");
    BOOST_TEST(human_number(1500) == "1.5 k");
    BOOST_TEST(human_number(12) == "12 ");
}
