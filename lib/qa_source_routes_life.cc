/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Registrations of a GPU's ring come and go with the endpoints; the memory stays.
#include "qa_source_routes.h"
#include "testing/process_resources.h"

using namespace gr::rdma;
using namespace gr::rdma::testing;

BOOST_AUTO_TEST_CASE(each_start_registers_the_same_memory_again)
{
    for (const char* route : { "dmabuf", "peermem", "staged" })
        BOOST_TEST_CONTEXT(route)
        {
            nic_and_gpu rig;
            source_config c = listening();
            c.route = route;
            gpu_flowgraph g(rig.fake, c);
            std::uintptr_t address = 0;
            long descriptors = 0;
            for (int round = 0; round < 4; ++round) {
                BOOST_TEST(started(g) == "");
                BOOST_TEST(holds(g.block->description(), { route }));
                g.pass(random_messages(20, 8192));
                g.stop();
                BOOST_TEST(rig.world.alive().count("mr") == 0u);
                if (round == 0) {
                    address = g.on_device->lowest;
                    descriptors = count_descriptors();
                }
                BOOST_TEST(count_descriptors() == descriptors);
                BOOST_TEST(g.on_device->lowest == address);
                BOOST_TEST(rig.world.calls()["ibv_reg_dmabuf_mr"] ==
                           (c.route == "dmabuf" ? static_cast<unsigned>(round) + 1 : 0u));
            }
        }
}

BOOST_AUTO_TEST_CASE(each_connection_registers_the_same_memory_again)
{
    nic_and_gpu rig;
    source_config c = listening();
    c.reconnect = "always";
    gpu_flowgraph g(rig.fake, c);
    BOOST_TEST(started(g) == "");
    // The next one finds no dma-bufs any more, and the one after that no way at all.
    rig.world.set_dma_buf(false);
    g.pass(random_messages(20, 8192));
    BOOST_TEST(g.listens_again(1));
    BOOST_TEST(holds(g.block->description(), { "route peermem (dmabuf: " }));
    rig.set_peermem(EFAULT);
    g.pass(random_messages(20, 8192));
    std::string said;
    BOOST_TEST(becomes_true([&] {
        said = g.block->status_text();
        return said.find("wrote into the memory of cuda:0") != std::string::npos;
    }));
    BOOST_TEST(holds(said, { "dmabuf: ", "peermem: ", "listening again in" }));
    BOOST_TEST(g.block->state() == "connecting");
    rig.world.set_dma_buf(true);
    BOOST_TEST(g.listens_again(3));
    BOOST_TEST(holds(g.block->description(), { "route dmabuf" }));
    g.pass(random_messages(20, 8192));
    g.stop();
    BOOST_TEST(!g.on_device->changed);
    BOOST_TEST((g.on_device->bytes == g.on_host->bytes));
}

BOOST_AUTO_TEST_CASE(a_staged_ring_stays_staged)
{
    nic_and_gpu rig;
    rig.world.set_dma_buf(false);
    rig.set_peermem(EFAULT);
    source_config c = listening();
    c.reconnect = "always";
    gpu_flowgraph g(rig.fake, c);
    BOOST_TEST(started(g) == "");
    rig.world.set_dma_buf(true);
    g.pass(random_messages(20, 8192));
    BOOST_TEST(g.listens_again(1));
    g.pass(random_messages(20, 8192));
    BOOST_TEST(holds(g.block->description(), { "route staged" }));
    g.stop();
    BOOST_TEST((g.on_device->bytes == g.on_host->bytes));
}

BOOST_AUTO_TEST_CASE(the_registration_goes_after_the_queue_pair_and_before_the_memory)
{
    nic_and_gpu rig; // a registration of memory that has gone is a problem of its own
    {
        gpu_flowgraph g(rig.fake, listening());
        BOOST_TEST(started(g) == "");
        g.pass(random_messages(20, 8192));
    }
    const std::vector<std::string> log = rig.world.log();
    const auto last = [&](const char* call) {
        return std::find(log.rbegin(), log.rend(), call) - log.rbegin();
    };
    BOOST_TEST(last("ibv_dereg_mr") < last("ibv_destroy_qp"));
    BOOST_TEST(last("ibv_dealloc_pd") < last("ibv_dereg_mr"));
}

// Whatever fails while a ring is made, registered and attached: nothing stays behind, and
// the flowgraph starts, or says why not and starts the next time.
BOOST_AUTO_TEST_CASE(every_call_of_a_start_may_fail_once)
{
    std::map<std::string, unsigned> calls;
    int driver_calls = 0;
    {
        nic_and_gpu rig;
        gpu_flowgraph g(rig.fake, listening());
        rig.fake.fail(-1, CUDA_SUCCESS);
        BOOST_TEST(started(g) == "");
        driver_calls = rig.fake.calls();
        g.stop();
        calls = rig.world.calls();
    }
    for (const auto& call : calls)
        for (unsigned nth = 1; nth <= call.second; ++nth)
            BOOST_TEST_CONTEXT(call.first << " number " << nth)
            {
                nic_and_gpu rig;
                gpu_flowgraph g(rig.fake, listening());
                rig.world.fail(call.first, nth, ENOMEM);
                if (started(g) != "") {
                    BOOST_TEST(started(g) == "");
                }
                g.stop();
            }
    BOOST_TEST(driver_calls > 10);
    for (int nth = 0; nth < driver_calls; ++nth)
        BOOST_TEST_CONTEXT("call of the driver number " << nth)
        {
            nic_and_gpu rig;
            gpu_flowgraph g(rig.fake, listening());
            rig.fake.fail(nth, CUDA_ERROR_OUT_OF_MEMORY);
            const bool refused = started(g) != "";
            rig.fake.fail(-1, CUDA_SUCCESS);
            if (refused) {
                BOOST_TEST(started(g) == "");
            }
            g.stop();
        }
}
