/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/host_ring.h"
#include "testing/process_resources.h"
#include "testing/ring_contract.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <sys/mman.h>

using namespace gr::rdma;
using namespace gr::rdma::mem;

namespace {

const char* const ring_mapping = "gr-rdma ring";

struct host_rings : testing::ring_shapes {
    std::shared_ptr<ring_memory> make(std::uint64_t min_bytes, std::uint64_t unit_bytes)
    {
        host_ring_config config;
        config.min_bytes = min_bytes;
        config.unit_bytes = unit_bytes;
        config.prefault = prefault;
        return std::make_shared<host_ring>(config);
    }
    void
    write(ring_memory& ring, std::uint64_t offset, const void* from, std::size_t bytes)
    {
        std::memcpy(ring.first_mapping().host + offset, from, bytes);
    }
    void read(ring_memory& ring, std::uint64_t offset, void* to, std::size_t bytes)
    {
        if (bytes != 0) // an empty vector's data() may be null
            std::memcpy(to, ring.first_mapping().host + offset, bytes);
    }
    std::vector<long> held()
    {
        return { testing::count_mappings(ring_mapping), testing::count_descriptors() };
    }
    bool prefault = false;
};

struct prefaulted_host_rings : host_rings {
    prefaulted_host_rings() { prefault = true; }
};

// The system's calls, of which the one with this number fails. Counts what is held.
struct failing_api {
    static inline int calls = 0;
    static inline int fail_at = -1;
    static inline int code = 0;
    static inline int open = 0;
    static inline long mapped = 0;

    static bool fails()
    {
        if (calls++ != fail_at)
            return false;
        errno = code;
        return true;
    }
    static mapping_api table(int fail_at_call, int with_code)
    {
        calls = 0;
        fail_at = fail_at_call;
        code = with_code;
        open = 0;
        mapped = 0;
        mapping_api api = system_mapping_api();
        api.memfd_create = [](const char* name, unsigned flags) {
            if (fails())
                return -1;
            ++open;
            return system_mapping_api().memfd_create(name, flags);
        };
        api.ftruncate = [](int fd, off_t bytes) {
            return fails() ? -1 : system_mapping_api().ftruncate(fd, bytes);
        };
        api.fallocate = [](int fd, int mode, off_t at, off_t bytes) {
            return fails() ? -1 : system_mapping_api().fallocate(fd, mode, at, bytes);
        };
        api.mmap = [](void* at, std::size_t bytes, int prot, int flags, int fd, off_t o) {
            if (fails())
                return MAP_FAILED;
            if ((flags & MAP_FIXED) == 0)
                mapped += static_cast<long>(bytes);
            return system_mapping_api().mmap(at, bytes, prot, flags, fd, o);
        };
        api.munmap = [](void* at, std::size_t bytes) {
            mapped -= static_cast<long>(bytes);
            return system_mapping_api().munmap(at, bytes);
        };
        api.close = [](int fd) {
            --open;
            return system_mapping_api().close(fd);
        };
        return api;
    }
};

host_ring_config config_of(std::uint64_t min_bytes, std::uint64_t unit_bytes)
{
    host_ring_config config;
    config.min_bytes = min_bytes;
    config.unit_bytes = unit_bytes;
    return config;
}

std::string refusal(const host_ring_config& config, std::uint64_t page_bytes)
{
    try {
        host_ring_bytes(config, page_bytes);
    } catch (const config_error& e) {
        return e.what();
    }
    return "";
}

} // namespace

RDMA_RING_CONTRACT(host_rings)
RDMA_RING_CONTRACT(prefaulted_host_rings)

BOOST_AUTO_TEST_CASE(memory_is_zero_and_no_descriptor_stays)
{
    const long descriptors = testing::count_descriptors();
    host_ring ring(config_of(1 << 20, 1));
    BOOST_TEST(testing::count_descriptors() == descriptors);
    const region r = ring.first_mapping();
    BOOST_TEST(std::count(r.host, r.host + 2 * r.bytes, std::byte(0)) ==
               static_cast<long>(2 * r.bytes));
}

BOOST_AUTO_TEST_CASE(length_follows_the_page_of_the_machine)
{
    // Arm kernels have 64 KiB pages.
    for (const std::uint64_t page : { 4096, 16384, 65536, 2 << 20 })
        for (const std::uint64_t unit : { 1, 20, 4096, 8192, 65536 }) {
            const std::uint64_t bytes = host_ring_bytes(config_of(100000, unit), page);
            BOOST_TEST(bytes >= 100000u);
            BOOST_TEST(bytes % page == 0u);
            BOOST_TEST(bytes % unit == 0u);
            BOOST_TEST(bytes < 100000u + std::lcm(page, unit));
        }
}

BOOST_AUTO_TEST_CASE(refusal_names_a_size_that_works)
{
    for (const std::uint64_t page : { 4096, 65536 })
        for (const std::uint64_t unit : { 1000003, 99999999, 65537 * 31 }) {
            const std::string what = refusal(config_of(2 * unit, unit), page);
            BOOST_TEST(what.find(std::to_string(unit)) != std::string::npos);
            const std::string before = "the nearest size that works is ";
            const std::size_t at = what.find(before);
            BOOST_REQUIRE(at != std::string::npos);
            const std::uint64_t nearest = std::stoull(what.substr(at + before.size()));
            const std::uint64_t off = nearest > unit ? nearest - unit : unit - nearest;
            BOOST_TEST(off < page);
            BOOST_TEST(refusal(config_of(2 * unit, nearest), page) == "");
        }
}

BOOST_AUTO_TEST_CASE(rounding_is_bounded)
{
    for (std::uint64_t unit = 1; unit < 300000; unit += 997) {
        const host_ring_config config = config_of(16 * unit, unit);
        if (refusal(config, 4096) == "") {
            const std::uint64_t most = std::max<std::uint64_t>(32 * unit, 256 << 20);
            BOOST_TEST(host_ring_bytes(config, 4096) <= most);
        }
    }
    // A slot of 1 GiB is no rounding.
    BOOST_TEST(host_ring_bytes(config_of(2ULL << 30, 1ULL << 30), 4096) == 2ULL << 30);
}

BOOST_AUTO_TEST_CASE(every_failing_call_releases_what_was_taken)
{
    host_ring_config config = config_of(65536, 4);
    config.prefault = true;
    // memfd_create, ftruncate, fallocate, mmap of the reservation, mmap twice.
    for (int call = 0; call < 6; ++call) {
        const mapping_api nospace = failing_api::table(call, ENOMEM);
        BOOST_CHECK_EXCEPTION(
            host_ring(config, nospace), out_of_memory, [](const out_of_memory& e) {
                return std::string(e.what()).find("bytes") != std::string::npos;
            });
        BOOST_TEST(failing_api::open == 0);
        BOOST_TEST(failing_api::mapped == 0);
        const mapping_api nofiles = failing_api::table(call, EMFILE);
        BOOST_CHECK_EXCEPTION(
            host_ring(config, nofiles), os_error, [](const os_error& e) {
                return e.code().value() == EMFILE;
            });
        BOOST_TEST(failing_api::open == 0);
        BOOST_TEST(failing_api::mapped == 0);
    }
    const mapping_api api = failing_api::table(6, ENOMEM);
    {
        host_ring ring(config, api);
        BOOST_TEST(failing_api::open == 0);
        BOOST_TEST(failing_api::mapped > 0);
    }
    BOOST_TEST(failing_api::mapped == 0);
}

BOOST_AUTO_TEST_CASE(no_more_is_asked_of_the_kernel_than_the_machine_has)
{
    for (const bool prefault : { false, true }) {
        host_ring_config config = config_of(1 << 20, 4);
        config.prefault = prefault;
        mapping_api api = failing_api::table(-1, 0);
        api.memory_bytes = 2 << 20;
        api.available_bytes = [] { return std::uint64_t(1) << 19; };
        if (prefault) {
            BOOST_CHECK_EXCEPTION(
                host_ring(config, api), out_of_memory, [](const out_of_memory& e) {
                    const std::string what = e.what();
                    return what.find("1 MiB") != std::string::npos &&
                           what.find("512 KiB") != std::string::npos;
                });
            BOOST_TEST(failing_api::calls == 0);
        } else {
            BOOST_CHECK_NO_THROW(host_ring(config, api));
            api.memory_bytes = 1 << 19;
            BOOST_CHECK_THROW(host_ring(config, api), out_of_memory);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_interrupted_allocation_goes_on)
{
    host_ring_config config = config_of(65536, 4);
    config.prefault = true;
    const mapping_api api = failing_api::table(2, EINTR);
    host_ring ring(config, api);
    BOOST_TEST(ring.first_mapping().bytes == 65536u);
}

BOOST_AUTO_TEST_CASE(huge_pages_fall_back_with_a_reason)
{
    host_ring_config config = config_of(65536, 4);
    config.huge_pages = true;
    mapping_api api = failing_api::table(0, ENOSYS);
    api.huge_page_bytes = 2 << 20;
    {
        host_ring ring(config, api);
        BOOST_TEST(!ring.huge_pages());
        BOOST_TEST(ring.huge_pages_refused().find("memfd_create") != std::string::npos);
        BOOST_TEST(ring.first_mapping().bytes == 65536u);
    }
    api.huge_page_bytes = 0;
    host_ring ring(config, api);
    BOOST_TEST(ring.huge_pages_refused() == "this kernel has no huge pages");

    config.huge_pages = false;
    BOOST_TEST(host_ring(config).huge_pages_refused() == "");
}

BOOST_AUTO_TEST_CASE(huge_pages_are_used_where_the_machine_has_them)
{
    host_ring_config config = config_of(65536, 4);
    config.huge_pages = true;
    host_ring ring(config);
    // Either way the ring is there; which way depends on vm.nr_hugepages.
    BOOST_TEST(ring.huge_pages() == ring.huge_pages_refused().empty());
    if (ring.huge_pages()) {
        BOOST_TEST(ring.first_mapping().bytes % system_mapping_api().huge_page_bytes ==
                   0u);
        BOOST_TEST(ring.first_mapping().address % system_mapping_api().huge_page_bytes ==
                   0u);
    }
    std::byte* host = ring.first_mapping().host;
    host[0] = std::byte(42);
    BOOST_TEST((host[ring.first_mapping().bytes] == std::byte(42)));
}
