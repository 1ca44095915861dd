/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.source into GPU memory through pinned host memory, on the imitated driver.
#include "qa_source_gpu.h"
#include "testing/has_text.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

// A message of this many bytes makes a ring of two slots on a GPU.
constexpr std::size_t long_message = 1 << 20;

// A reader of rdma.source, whose ring is on the GPU.
struct faulty_flowgraph {
    explicit faulty_flowgraph(const gr::block_sptr& reader)
    {
        pair.source.memory = "cuda:0";
        block = source::make(pair.source);
        top->connect(block, 0, reader, 0);
    }
    // More messages than there are slots; the stream ends by itself.
    void send_until_it_ends()
    {
        sender tx(pair.sender);
        tx.send(random_messages(100, 4096));
        top->wait();
        tx.stop();
        BOOST_TEST(block->state() == "failed");
    }
    pair_config pair = make_pair_config("softroce", 4096);
    gr::top_block_sptr top = gr::make_top_block("top");
    source::sptr block;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_stream_reaches_the_gpu_byte_for_byte, on_imitated_driver)
{
    for (const char* endpoint : { "inproc", "softroce" })
        for (const std::size_t length : { std::size_t(8192), long_message }) {
            BOOST_TEST_CONTEXT(endpoint << " " << length)
            {
                auto p = make_pair_config(endpoint, length);
                p.source.memory = "cuda:0";
                p.source.buffers = 2;
                const auto messages = random_messages(length == 8192 ? 1000 : 20, length);
                auto top = gr::make_top_block("top");
                auto block = source::make(p.source);
                auto on_device = gnuradio::make_block_sptr<device_reader>(fake);
                auto on_host = gnuradio::make_block_sptr<recorder>(1);
                top->connect(block, 0, on_device, 0);
                top->connect(block, 0, on_host, 0);
                top->start();
                sender tx(p.sender);
                tx.send(messages);
                BOOST_TEST(on_host->wait_bytes(messages.size() * length));
                BOOST_TEST(on_device->wait_items(messages.size() * length));
                tx.stop();
                top->stop();
                top->wait();
                on_host->bytes.resize(messages.size() * length);
                BOOST_TEST((on_host->bytes == joined(messages)));
                on_device->bytes.resize(messages.size() * length);
                BOOST_TEST((on_device->bytes == joined(messages)));
                BOOST_TEST(!on_device->changed);
                const auto tags = on_host->tags_of("rx_buffer");
                BOOST_TEST(tags.size() == messages.size());
                const auto device =
                    pmt::dict_ref(tags.at(0).value, pmt::mp("device"), pmt::PMT_NIL);
                BOOST_TEST(pmt::symbol_to_string(device) == "cuda:0");
                BOOST_TEST(number(tags.at(0).value, "address") == on_device->lowest);
            }
        }
    BOOST_TEST(fake.held() == std::vector<long>(7), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(short_messages_end_in_zeros_on_the_gpu_too, on_imitated_driver)
{
    auto p = make_pair_config("softroce", 4096);
    p.source.memory = "cuda:0";
    p.source.header_bytes = 16;
    auto messages = random_messages(1200, 4096 + 16); // over twice round the ring
    for (std::size_t i = 0; i < messages.size(); i += 3)
        messages[i].resize(16 + i);
    std::vector<std::byte> expected;
    for (auto m : messages) {
        m.resize(4096 + 16);
        expected.insert(expected.end(), m.begin() + 16, m.end());
    }
    auto top = gr::make_top_block("top");
    auto block = source::make(p.source);
    auto on_device = gnuradio::make_block_sptr<device_reader>(fake);
    auto on_host = gnuradio::make_block_sptr<recorder>(1);
    top->connect(block, 0, on_device, 0);
    top->connect(block, 0, on_host, 0);
    top->start();
    sender tx(p.sender);
    tx.send(messages);
    BOOST_TEST(on_host->wait_bytes(expected.size()));
    BOOST_TEST(on_device->wait_items(expected.size()));
    tx.stop();
    top->stop();
    top->wait();
    BOOST_TEST((on_host->bytes == expected));
    BOOST_TEST((on_device->bytes == expected));
}

BOOST_FIXTURE_TEST_CASE(auto_takes_the_gpu_and_falls_back_to_the_host, on_imitated_driver)
{
    struct {
        const char* memory;
        std::size_t bytes;
        const char* device;
    } const cases[] = {
        { "auto", 4096, "cuda:0" },
        { "host", 4096, "host" },
        { "auto", 100000, "host" }, // and 2 MiB: no ring below 6 GiB
    };
    for (const auto& c : cases) {
        auto p = make_pair_config("softroce", c.bytes);
        p.source.memory = c.memory;
        auto top = gr::make_top_block("top");
        auto block = source::make(p.source);
        auto sink = gnuradio::make_block_sptr<recorder>(1);
        top->connect(block, 0, sink, 0);
        top->start();
        sender tx(p.sender);
        tx.send(random_messages(3, c.bytes));
        BOOST_TEST(sink->wait_bytes(3 * c.bytes));
        tx.stop();
        top->stop();
        top->wait();
        const auto device = pmt::dict_ref(
            sink->tags_of("rx_buffer").at(0).value, pmt::mp("device"), pmt::PMT_NIL);
        BOOST_TEST(pmt::symbol_to_string(device) == c.device);
    }
}

BOOST_FIXTURE_TEST_CASE(what_the_gpu_cannot_hold_is_refused_at_start, on_imitated_driver)
{
    auto p = make_pair_config("softroce", 8 << 20);
    p.source.memory = "cuda:0";
    p.source.message_bytes = 100000; // and the GPU's 2 MiB: no ring below 6 GiB
    auto top = gr::make_top_block("top");
    auto block = source::make(p.source);
    top->connect(block, 0, gnuradio::make_block_sptr<recorder>(1), 0);
    BOOST_CHECK_EXCEPTION(top->start(), config_error, [](const config_error& e) {
        return std::string(e.what()).find("100000 bytes: the shortest ring") !=
               std::string::npos;
    });
    p.source.memory = "cuda:3";
    BOOST_CHECK_EXCEPTION(
        source::make(p.source), config_error, [](const config_error& e) {
            const std::string what = e.what();
            return what.find("memory='cuda:3'") == 0 &&
                   what.find("cuda:0 = 0000:17:00.0") != std::string::npos;
        });
}

BOOST_FIXTURE_TEST_CASE(a_fault_on_the_gpu_ends_the_stream, on_imitated_driver)
{
    faulty_flowgraph g(gnuradio::make_block_sptr<recorder>(1));
    g.top->start();
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    g.send_until_it_ends();
    BOOST_TEST(has(g.block->status_text(),
                   "cuda:0: the GPU failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) in no "
                   "kernel of these blocks"));
}

BOOST_FIXTURE_TEST_CASE(the_status_tells_whose_kernel_faulted, on_imitated_driver)
{
    auto reader = gnuradio::make_block_sptr<device_reader>(fake);
    reader->kernel_runs = [this] { fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS); };
    faulty_flowgraph g(reader);
    g.top->start();
    g.send_until_it_ends();
    BOOST_TEST(has(g.block->status_text(), " in a kernel of " + reader->identifier()));
}

BOOST_FIXTURE_TEST_CASE(a_copy_that_is_refused_is_no_kernel_s_fault, on_imitated_driver)
{
    faulty_flowgraph g(gnuradio::make_block_sptr<device_reader>(fake));
    const auto whole = fake.api().memcpy_async;
    fake.api().memcpy_async = [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    };
    g.top->start();
    g.send_until_it_ends();
    BOOST_TEST(
        has(g.block->status_text(),
            "cuda:0: a copy into the ring failed with CUDA_ERROR_OUT_OF_MEMORY (2)"));
    fake.api().memcpy_async = whole;
    g.top->start();
    BOOST_TEST(g.block->state() != "failed");
    g.top->stop();
    g.top->wait();
    BOOST_TEST(g.block->state() != "failed");
}
