/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Memory that the CPU is said not to reach, registered with devices in memory: a file
// stands for a GPU's dma-buf, and a mapping of it shows what arrived.
#include "testing/endpoint_contract_messages.h"
#include "testing/verbs_bench.h"

#include <cerrno>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t page = 4096;

class exported_memory
{
public:
    explicit exported_memory(std::uint64_t bytes)
        : d_fd(::memfd_create("exported", MFD_CLOEXEC)), d_bytes(bytes)
    {
        BOOST_REQUIRE(::ftruncate(d_fd, static_cast<off_t>(bytes)) == 0);
        void* const at =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d_fd, 0);
        BOOST_REQUIRE(at != MAP_FAILED);
        data = static_cast<std::byte*>(at);
    }
    ~exported_memory()
    {
        ::munmap(data, d_bytes);
        ::close(d_fd);
    }
    mem::dma_buf dma_buf(std::uint64_t offset) const
    {
        return mem::dma_buf(::dup(d_fd), offset, d_bytes);
    }
    // As a GPU's ring shows itself.
    mem::region region(std::uint64_t offset, std::uint64_t bytes) const
    {
        mem::region r;
        r.kind = mem::memory_kind::cuda;
        r.device = 0;
        r.address = reinterpret_cast<std::uintptr_t>(data) + offset;
        r.bytes = bytes;
        return r;
    }
    std::byte* data = nullptr;

private:
    int d_fd;
    std::uint64_t d_bytes;
};

using pair = endpoint_pair<verbs_endpoints>;

io::endpoint_config with_header(std::uint32_t bytes = 16)
{
    io::endpoint_config c = contract_config(io::service_type::rc);
    c.header_bytes = bytes;
    return c;
}

// One message into [lead, lead + 8192) of what is registered; nothing else may change.
void receive_into(pair& p,
                  exported_memory& memory,
                  std::uint64_t lead,
                  std::unique_ptr<mem::registration> registered)
{
    const mem::region ring = memory.region(lead, 8192);
    bytes_t headers(64);
    p.b->ep->attach_registered(
        ring, contract_end::region_of(headers), std::move(registered));
    std::memset(memory.data, 0x5a, 4 * page);
    io::recv_slot slot;
    slot.offset = 4096;
    slot.bytes = 4096;
    slot.header_offset = 16;
    BOOST_TEST(p.b->ep->post_recv(&slot, 1) == 1u);
    p.start();
    const bytes_t sent = pattern(3, 16 + 4096);
    p.a->send(sent);
    const io::completion c = p.b->next();
    BOOST_TEST((c.status == io::wc_status::success));
    BOOST_TEST(c.header_bytes == 16u);
    BOOST_TEST((std::memcmp(headers.data() + 16, sent.data(), 16) == 0));
    const std::byte* const at = memory.data + lead + 4096;
    BOOST_TEST((std::memcmp(at, sent.data() + 16, 4096) == 0));
    for (const std::byte* b = memory.data; b != memory.data + 4 * page; ++b)
        if ((b < at || b >= at + 4096) && *b != std::byte{ 0x5a })
            BOOST_FAIL("a byte outside the slot changed");
    p.a->next_sent();
    p.a->ep->stop();
    p.b->ep->stop();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(messages_land_in_a_dma_buf_and_headers_in_the_host, fake_case)
{
    for (const std::uint64_t lead : { std::uint64_t(0), page, std::uint64_t(100) }) {
        exported_memory memory(4 * page);
        pair p(with_header(), 1000, 4);
        mem::registrar* const nic = p.b->ep->registrar();
        BOOST_REQUIRE(nic);
        auto made = nic->register_dma_buf(
            memory.dma_buf(lead), memory.region(lead, 8192).address, 8192);
        BOOST_TEST(made->lkey() != 0u);
        receive_into(p, memory, lead, std::move(made));
        BOOST_TEST(world.calls()["ibv_reg_dmabuf_mr"] >= 1u);
    }
}

BOOST_FIXTURE_TEST_CASE(messages_land_in_memory_that_was_given_by_address, fake_case)
{
    exported_memory memory(4 * page);
    pair p(with_header(), 1000, 4);
    receive_into(
        p,
        memory,
        0,
        p.b->ep->registrar()->register_address(memory.region(0, 8192).address, 8192));
    BOOST_TEST(world.calls()["ibv_reg_dmabuf_mr"] == 0u);
}

BOOST_FIXTURE_TEST_CASE(relaxed_ordering_is_asked_for_and_done_without, fake_case)
{
    for (const bool relaxed : { true, false }) {
        world.set_relaxed(relaxed);
        exported_memory memory(4 * page);
        for (const bool by_address : { true, false }) {
            contract_end b(static_end(io::service_type::uc), 1000, 4);
            const auto address = memory.region(0, 8192).address;
            mem::registrar& nic = *b.ep->registrar();
            const auto made =
                by_address ? nic.register_address(address, 8192)
                           : nic.register_dma_buf(memory.dma_buf(0), address, 8192);
            BOOST_TEST(dynamic_cast<io::verbs::registration&>(*made).relaxed == relaxed);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_refused_registration_says_errno_call_and_bytes, fake_case)
{
    exported_memory memory(4 * page);
    contract_end b(static_end(io::service_type::uc), 1000, 4);
    mem::registrar& nic = *b.ep->registrar();
    const auto address = memory.region(0, 8192).address;
    const auto by_dma_buf = [&](const mem::dma_buf& buffer, std::uint64_t bytes) {
        return thrown([&] { nic.register_dma_buf(buffer, address, bytes); });
    };
    const mem::dma_buf good = memory.dma_buf(0);
    for (const int code : { EOPNOTSUPP, EPROTONOSUPPORT, ENOMEM, EINVAL, EFAULT }) {
        world.fail("ibv_reg_dmabuf_mr", 1, code);
        world.fail("ibv_reg_dmabuf_mr", 2, code);
        BOOST_TEST(holds(by_dma_buf(good, 8192),
                         { (std::to_string(code) + " ").c_str(),
                           "ibv_reg_dmabuf_mr",
                           "8192",
                           "fake0" }));
        world.fail("ibv_reg_mr", 1, code);
        world.fail("ibv_reg_mr", 2, code);
        BOOST_TEST(holds(thrown([&] { nic.register_address(address, 8192); }),
                         { (std::to_string(code) + " ").c_str(),
                           "ibv_reg_mr",
                           "8192 bytes",
                           "fake0" }));
    }
    BOOST_TEST(holds(by_dma_buf(mem::dma_buf(-1, 0, 8192), 8192), { "9 " }));
    BOOST_TEST(holds(by_dma_buf(good, 5 * page), { "22 " }));
    BOOST_TEST(by_dma_buf(good, 8192) == "");
    world.set_dma_buf(false);
    BOOST_TEST(holds(by_dma_buf(good, 8192), { "95 " }));
}

BOOST_FIXTURE_TEST_CASE(a_registration_belongs_to_the_endpoint_that_made_it, fake_case)
{
    exported_memory memory(4 * page);
    const mem::region ring = memory.region(0, 8192);
    contract_end a(static_end(io::service_type::uc), 1000, 4);
    contract_end b(static_end(io::service_type::uc), 1000, 4);
    BOOST_TEST(
        holds(thrown([&] {
                  b.ep->attach_registered(
                      ring, {}, a.ep->registrar()->register_address(ring.address, 8192));
              }),
              { "config", "another endpoint" }));
    BOOST_TEST(holds(thrown([&] { b.ep->attach(ring, {}); }),
                     { "config", "8192 bytes that the CPU cannot reach" }));
    // Goes with the endpoint, and before its protection domain.
    b.ep->attach_registered(
        ring, {}, b.ep->registrar()->register_address(ring.address, 8192));
    BOOST_TEST(world.alive().at("mr") == 2);
    b.ep->stop();
    BOOST_TEST(world.alive().at("mr") == 1);
    BOOST_TEST(
        holds(thrown([&] { b.ep->registrar()->register_address(ring.address, 8192); }),
              { "config", "stopped" }));
}

// An integrated GPU's ring: the CPU's memory too, so it takes an ordinary registration.
BOOST_FIXTURE_TEST_CASE(memory_of_a_gpu_that_the_cpu_reaches_is_registered_plainly,
                        fake_case)
{
    exported_memory memory(4 * page);
    pair p(contract_config(io::service_type::rc), 1000, 4);
    mem::region ring = memory.region(0, 8192);
    ring.host = memory.data;
    world.set_device_memory([](const void*) { return false; }, EFAULT);
    p.b->ep->attach(ring, {});
    io::recv_slot slot;
    slot.bytes = 4096;
    BOOST_TEST(p.b->ep->post_recv(&slot, 1) == 1u);
    p.start();
    p.a->send(pattern(1, 4096));
    BOOST_TEST(p.b->next().bytes == 4096u);
    BOOST_TEST((std::memcmp(memory.data, pattern(1, 4096).data(), 4096) == 0));
    p.a->next_sent();
    p.b->ep->stop();
}

BOOST_FIXTURE_TEST_CASE(short_messages_must_not_go_through_the_completion_queue,
                        fake_case)
{
    exported_memory memory(4 * page);
    contract_end b(static_end(io::service_type::uc), 1000, 4);
    BOOST_TEST(std::string(std::getenv("MLX5_SCATTER_TO_CQE")) == "0");
    ::setenv("MLX5_SCATTER_TO_CQE", "1", 1);
    const auto address = memory.region(0, 8192).address;
    mem::registrar& nic = *b.ep->registrar();
    BOOST_TEST(holds(thrown([&] { nic.register_address(address, 8192); }),
                     { "config", "MLX5_SCATTER_TO_CQE=1", "unset" }));
    BOOST_TEST(
        holds(thrown([&] { nic.register_dma_buf(memory.dma_buf(0), address, 8192); }),
              { "config", "MLX5_SCATTER_TO_CQE=1" }));
    ::setenv("MLX5_SCATTER_TO_CQE", "0", 1);
    BOOST_TEST(thrown([&] { nic.register_address(address, 8192); }) == "");
}
