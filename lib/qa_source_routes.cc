/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The ways from a NIC into a GPU's ring: which is taken, and what is said of the others.
#include "qa_source_routes.h"

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

struct status_reader : gr::block {
    status_reader()
        : gr::block("status_reader",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(0, 0, 0))
    {
        message_port_register_in(pmt::mp("in"));
        set_msg_handler(pmt::mp("in"), [this](const pmt::pmt_t& dict) {
            const auto value = pmt::dict_ref(dict, pmt::mp("route"), pmt::mp("none"));
            std::lock_guard<std::mutex> lock(mutex);
            route = pmt::symbol_to_string(value);
        });
    }
    std::mutex mutex;
    std::string route;
};

constexpr auto ordering = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING;
constexpr auto flush_options = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS;

fake_cuda::device unordered(int options)
{
    fake_cuda::device d;
    d.attributes[ordering] = 0;
    d.attributes[flush_options] = options;
    return d;
}

std::atomic<int> flushes{ 0 };
std::atomic<int> strange_flushes{ 0 };

} // namespace

BOOST_AUTO_TEST_CASE(auto_takes_the_first_route_that_works)
{
    struct {
        bool dma_buf;
        int peermem;
        const char* route;
        std::initializer_list<const char*> words;
    } const cases[] = {
        { true, 0, "dmabuf", { "route dmabuf" } },
        { false,
          0,
          "peermem",
          { "route peermem (dmabuf: ",
            "ibv_reg_dmabuf_mr",
            "Operation not supported",
            "cannot register dma-bufs" } },
        { false,
          EFAULT,
          "staged",
          { "route staged (dmabuf: ",
            "; peermem: ",
            "Bad address",
            "modprobe nvidia-peermem" } },
    };
    for (const auto& c : cases)
        BOOST_TEST_CONTEXT(c.route)
        {
            nic_and_gpu rig;
            rig.world.set_dma_buf(c.dma_buf);
            rig.set_peermem(c.peermem);
            gpu_flowgraph g(rig.fake, listening());
            auto status = gnuradio::make_block_sptr<status_reader>();
            g.top->msg_connect(g.block, "status", status, "in");
            BOOST_TEST(started(g) == "");
            BOOST_TEST(holds(g.block->description(),
                             { "verbs rc", "relaxed ordering", "ring in cuda:0 (" }));
            BOOST_TEST(holds(g.block->description(), c.words));
            const auto messages = random_messages(600, 8192); // over twice round the ring
            g.pass(messages);
            g.stop();
            BOOST_TEST((g.on_device->bytes == joined(messages)));
            BOOST_TEST(!g.on_device->changed);
            const auto tags = g.on_host->tags_of("rx_buffer");
            BOOST_REQUIRE(tags.size() == messages.size());
            BOOST_TEST(number(tags[0].value, "address") == g.on_device->lowest);
            std::lock_guard<std::mutex> lock(status->mutex);
            BOOST_TEST(status->route == c.route);
        }
}

BOOST_AUTO_TEST_CASE(a_direct_route_copies_nothing)
{
    for (const char* route : { "dmabuf", "peermem", "staged" })
        BOOST_TEST_CONTEXT(route)
        {
            nic_and_gpu rig;
            source_config c = listening();
            c.route = route;
            gpu_flowgraph g(rig.fake, c, false);
            BOOST_TEST(started(g) == "");
            sender tx(calling());
            tx.send(random_messages(300, 8192));
            BOOST_TEST(g.on_device->wait_items(300 * 8192));
            tx.stop();
            g.stop();
            const bool direct = std::string(route) != "staged";
            BOOST_TEST((rig.fake.calls_of("cuMemcpyAsync") == 0) == direct);
            BOOST_TEST(rig.fake.calls_of("cuFlushGPUDirectRDMAWrites") == 0);
            BOOST_TEST(rig.world.calls()["ibv_reg_dmabuf_mr"] ==
                       (std::string(route) == "dmabuf" ? 1u : 0u));
        }
}

BOOST_AUTO_TEST_CASE(a_forced_route_that_fails_says_so_and_may_be_tried_again)
{
    nic_and_gpu rig;
    rig.world.set_dma_buf(false);
    rig.set_peermem(EFAULT);
    for (const char* route : { "dmabuf", "peermem" }) {
        source_config c = listening();
        c.route = route;
        gpu_flowgraph g(rig.fake, c);
        const std::string said = started(g);
        if (c.route == "dmabuf")
            BOOST_TEST(holds(said,
                             { "os 95 ",
                               "route='dmabuf': 2097152 bytes (2 MiB) on cuda:0 (",
                               "ibv_reg_dmabuf_mr",
                               "fake0",
                               "this kernel" }));
        else
            BOOST_TEST(holds(said,
                             { "os 14 ",
                               "route='peermem': ",
                               "ibv_reg_mr",
                               "fake0",
                               "modprobe nvidia-peermem" }));
        BOOST_TEST(rig.world.alive().count("mr") == 0u);
        rig.world.set_dma_buf(true); // somebody has seen to it
        rig.set_peermem(0);
        BOOST_TEST(started(g) == "");
        BOOST_TEST(holds(g.block->description(), { route }));
        g.pass(random_messages(20, 8192));
        g.stop();
        rig.world.set_dma_buf(false);
        rig.set_peermem(EFAULT);
    }
}

BOOST_AUTO_TEST_CASE(memory_auto_does_not_hide_that_a_forced_route_failed)
{
    nic_and_gpu rig;
    rig.world.set_dma_buf(false);
    source_config c = listening();
    c.memory = "auto";
    c.route = "dmabuf";
    gpu_flowgraph g(rig.fake, c);
    BOOST_TEST(holds(started(g), { "os 95 ", "route='dmabuf'" }));
}

BOOST_AUTO_TEST_CASE(a_route_that_cannot_be_is_refused_when_the_block_is_made)
{
    const auto refusal = [](const source_config& c) -> std::string {
        try {
            source::make(c);
        } catch (const config_error& e) {
            return e.what();
        }
        return "";
    };
    source_config c = listening();
    {
        nic_and_gpu rig;
        c.route = "pcie";
        BOOST_TEST(
            holds(refusal(c), { "route='pcie'", "auto, dmabuf, peermem or staged" }));
        c.route = "staged";
        c.memory = "host";
        BOOST_TEST(holds(refusal(c), { "route='staged': memory='host'", "'cuda:0'" }));
        c.memory = "cuda:0";
        c.endpoint = "softroce";
        BOOST_TEST(refusal(c) == "");
        c.route = "dmabuf";
        BOOST_TEST(holds(refusal(c),
                         { "route='dmabuf': endpoint='softroce'", "'verbs'", "staged" }));
        // Where the endpoint is not known before it is opened.
        c.endpoint = "auto";
        c.listen = address(0) + ":18515";
        gpu_flowgraph g(rig.fake, c);
        BOOST_TEST(holds(started(g), { "config route='dmabuf'", "no NIC" }));
    }
    c.memory = "auto";
    c.endpoint = "verbs";
    fake_cuda none(std::vector<fake_cuda::device>{});
    mem::use_cuda_api(&none.api());
    BOOST_TEST(holds(refusal(c), { "route='dmabuf': there is no GPU" }));
    mem::use_cuda_api(nullptr);
}

BOOST_AUTO_TEST_CASE(a_ring_larger_than_bar1_is_told_in_numbers)
{
    fake_cuda::device small;
    small.bar1 = { 256 << 10, 192 << 10 };
    nic_and_gpu rig(small);
    source_config c = listening(65536);
    {
        gpu_flowgraph g(rig.fake, c);
        BOOST_TEST(started(g) == "");
        BOOST_TEST(holds(g.block->description(),
                         { "route staged (dmabuf: the ring takes 2097152 bytes",
                           "262144 bytes (256 KiB)",
                           "196608 bytes",
                           "largest ring that fits has 196608 bytes",
                           "3 buffers" }));
    }
    c.route = "peermem";
    gpu_flowgraph g(rig.fake, c);
    BOOST_TEST(holds(started(g), { "config route='peermem'", "BAR1", "3 buffers" }));
    BOOST_TEST(rig.world.calls()["ibv_reg_dmabuf_mr"] == 0u); // nothing was tried
}

BOOST_AUTO_TEST_CASE(what_arrived_is_flushed_before_anybody_is_told)
{
    nic_and_gpu rig(unordered(1));
    flushes = 0;
    strange_flushes = 0;
    rig.fake.api().flush_gpu_direct_rdma_writes =
        [](CUflushGPUDirectRDMAWritesTarget target,
           CUflushGPUDirectRDMAWritesScope scope) -> CUresult {
        // Boost.Test's checks are for the test's own thread.
        strange_flushes += target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
                           scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER;
        ++flushes;
        return CUDA_SUCCESS;
    };
    source_config c = listening();
    c.reconnect = "always";
    gpu_flowgraph g(rig.fake, c);
    std::atomic<int> too_early{ 0 };
    std::atomic<int> arrived{ 0 };
    g.on_device->arrives = [&](std::uint64_t at) {
        // One message at a time: number n is behind flush number n + 1.
        too_early += flushes < static_cast<int>(at / 8192) + 1;
        ++arrived;
    };
    BOOST_TEST(started(g) == "");
    BOOST_TEST(
        holds(g.block->description(), { "route dmabuf, flushed before each tag" }));
    for (unsigned i = 0; i < 5; ++i) {
        BOOST_TEST(g.listens_again(i));
        g.pass(random_messages(1, 8192));
    }
    g.stop();
    BOOST_TEST(too_early == 0);
    BOOST_TEST(arrived >= 5);
    BOOST_TEST(flushes >= 5);
    BOOST_TEST(strange_flushes == 0);
    BOOST_TEST(g.block->counters().at("gpu_flushes") ==
               static_cast<std::uint64_t>(flushes));
}

BOOST_AUTO_TEST_CASE(a_flush_that_fails_ends_the_stream)
{
    nic_and_gpu rig(unordered(1));
    rig.fake.api().flush_gpu_direct_rdma_writes = [](CUflushGPUDirectRDMAWritesTarget,
                                                     CUflushGPUDirectRDMAWritesScope) {
        return CUDA_ERROR_NOT_SUPPORTED;
    };
    gpu_flowgraph g(rig.fake, listening());
    BOOST_TEST(started(g) == "");
    {
        sender tx(calling());
        tx.send(random_messages(3, 8192));
        g.top->wait();
    }
    BOOST_TEST(g.block->state() == "failed");
    BOOST_TEST(holds(g.block->status_text(), { "cuda:0", "(801)" }));
    BOOST_TEST(g.on_host->bytes.empty());
}

BOOST_AUTO_TEST_CASE(without_a_flush_that_is_needed_nothing_is_direct)
{
    nic_and_gpu rig(unordered(2));
    gpu_flowgraph g(rig.fake, listening());
    BOOST_TEST(started(g) == "");
    BOOST_TEST(holds(g.block->description(), { "route staged (dmabuf: ", "no flush" }));
    g.pass(random_messages(10, 8192));
}

BOOST_AUTO_TEST_CASE(headers_stay_in_the_host_and_short_messages_end_in_zeros)
{
    for (const char* route : { "dmabuf", "peermem", "staged" })
        BOOST_TEST_CONTEXT(route)
        {
            nic_and_gpu rig;
            source_config c = listening(4096);
            c.route = route;
            c.header_bytes = 16;
            auto messages = random_messages(700, 4096 + 16);
            for (std::size_t i = 0; i < messages.size(); i += 3)
                messages[i].resize(16 + i);
            std::vector<std::byte> expected;
            for (auto m : messages) {
                m.resize(4096 + 16);
                expected.insert(expected.end(), m.begin() + 16, m.end());
            }
            gpu_flowgraph g(rig.fake, c);
            BOOST_TEST(started(g) == "");
            {
                sender tx(calling());
                tx.send(messages);
                BOOST_TEST(g.on_host->wait_bytes(expected.size()));
                BOOST_TEST(g.on_device->wait_items(expected.size()));
            }
            g.stop();
            BOOST_TEST((g.on_host->bytes == expected));
            BOOST_TEST((g.on_device->bytes == expected));
            const auto tags = g.on_host->tags_of("rx_buffer");
            BOOST_REQUIRE(tags.size() == messages.size());
            for (std::size_t i = 0; i < tags.size(); i += 50) {
                const auto header =
                    pmt::dict_ref(tags[i].value, pmt::mp("header"), pmt::PMT_NIL);
                const std::vector<std::uint8_t> got = pmt::u8vector_elements(header);
                BOOST_TEST(got.size() == 16u);
                BOOST_TEST((std::memcmp(got.data(), messages[i].data(), 16) == 0));
            }
        }
}

BOOST_AUTO_TEST_CASE(an_integrated_gpu_takes_pinned_host_memory_and_says_so)
{
    fake_cuda::device d;
    d.attributes[CU_DEVICE_ATTRIBUTE_INTEGRATED] = 1;
    d.attributes[CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED] = 0;
    nic_and_gpu rig(d);
    rig.set_peermem(EINVAL);
    source_config c = listening();
    {
        gpu_flowgraph g(rig.fake, c);
        BOOST_TEST(started(g) == "");
        BOOST_TEST(
            holds(g.block->description(), { "ring in cuda:0", "pinned host memory" }));
        const auto messages = random_messages(40, 8192);
        g.pass(messages);
        g.stop();
        BOOST_TEST((g.on_device->bytes == joined(messages)));
        BOOST_TEST(rig.fake.calls_of("cuMemcpyAsync") == 0);
    }
    for (const char* route : { "dmabuf", "peermem", "staged" }) {
        c.route = route;
        gpu_flowgraph g(rig.fake, c);
        BOOST_TEST(holds(started(g), { "config route=", route, "is integrated" }));
    }
}
