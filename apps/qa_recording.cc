/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "qa_temp.h"
#include "recording.h"
#include "usage_error.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::apps;

namespace {

template <typename Error, typename F>
std::string error_of(F f)
{
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was refused";
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != text.npos;
}

std::string meta(const std::string& global, const std::string& captures = "[]")
{
    return "{\"global\": {" + global + "}, \"captures\": " + captures +
           ", \"annotations\": []}";
}

const std::string cu8_global =
    "\"core:datatype\": \"cu8\", \"core:sample_rate\": 2000000.0, \"core:version\": "
    "\"1.0.0\"";

std::string capture(const std::string& more)
{
    return meta(cu8_global, "[{\"core:sample_start\": 0, " + more + "}]");
}

std::string annotation(const std::string& all)
{
    return "{\"global\": {" + cu8_global + "}, \"annotations\": [{" + all + "}]}";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_raw_file_is_mapped_as_it_stands)
{
    temp_folder t;
    write_text(t.file("a"), std::string("\0\1\2\3\4\5\6\7", 8));
    for (const char* sample : { "cu8", "sc8", "sc16", "fc32", "byte" }) {
        const recording r = open_recording(t.file("a"), sample);
        BOOST_TEST(core::to_string(r.sample) == sample);
        BOOST_TEST(r.data.bytes() == 8u);
        BOOST_TEST(int(r.data.data()[7]) == 7);
        BOOST_TEST(r.rate == 0);
    }
}

BOOST_AUTO_TEST_CASE(bad_raw_files_are_named_with_their_sizes)
{
    temp_folder t;
    write_text(t.file("empty"), "");
    write_text(t.file("cut"), "123456789");
    const auto open = [&](const char* name, const char* sample) {
        return error_of<run_error>([&] { open_recording(t.file(name), sample); });
    };
    const std::string missing = open("missing", "sc16");
    BOOST_TEST(has(missing, "missing'"));
    BOOST_TEST(has(missing, "No such file"));
    BOOST_TEST(has(open("empty", "sc16"), "the file is empty (0 bytes)"));
    BOOST_TEST(has(open("", "sc16"), "not a regular file"));
    const std::string cut = open("cut", "sc16");
    BOOST_TEST(has(cut, "cut inside a sample: 9 bytes are 2 sc16 samples"));
    BOOST_TEST(has(cut, "cut it to 8 bytes"));
    BOOST_TEST(open_recording(t.file("cut"), "byte").data.bytes() == 9u);
}

BOOST_AUTO_TEST_CASE(a_raw_file_needs_a_sample_type)
{
    temp_folder t;
    write_text(t.file("a"), "1234");
    BOOST_TEST(has(error_of<usage_error>([&] { open_recording(t.file("a"), ""); }),
                   "--sample is needed"));
    BOOST_TEST(has(error_of<config_error>([&] { open_recording(t.file("a"), "cs16"); }),
                   "sample='cs16'"));
}

BOOST_AUTO_TEST_CASE(sigmf_opens_by_any_of_its_names)
{
    temp_folder t;
    write_text(
        t.file("r.sigmf-meta"),
        meta(cu8_global, "[{\"core:sample_start\": 0, \"core:frequency\": 1090000000}]"));
    write_text(t.file("r.sigmf-data"), "12345678");
    for (const char* name : { "r.sigmf-meta", "r.sigmf-data", "r" }) {
        const recording r = open_recording(t.file(name), "");
        BOOST_TEST((r.sample == core::sample_type::cu8));
        BOOST_TEST(r.rate == 2e6);
        BOOST_TEST(r.freq == 1.09e9);
        BOOST_TEST(r.data.bytes() == 8u);
    }
    BOOST_TEST(open_recording(t.file("r"), "cu8").rate == 2e6);
    BOOST_TEST(has(error_of<usage_error>([&] { open_recording(t.file("r"), "sc16"); }),
                   "--sample='sc16'"));
}

BOOST_AUTO_TEST_CASE(sigmf_without_its_other_half_is_named)
{
    temp_folder t;
    write_text(t.file("r.sigmf-meta"), meta(cu8_global));
    const auto open = [&](const char* name) {
        return error_of<run_error>([&] { open_recording(t.file(name), ""); });
    };
    BOOST_TEST(has(open("r"), "r.sigmf-data': No such file"));
    write_text(t.file("s.sigmf-data"), "12");
    BOOST_TEST(has(open("s.sigmf-data"), "s.sigmf-meta': No such file"));
    write_text(t.file("r.sigmf-data"), "123");
    BOOST_TEST(has(open("r"), "cut inside a sample"));
}

BOOST_AUTO_TEST_CASE(each_sigmf_datatype_maps_to_a_sample_type)
{
    const std::pair<const char*, const char*> types[] = {
        { "cu8", "cu8" },      { "ci8", "sc8" },  { "ci16_le", "sc16" },
        { "cf32_le", "fc32" }, { "ri8", "byte" }, { "ru8", "byte" },
    };
    for (const auto& [sigmf, ours] : types) {
        const auto m =
            parse_sigmf(meta("\"core:datatype\": \"" + std::string(sigmf) + "\""), "x");
        BOOST_TEST(core::to_string(m.sample) == ours);
        BOOST_TEST(m.rate == 0);
    }
}

BOOST_AUTO_TEST_CASE(metadata_that_cannot_be_used_are_refused_by_name)
{
    const std::pair<std::string, const char*> bad[] = {
        { "{", "no valid SigMF metadata" },
        { "[]", "the metadata=[] is wrong: give an object" },
        { "{}", "the metadata has no global: give an object" },
        { "{\"global\": 3}", "global=3 is wrong: give an object" },
        { meta(""), "global has no core:datatype: give \"cu8\", " },
        { meta("\"core:datatype\": 8"),
          "core:datatype=8 in global is wrong: give \"cu8\"" },
        { meta("\"core:datatype\": \"cf64_le\""), "core:datatype=\"cf64_le\" in global" },
        { meta("\"core:datatype\": \"ci16_be\""), "\"cf32_le\"" },
        { meta(cu8_global + ", \"core:num_channels\": 2"),
          "core:num_channels=2 in global is wrong: give 1" },
        { meta(cu8_global + ", \"core:num_channels\": 0"),
          "core:num_channels=0 in global" },
        { meta(cu8_global + ", \"core:num_channels\": \"1\""),
          "core:num_channels=\"1\" in global is wrong: give 1" },
        { meta(cu8_global + ", \"core:trailing_bytes\": 8"), "core:trailing_bytes=8 in" },
        { meta(cu8_global + ", \"core:trailing_bytes\": []"),
          "core:trailing_bytes=[] in" },
        { meta(cu8_global + ", \"core:dataset\": \"a.bin\""),
          "core:dataset=\"a.bin\" in" },
        { meta(cu8_global + ", \"core:description\": [1]"),
          "core:description=[1] in global is wrong: give a string" },
        { meta("\"core:datatype\": \"cu8\", \"core:sample_rate\": -1"),
          "core:sample_rate=-1 in global is wrong: give a number of samples per second" },
        { meta("\"core:datatype\": \"cu8\", \"core:sample_rate\": \"fast\""),
          "core:sample_rate=\"fast\" in global is wrong: give a number of samples per" },
        { meta("\"core:datatype\": \"cu8\", \"core:sample_rate\": null"),
          "core:sample_rate=null in global" },
        { meta("\"core:datatype\": \"cu8\", \"core:sample_rate\": true"),
          "core:sample_rate=true in global" },
        { meta(cu8_global, "{}"), "captures={} in the metadata is wrong: give an array" },
        { meta(cu8_global, "[7]"), "captures[0]=7 is wrong: give an object" },
        { meta(cu8_global, "[{\"core:frequency\": 1}]"),
          "captures[0] has no core:sample_start: give the number of a sample" },
        { meta(cu8_global, "[{\"core:sample_start\": -4}]"),
          "core:sample_start=-4 in captures[0] is wrong: give the number of a sample" },
        { meta(cu8_global, "[{\"core:sample_start\": 0.5}]"),
          "core:sample_start=0.5 in" },
        { meta(cu8_global, "[{\"core:sample_start\": 1e300}]"),
          "core:sample_start=1e+300" },
        { meta(cu8_global,
               "[{\"core:sample_start\": 0}, {\"core:sample_start\": \"0\"}]"),
          "core:sample_start=\"0\" in captures[1]" },
        { capture("\"core:header_bytes\": 4"),
          "core:header_bytes=4 in captures[0] is wrong: give 0 bytes, or leave it out" },
        { capture("\"core:header_bytes\": {}"), "core:header_bytes={} in captures[0]" },
        { capture("\"core:frequency\": \"1090M\""),
          "core:frequency=\"1090M\" in captures[0] is wrong: give a number of Hz" },
        { capture("\"core:datetime\": 2026"),
          "core:datetime=2026 in captures[0] is wrong: give a string such as \"2026-" },
        { "{\"global\": {" + cu8_global + "}, \"annotations\": \"none\"}",
          "annotations=\"none\" in the metadata is wrong: give an array" },
        { annotation("\"core:label\": 1"),
          "annotations[0] has no core:sample_start: give the number" },
        { annotation("\"core:sample_start\": []"),
          "core:sample_start=[] in annotations[0]" },
        { annotation("\"core:sample_start\": 1, \"core:label\": 1"),
          "core:label=1 in annotations[0] is wrong: give a string" },
        { annotation("\"core:sample_start\": 1, \"core:comment\": false"),
          "core:comment=false in annotations[0] is wrong: give a string" },
    };
    for (const auto& one : bad) {
        const std::string said =
            error_of<run_error>([&] { parse_sigmf(one.first, "x.sigmf-meta"); });
        BOOST_TEST_CONTEXT(one.first << " -> " << said)
        {
            BOOST_TEST(has(said, "x.sigmf-meta"));
            BOOST_TEST(has(said, one.second));
        }
    }
}

BOOST_AUTO_TEST_CASE(whole_numbers_may_be_written_with_a_point_or_an_exponent)
{
    for (const char* number : { "3000000", "3000000.0", "3e6" }) {
        const auto m = parse_sigmf(
            meta(cu8_global, "[{\"core:sample_start\": " + std::string(number) + "}]"),
            "x");
        BOOST_REQUIRE(m.captures.size() == 1u);
        BOOST_TEST(m.captures[0].sample_start == 3000000u);
    }
}

BOOST_AUTO_TEST_CASE(what_is_written_as_sigmf_reads_back)
{
    temp_folder t;
    sigmf_metadata m;
    m.sample = core::sample_type::sc16;
    m.rate = 2.5e6;
    m.description = "a test";
    recording_writer writer(t.file("w.sigmf-data"), m);
    writer.start_capture(1e9, "2026-01-31T12:00:00.500000Z");
    writer.write("abcdefgh", 8);
    writer.start_capture(1e9, "");
    writer.annotate("gap", "3 messages lost");
    writer.write("ijkl", 4);
    BOOST_TEST(!std::filesystem::exists(t.file("w.sigmf-meta")));
    writer.close();
    BOOST_TEST(read_text(t.file("w.sigmf-data")) == "abcdefghijkl");
    const recording r = open_recording(t.file("w"), "");
    BOOST_TEST(r.rate == 2.5e6);
    BOOST_TEST(r.freq == 1e9);
    const auto back = parse_sigmf(read_text(t.file("w.sigmf-meta")), "w");
    BOOST_TEST(back.description == "a test");
    BOOST_REQUIRE(back.captures.size() == 2u);
    BOOST_TEST(back.captures[0].datetime == "2026-01-31T12:00:00.500000Z");
    BOOST_TEST(back.captures[1].sample_start == 2u);
    BOOST_REQUIRE(back.annotations.size() == 1u);
    BOOST_TEST(back.annotations[0].sample_start == 2u);
    BOOST_TEST(back.annotations[0].comment == "3 messages lost");
}

BOOST_AUTO_TEST_CASE(a_capture_that_holds_no_sample_is_replaced)
{
    temp_folder t;
    recording_writer writer(t.file("w.sigmf-meta"), sigmf_metadata());
    writer.start_capture(1, "");
    writer.start_capture(2, "");
    writer.close();
    const auto back = parse_sigmf(read_text(t.file("w.sigmf-meta")), "w");
    BOOST_REQUIRE(back.captures.size() == 1u);
    BOOST_TEST(back.captures[0].freq == 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_named)
{
    temp_folder t;
    BOOST_TEST(has(error_of<run_error>([&] {
                       recording_writer writer(t.file("no/such"), sigmf_metadata());
                   }),
                   "no/such': No such file"));
    recording_writer full("/dev/full", sigmf_metadata());
    full.write("1234", 4);
    BOOST_TEST(has(error_of<run_error>([&] { full.close(); }), "No space left"));
}

BOOST_AUTO_TEST_CASE(what_was_there_stays_until_something_is_written)
{
    temp_folder t;
    write_text(t.file("old"), "precious");
    {
        recording_writer untouched(t.file("old"), sigmf_metadata());
        output_file made(t.file("new"));
        BOOST_TEST(std::filesystem::exists(t.file("new")));
    }
    BOOST_TEST(read_text(t.file("old")) == "precious");
    BOOST_TEST(!std::filesystem::exists(t.file("new")));
    {
        output_file made(t.file("new"));
        std::filesystem::remove(t.file("new"));
        write_text(t.file("new"), "of another");
    }
    BOOST_TEST(read_text(t.file("new")) == "of another");
    recording_writer written(t.file("old"), sigmf_metadata());
    written.write("1234", 4);
    written.write("56", 2);
    written.close();
    BOOST_TEST(read_text(t.file("old")) == "123456");
    output_file empty(t.file("old"));
    BOOST_TEST(empty.close() == 0);
    BOOST_TEST(read_text(t.file("old")) == "");
    std::filesystem::create_symlink(t.file("old"), t.file("link"));
    {
        output_file by_link(t.file("link"));
    }
    BOOST_TEST(std::filesystem::is_symlink(t.file("link")));
}

BOOST_AUTO_TEST_CASE(times_are_iso_8601_in_utc)
{
    BOOST_TEST(iso_8601(0, 0) == "1970-01-01T00:00:00.000000Z");
    BOOST_TEST(iso_8601(1769860800, 0.25) == "2026-01-31T12:00:00.250000Z");
    BOOST_TEST(iso_8601(1, 0.9999999) == "1970-01-01T00:00:01.999999Z");
}
