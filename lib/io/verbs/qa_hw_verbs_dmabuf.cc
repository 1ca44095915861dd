/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What a software RDMA device says of memory that is not the host's: a dma-buf of the
// kernel's stands for a GPU's. RDMA_TEST_DEVICE_ADDRESSES as for qa_hw_verbs.
#include "mem/registration_plan.h"
#include "testing/kernel_dma_buf.h"
#include "testing/needs_device.h"
#include "testing/verbs_bench.h"

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t ring_bytes = 1 << 20;

BOOST_TEST_GLOBAL_FIXTURE(needs_device);

// A GPU with everything: what is refused, the device or the kernel has refused.
mem::route_facts everything()
{
    mem::route_facts f;
    f.gpu.ordinal = 0;
    f.gpu.name = "a dma-buf of the kernel's";
    f.gpu.pci = "none";
    f.gpu.vmm = f.gpu.rdma = f.gpu.rdma_vmm = f.gpu.dma_buf = true;
    f.gpu.writes_ordering = 200;
    f.ring_bytes = f.staging_bytes = ring_bytes;
    f.slot_bytes = 4096;
    f.peermem = mem::find_peermem();
    return f;
}

struct on_device {
    on_device()
    {
        io::endpoint_config c;
        c.endpoint = "verbs";
        c.service = io::service_type::uc;
        c.qpn = 1;
        c.source = verbs_addresses().first;
        c.connect = verbs_addresses().second;
        endpoint = io::make_endpoint(c);
        endpoint->open();
        BOOST_TEST_MESSAGE("the dma-buf is made by " << ring.maker());
    }
    kernel_dma_buf_ring ring{ ring_bytes };
    std::unique_ptr<io::endpoint> endpoint;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(the_plan_falls_through_for_the_reasons_that_there_are, on_device)
{
    const mem::registered_ring r =
        mem::register_ring(ring, everything(), std::nullopt, endpoint->registrar());
    BOOST_TEST_MESSAGE(r.text());
    BOOST_TEST((r.used == mem::route::staged));
    BOOST_TEST(holds(r.text(),
                     { "staged (dmabuf: ibv_reg_dmabuf_mr of 1048576 bytes (1 MiB)",
                       "rxe0: Operation not supported: the NIC's driver or this kernel "
                       "cannot register dma-bufs; peermem: ibv_reg_mr of 1048576 bytes",
                       "rxe0: Bad address: the module nvidia-peermem is not loaded: "
                       "modprobe nvidia-peermem" }));
}

BOOST_FIXTURE_TEST_CASE(a_forced_route_fails_with_the_errno_of_the_device, on_device)
{
    const auto refusal = [&](mem::route r) {
        return thrown(
            [&] { mem::register_ring(ring, everything(), r, endpoint->registrar()); });
    };
    BOOST_TEST(holds(refusal(mem::route::dmabuf),
                     { "95 ", "route='dmabuf': 1048576 bytes (1 MiB)", "rxe0" }));
    BOOST_TEST(holds(refusal(mem::route::peermem),
                     { "14 ", "route='peermem': 1048576 bytes (1 MiB)", "rxe0" }));
    BOOST_TEST(refusal(mem::route::staged) == "");
}
