/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/rdma/convert.h>
#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/top_block.h>
#include <random>
#include <string>
#include <vector>

using namespace gr::rdma;

namespace {

std::vector<std::uint8_t> random_bytes(std::size_t n)
{
    static std::mt19937 random(3);
    std::vector<std::uint8_t> bytes(n);
    for (auto& b : bytes)
        b = static_cast<std::uint8_t>(random());
    return bytes;
}

// One component as the manual defines it.
float value(const std::string& sample, const std::uint8_t* at)
{
    if (sample == "cu8")
        return static_cast<float>((*at - 127.5) / 128);
    if (sample == "sc16") {
        std::int16_t s16;
        std::memcpy(&s16, at, sizeof s16);
        return static_cast<float>(s16 / 32768.0);
    }
    return static_cast<float>(static_cast<std::int8_t>(*at) / 128.0);
}

struct result {
    std::vector<float> floats;
    std::vector<gr::tag_t> tags;
};

result run(const convert_config& c,
           std::size_t in_item,
           std::size_t out_floats,
           const std::vector<std::uint8_t>& in,
           const std::vector<gr::tag_t>& tags = {})
{
    const auto top = gr::make_top_block("qa");
    const auto source = gr::blocks::vector_source_b::make(
        in, false, static_cast<unsigned>(in_item), tags);
    const auto sink = gr::blocks::vector_sink_f::make(static_cast<unsigned>(out_floats));
    const auto block = convert::make(c);
    top->connect(source, 0, block, 0);
    top->connect(block, 0, sink, 0);
    top->run();
    return { sink->data(), sink->tags() };
}

void refused(const convert_config& c, const std::string& text)
{
    BOOST_CHECK_EXCEPTION(convert::make(c), config_error, [&](const config_error& e) {
        BOOST_TEST(e.what() == text);
        return true;
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(every_type_and_item_length_gives_the_exact_values)
{
    struct type {
        const char* name;
        std::size_t bytes, floats; // per sample
    };
    for (const type& t : { type{ "cu8", 2, 2 },
                           type{ "sc8", 2, 2 },
                           type{ "sc16", 4, 2 },
                           type{ "byte", 1, 1 } })
        for (std::size_t vlen : { 1u, 3u }) {
            convert_config c;
            c.sample = t.name;
            c.vlen = vlen;
            for (std::size_t items : { 0u, 1u, 7u, 20001u }) {
                const auto in = random_bytes(items * vlen * t.bytes);
                const auto got = run(c, vlen * t.bytes, vlen * t.floats, in).floats;
                BOOST_REQUIRE_EQUAL(got.size(), items * vlen * t.floats);
                for (std::size_t i = 0; i < got.size(); ++i)
                    BOOST_REQUIRE_EQUAL(got[i],
                                        value(t.name, &in[i * t.bytes / t.floats]));
            }
        }
}

BOOST_AUTO_TEST_CASE(tags_stay_on_their_items)
{
    convert_config c;
    c.sample = "sc8";
    std::vector<gr::tag_t> tags;
    for (const std::uint64_t offset : { 0u, 5u, 9999u })
        for (const char* key : { "rx_time", "packet_len", "other" }) {
            gr::tag_t t;
            t.offset = offset;
            t.key = pmt::mp(key);
            t.value = pmt::from_uint64(offset + 1);
            tags.push_back(t);
        }
    const auto got = run(c, 2, 2, random_bytes(20000), tags).tags;
    BOOST_REQUIRE_EQUAL(got.size(), tags.size());
    for (const auto& t : got)
        BOOST_TEST(pmt::to_uint64(t.value) == t.offset + 1);
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused_with_what_would_be_right)
{
    convert_config c;
    c.sample = "fc32";
    refused(c,
            "sample='fc32' is float already: leave the block out, or use cu8, sc8, sc16 "
            "or byte");
    c.sample = "sc12";
    refused(c, "sample='sc12' is no sample type; use cu8, sc8, sc16 or byte");
    c.sample = "sc16";
    c.vlen = 0;
    refused(c, "vlen=0 is no number of samples per item; use 1 to 268435455");
    c.vlen = std::size_t(1) << 28; // the floats do not fit an item
    refused(c, "vlen=268435456 is no number of samples per item; use 1 to 268435455");
    c.vlen = 1;
    c.memory = "vram";
    refused(c,
            "memory='vram': auto, host, or cuda: with a GPU's number, UUID or PCI "
            "address, such as cuda:0");
    c.memory = "cuda:GPU-00000000"; // why, depends on the machine
    BOOST_CHECK_EXCEPTION(convert::make(c), config_error, [](const config_error& e) {
        return std::string(e.what()).rfind("memory='cuda:GPU-00000000': ", 0) == 0;
    });
}
