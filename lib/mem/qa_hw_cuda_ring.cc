/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// cuda_ring on the machine's GPU.
#include "testing/gpu_rings.h"
#include "testing/process_resources.h"
#include "testing/shared_gpu.h"
#include "testing/skip.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <string>
#include <unistd.h>

using namespace gr::rdma;
using namespace gr::rdma::mem;

namespace {

struct needs_gpu {
    needs_gpu()
    {
        if (!has_cuda())
            testing::skip("gpu", state_of_gpus().reason);
        const auto gpu = open_gpu("cuda:0");
        const gpu_info& i = gpu->info();
        const bar1_memory bar1 = gpu->bar1();
        std::printf(
            "%s %s: compute capability %d, %llu bytes, BAR1 %llu bytes, %llu free; "
            "vmm %d, rdma %d, rdma with vmm %d, dma-buf %d, integrated %d, "
            "ordering %d, flush %u; driver %d, build %d\n",
            i.describe().c_str(),
            i.uuid.c_str(),
            i.compute_capability,
            static_cast<unsigned long long>(i.memory_bytes),
            static_cast<unsigned long long>(bar1.total_bytes),
            static_cast<unsigned long long>(bar1.free_bytes),
            i.vmm,
            i.rdma,
            i.rdma_vmm,
            i.dma_buf,
            i.integrated,
            i.writes_ordering,
            i.flush_options,
            state_of_gpus().driver,
            state_of_gpus().build);
    }
};

struct cuda_rings : testing::gpu_rings {
    std::vector<long> held()
    {
        return { testing::gpu_is_shared() ? 0 : static_cast<long>(gpu->free_bytes()),
                 testing::count_descriptors() };
    }
};

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

RDMA_RING_CONTRACT(cuda_rings)

BOOST_AUTO_TEST_CASE(all_names_of_the_gpu_open_it)
{
    const auto gpu = open_gpu("cuda:0");
    BOOST_TEST(open_gpu("cuda:" + gpu->info().uuid) == gpu);
    BOOST_TEST(open_gpu("cuda:" + gpu->info().pci) == gpu);
    BOOST_TEST(choose_gpu("auto") == gpu);
}

BOOST_AUTO_TEST_CASE(the_ring_is_exported_as_dma_buf)
{
    cuda_rings rings;
    const auto ring = std::dynamic_pointer_cast<gpu_ring>(rings.make(4 << 20, 4096));
    BOOST_REQUIRE(ring);
    const gpu_info& info = rings.gpu->info();
    BOOST_TEST(ring->rdma_capable() == info.rdma_vmm);
    if (!info.dma_buf) {
        BOOST_CHECK_THROW(ring->export_dma_buf(0, 4096), config_error);
        return;
    }
    const std::uint64_t bytes = ring->first_mapping().bytes;
    const long descriptors = testing::count_descriptors();
    {
        const dma_buf whole = ring->export_dma_buf(0, bytes);
        BOOST_TEST(whole.offset() == 0u);
        BOOST_TEST(::lseek(whole.fd(), 0, SEEK_END) == static_cast<off_t>(bytes));
        const dma_buf odd = ring->export_dma_buf(4096 + 100, 10);
        BOOST_TEST(odd.offset() == 100u);
        // Over the end, by the second mapping.
        BOOST_TEST(ring->export_dma_buf(bytes - 4096, 8192).bytes() == 8192u);
    }
    BOOST_TEST(testing::count_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE(a_ring_longer_than_the_memory_is_refused)
{
    cuda_rings rings;
    const std::uint64_t bytes = rings.gpu->info().memory_bytes;
    BOOST_CHECK_EXCEPTION(
        rings.make(bytes + (1 << 30), 4096), out_of_memory, [](const auto& e) {
            return std::string(e.what()).find("largest that fits") != std::string::npos;
        });
}

BOOST_AUTO_TEST_CASE(flushing_works_where_the_device_says_so)
{
    const auto gpu = open_gpu("cuda:0");
    if (gpu->info().flush_options & 1)
        BOOST_TEST(gpu->flush_rdma_writes() == 0);
}
