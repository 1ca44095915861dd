/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/registration_plan.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace gr::rdma;
using namespace gr::rdma::mem;

namespace {

constexpr std::uint64_t mib = 1 << 20;

bool has(const std::string& text, const std::string& part)
{
    const bool found = text.find(part) != std::string::npos;
    if (!found)
        BOOST_TEST_MESSAGE("'" + part + "' is not in: " + text);
    return found;
}

route_facts everything()
{
    route_facts f;
    f.gpu.ordinal = 0;
    f.gpu.name = "Imitation 9000";
    f.gpu.pci = "0000:17:00.0";
    f.gpu.vmm = f.gpu.rdma = f.gpu.rdma_vmm = f.gpu.dma_buf = true;
    f.gpu.writes_ordering = 200;
    f.bar1 = { 256 * mib, 243 * mib };
    f.ring_bytes = 64 * mib;
    f.slot_bytes = mib;
    f.staging_bytes = 4 * mib;
    f.peermem = peermem_state::loaded;
    return f;
}

// Memory of nobody, exported as a file whose length may be wrong.
class imitated_ring : public gpu_ring
{
public:
    region first_mapping() const noexcept override
    {
        region r;
        r.kind = memory_kind::cuda;
        r.device = 0;
        r.address = 0x700000000000 + lead;
        r.bytes = 64 * mib;
        return r;
    }
    std::uint64_t granularity() const noexcept override { return mib; }
    void zero(std::uint64_t, std::uint64_t) override {}
    bool rdma_capable() const noexcept override { return true; }
    dma_buf export_dma_buf(std::uint64_t offset, std::uint64_t bytes) const override
    {
        if (refuses)
            throw cuda_error(801, "cuMemGetHandleForAddressRange failed");
        return dma_buf(
            ::memfd_create("a", 0), offset + lead, exported ? exported : bytes);
    }
    std::uint64_t lead = 0;
    std::uint64_t exported = 0;
    bool refuses = false;
};

struct counted_registration : registration {
    explicit counted_registration(int& alive) : d_alive(alive) { ++d_alive; }
    ~counted_registration() override { --d_alive; }
    std::uint32_t lkey() const noexcept override { return 7; }
    std::uint32_t rkey() const noexcept override { return 8; }
    int& d_alive;
};

struct imitated_nic : registrar {
    std::unique_ptr<registration> register_dma_buf(const dma_buf& buffer,
                                                   std::uint64_t address,
                                                   std::uint64_t bytes) override
    {
        calls += "d";
        at = address;
        length = bytes;
        offset = buffer.offset();
        if (dma_buf_errno != 0)
            throw os_error(dma_buf_errno, "ibv_reg_dmabuf_mr");
        return std::make_unique<counted_registration>(alive);
    }
    std::unique_ptr<registration> register_address(std::uint64_t address,
                                                   std::uint64_t bytes) override
    {
        calls += "p";
        at = address;
        length = bytes;
        if (peermem_errno != 0)
            throw os_error(peermem_errno, "ibv_reg_mr");
        return std::make_unique<counted_registration>(alive);
    }
    int dma_buf_errno = 0;
    int peermem_errno = 0;
    std::string calls;
    std::uint64_t at = 0, length = 0, offset = 0;
    int alive = 0;
};

template <typename Error>
std::string
refusal(const route_facts& facts, std::optional<route> forced, imitated_nic& nic)
{
    try {
        register_ring(imitated_ring(), facts, forced, &nic);
    } catch (const Error& e) {
        return e.what();
    }
    return "not refused";
}

} // namespace

BOOST_AUTO_TEST_CASE(routes_have_names)
{
    BOOST_TEST(!parse_route("auto"));
    BOOST_TEST((*parse_route("dmabuf") == route::dmabuf));
    BOOST_TEST((*parse_route("peermem") == route::peermem));
    BOOST_TEST((*parse_route("staged") == route::staged));
    for (const char* text : { "", "host", "DMABUF", "dma-buf" })
        BOOST_CHECK_EXCEPTION(parse_route(text), config_error, [&](const auto& e) {
            return has(e.what(), std::string("route='") + text + "'") &&
                   has(e.what(), "auto, dmabuf, peermem or staged");
        });
}

BOOST_AUTO_TEST_CASE(all_are_tried_in_order_until_one_works)
{
    imitated_nic nic;
    {
        const registered_ring r =
            register_ring(imitated_ring(), everything(), std::nullopt, &nic);
        BOOST_TEST((r.used == route::dmabuf));
        BOOST_TEST(r.text() == "dmabuf");
        BOOST_TEST(nic.calls == "d");
        BOOST_TEST(nic.alive == 1);
        BOOST_TEST(nic.length == 64 * mib);
    }
    BOOST_TEST(nic.alive == 0);
    nic.dma_buf_errno = EOPNOTSUPP;
    {
        const registered_ring r =
            register_ring(imitated_ring(), everything(), std::nullopt, &nic);
        BOOST_TEST((r.used == route::peermem));
        BOOST_TEST(nic.calls == "ddp");
        BOOST_TEST(has(r.text(), "peermem (dmabuf: "));
        BOOST_TEST(has(r.text(), std::strerror(EOPNOTSUPP)));
        BOOST_TEST(has(r.text(), "cannot register dma-bufs"));
    }
    nic.peermem_errno = EFAULT;
    route_facts facts = everything();
    facts.peermem = peermem_state::absent;
    const registered_ring r = register_ring(imitated_ring(), facts, std::nullopt, &nic);
    BOOST_TEST((r.used == route::staged));
    BOOST_TEST(!r.memory);
    BOOST_TEST(r.refused.size() == 2u);
    BOOST_TEST(has(r.text(), "staged (dmabuf: "));
    BOOST_TEST(has(r.text(), "peermem: "));
    BOOST_TEST(has(r.text(), "modprobe nvidia-peermem"));
    BOOST_TEST(nic.alive == 0);
}

BOOST_AUTO_TEST_CASE(a_forced_route_is_the_only_one_tried)
{
    imitated_nic nic;
    register_ring(imitated_ring(), everything(), route::peermem, &nic);
    BOOST_TEST(nic.calls == "p");
    register_ring(imitated_ring(), everything(), route::staged, &nic);
    BOOST_TEST(nic.calls == "p");
    nic.peermem_errno = EFAULT;
    const std::string why = refusal<os_error>(everything(), route::peermem, nic);
    BOOST_TEST(has(why, "route='peermem'"));
    BOOST_TEST(has(why, "67108864 bytes (64 MiB)"));
    BOOST_TEST(has(why, "cuda:0 (Imitation 9000, 0000:17:00.0)"));
    BOOST_TEST(has(why, std::strerror(EFAULT)));
    BOOST_TEST(has(why, "did not take this memory"));
    BOOST_TEST(nic.calls == "pp");
}

BOOST_AUTO_TEST_CASE(what_the_device_does_not_offer_is_not_tried)
{
    imitated_nic nic;
    route_facts f = everything();
    f.gpu.dma_buf = false;
    BOOST_TEST(has(refusal<config_error>(f, route::dmabuf, nic), "open kernel modules"));
    f = everything();
    f.gpu.rdma = false;
    BOOST_TEST(
        has(refusal<config_error>(f, route::peermem, nic), "does not offer GPUDirect"));
    f = everything();
    f.rdma_capable = false;
    BOOST_TEST(has(refusal<config_error>(f, route::dmabuf, nic), "not capable"));
    f = everything();
    f.ring_in_gpu = false;
    BOOST_TEST(has(refusal<config_error>(f, route::dmabuf, nic), "integrated"));
    BOOST_TEST(nic.calls == "");
    f = everything();
    f.registers_memory = false;
    const registered_ring r = register_ring(imitated_ring(), f, std::nullopt, nullptr);
    BOOST_TEST((r.used == route::staged));
    BOOST_TEST(has(r.text(), "no NIC"));
}

BOOST_AUTO_TEST_CASE(bar1_is_counted_in_its_pages_before_registering)
{
    imitated_nic nic;
    route_facts f = everything();
    f.ring_bytes = 243 * mib;
    BOOST_TEST(plan_registration(f).to_try.size() == 3u);
    f.bar1.free_bytes = 243 * mib - 1;
    const std::string why = refusal<config_error>(f, route::dmabuf, nic);
    BOOST_TEST(has(why, "254803968 bytes (243 MiB)"));
    BOOST_TEST(has(why, "268435456 bytes (256 MiB)"));
    BOOST_TEST(has(why, "254803967 bytes"));
    BOOST_TEST(
        has(why, "largest ring that fits has 253755392 bytes (242 MiB), 242 buffers"));
    BOOST_TEST(nic.calls == "");
    BOOST_TEST((plan_registration(f).to_try == std::vector<route>{ route::staged }));
    // A page more than the bytes themselves.
    f.ring_bytes = 65537;
    f.slot_bytes = 65537;
    f.bar1.free_bytes = 2 * 65536 - 1;
    BOOST_TEST(plan_registration(f, route::peermem).to_try.empty());
    f.bar1.free_bytes = 2 * 65536;
    BOOST_TEST(plan_registration(f, route::peermem).to_try.size() == 1u);
    // The free part is not known everywhere, and sometimes nothing is.
    f = everything();
    f.bar1 = { 32 * mib, 0 };
    BOOST_TEST(plan_registration(f, route::dmabuf).to_try.empty());
    f.bar1 = { 0, 0 };
    BOOST_TEST(plan_registration(f, route::dmabuf).to_try.size() == 1u);
}

BOOST_AUTO_TEST_CASE(staging_memory_counts_against_the_limit_of_locked_memory)
{
    imitated_nic nic;
    route_facts f = everything();
    f.memlock_bytes = 4 * mib - 1;
    const std::string why = refusal<config_error>(f, route::staged, nic);
    BOOST_TEST(has(why, "ulimit -l allows 4194303 bytes"));
    BOOST_TEST(has(why, "4194304 bytes (4 MiB)"));
    BOOST_TEST(plan_registration(f).to_try.size() == 2u);
    nic.dma_buf_errno = ENOMEM;
    nic.peermem_errno = EFAULT;
    const std::string all = refusal<config_error>(f, std::nullopt, nic);
    BOOST_TEST(has(all, "route='auto'"));
    BOOST_TEST(has(all, "dmabuf: "));
    BOOST_TEST(has(all, "BAR1"));
    BOOST_TEST(has(all, "peermem: "));
    BOOST_TEST(has(all, "staged: "));
    f.memlock_bytes = 4 * mib;
    BOOST_TEST(plan_registration(f).to_try.size() == 3u);
    // The kernel may count what it pins for nvidia-peermem, and then says no more.
    nic.peermem_errno = ENOMEM;
    BOOST_TEST(
        has(refusal<os_error>(f, route::peermem, nic), "ulimit -l allows 4194304 bytes"));
    f.memlock_bytes = UINT64_MAX;
    BOOST_TEST(!has(refusal<os_error>(f, route::peermem, nic), "ulimit"));
}

BOOST_AUTO_TEST_CASE(an_export_that_is_refused_or_too_short_is_a_reason)
{
    imitated_nic nic;
    imitated_ring ring;
    ring.refuses = true;
    registered_ring r = register_ring(ring, everything(), std::nullopt, &nic);
    BOOST_TEST((r.used == route::peermem));
    BOOST_TEST(has(r.text(), "cuMemGetHandleForAddressRange"));
    ring.refuses = false;
    ring.exported = 20 * mib;
    r = register_ring(ring, everything(), std::nullopt, &nic);
    BOOST_TEST(has(r.text(), "20 MiB"));
    BOOST_TEST(has(r.text(), "64 MiB"));
    BOOST_CHECK_THROW(register_ring(ring, everything(), route::dmabuf, &nic),
                      config_error);
    BOOST_TEST(nic.calls == "pp");
    // A ring that does not begin on a page of the host.
    ring.lead = 100;
    ring.exported = 64 * mib + 4096;
    r = register_ring(ring, everything(), std::nullopt, &nic);
    BOOST_TEST((r.used == route::dmabuf));
    BOOST_TEST(nic.offset == 100u);
    BOOST_TEST(nic.at == ring.first_mapping().address);
}

BOOST_AUTO_TEST_CASE(what_a_nic_writes_is_flushed_where_the_device_asks_for_it)
{
    gpu_info gpu = everything().gpu;
    for (const route r : { route::dmabuf, route::peermem }) {
        gpu.writes_ordering = 200;
        gpu.flush_options = 0;
        BOOST_TEST((plan_flush(gpu, r) == flush_method::none));
        gpu.writes_ordering = 100;
        BOOST_TEST((plan_flush(gpu, r) == flush_method::none));
        gpu.writes_ordering = 0;
        BOOST_TEST((plan_flush(gpu, r) == flush_method::missing));
        gpu.flush_options = 2;
        BOOST_TEST((plan_flush(gpu, r) == flush_method::missing));
        gpu.flush_options = 3;
        BOOST_TEST((plan_flush(gpu, r) == flush_method::host_call));
    }
    gpu.flush_options = 0;
    BOOST_TEST((plan_flush(gpu, route::staged) == flush_method::none));
    route_facts f = everything();
    f.gpu = gpu;
    BOOST_TEST((plan_registration(f).to_try == std::vector<route>{ route::staged }));
    BOOST_TEST(has(plan_registration(f).refused[0].reason, "no flush"));
}

BOOST_AUTO_TEST_CASE(peermem_is_found_where_the_kernel_shows_it)
{
    const auto root = std::filesystem::temp_directory_path() /
                      ("qa_registration_plan." + std::to_string(::getpid()));
    const std::string files[] = { "/sys/kernel/mm/memory_peers/nv_mem/version",
                                  "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
                                  "/sys/module/nvidia_peermem/version" };
    for (const std::string& file : files) {
        BOOST_TEST((find_peermem(root.string()) == peermem_state::absent));
        const std::filesystem::path path = root.string() + file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << "580.1\n";
        BOOST_TEST((find_peermem(root.string()) == peermem_state::loaded));
        std::filesystem::remove_all(root);
    }
}

BOOST_AUTO_TEST_CASE(the_process_may_lock_something)
{
    BOOST_TEST(lockable_bytes() > 0u);
}
