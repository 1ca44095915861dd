/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// rdma.source on a real RDMA stack and an imitated GPU, whose memory is exported as a
// dma-buf of the kernel's. RDMA_TEST_DEVICE_ADDRESSES as for qa_hw_verbs.
#include "qa_source_routes.h"
#include "testing/kernel_dma_buf.h"
#include "testing/needs_device.h"

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

BOOST_TEST_GLOBAL_FIXTURE(needs_device);

struct gpu_with_real_exports {
    gpu_with_real_exports()
    {
        fake.api().mem_get_handle_for_address_range = [](void* handle,
                                                         CUdeviceptr,
                                                         std::size_t bytes,
                                                         CUmemRangeHandleType,
                                                         unsigned long long) {
            const kernel_dma_buf buffer(bytes);
            *static_cast<int*>(handle) = ::dup(buffer.fd());
            return CUDA_SUCCESS;
        };
        mem::use_cuda_api(&fake.api());
    }
    ~gpu_with_real_exports() { mem::use_cuda_api(nullptr); }
    fake_cuda fake;
};

void passes(fake_cuda& fake, const char* route, std::initializer_list<const char*> words)
{
    source_config c = listening();
    c.route = route;
    gpu_flowgraph g(fake, c);
    BOOST_REQUIRE(started(g) == "");
    BOOST_TEST_MESSAGE(g.block->description());
    BOOST_TEST(holds(g.block->description(), words));
    const auto messages = random_messages(300, 8192); // over the end of the ring
    g.pass(messages);
    g.stop();
    BOOST_TEST((g.on_device->bytes == joined(messages)));
}

} // namespace

// The imitated GPU's memory is the host's, so the kernel takes it by address, as with
// nvidia-peermem: the device writes into the ring itself.
BOOST_FIXTURE_TEST_CASE(messages_reach_the_gpu_by_what_the_device_takes,
                        gpu_with_real_exports)
{
    passes(fake,
           "auto",
           { "verbs rc",
             "rxe0",
             "route peermem (dmabuf: ibv_reg_dmabuf_mr of 2097152",
             "Operation not supported",
             "cannot register dma-bufs" });
    passes(fake, "staged", { "route staged" });
}

BOOST_FIXTURE_TEST_CASE(a_dma_buf_that_is_forced_is_refused_by_name,
                        gpu_with_real_exports)
{
    source_config c = listening();
    c.route = "dmabuf";
    gpu_flowgraph g(fake, c);
    BOOST_TEST(holds(started(g), { "os 95 ", "route='dmabuf': 2097152 bytes", "rxe0" }));
}
