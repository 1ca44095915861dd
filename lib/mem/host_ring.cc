/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/host_ring.h"

#include "core/sizes.h"
#include "mem/ring_bytes.h"

#include <gnuradio/rdma/error.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace mem {

namespace {

// A line of /proc/meminfo in bytes, or 0.
std::uint64_t meminfo_bytes(const char* line)
{
    std::ifstream meminfo("/proc/meminfo");
    std::string word;
    while (meminfo >> word)
        if (word == line) {
            std::uint64_t kib = 0;
            meminfo >> kib;
            return kib * 1024;
        }
    return 0;
}

[[noreturn]] void fail(const char* call, int code, std::uint64_t bytes)
{
    const std::string what =
        std::string(call) + " of " + with_bytes(bytes) + " for a host ring";
    if (code == ENOMEM || code == ENOSPC)
        throw out_of_memory(what + " failed: " + std::strerror(code) +
                            "; use fewer or smaller buffers");
    throw os_error(code, what + " failed");
}

// A descriptor that closes itself, through the same table of calls.
struct memory_file {
    const mapping_api& api;
    int fd;
    ~memory_file()
    {
        if (fd >= 0)
            api.close(fd);
    }
};

} // namespace

const mapping_api& system_mapping_api()
{
    static const mapping_api api = {
        [](const char* name, unsigned flags) { return ::memfd_create(name, flags); },
        [](int fd, off_t bytes) { return ::ftruncate(fd, bytes); },
        [](int fd, int mode, off_t offset, off_t bytes) {
            return ::fallocate(fd, mode, offset, bytes);
        },
        [](void* at, std::size_t bytes, int prot, int flags, int fd, off_t offset) {
            return ::mmap(at, bytes, prot, flags, fd, offset);
        },
        [](void* at, std::size_t bytes) { return ::munmap(at, bytes); },
        [](int fd) { return ::close(fd); },
        [] { return meminfo_bytes("MemAvailable:"); },
        static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
            static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
        meminfo_bytes("Hugepagesize:"),
    };
    return api;
}

std::uint64_t host_ring_bytes(const host_ring_config& config, std::uint64_t page_bytes)
{
    return whole_ring_bytes(config.min_bytes, config.unit_bytes, page_bytes, "host");
}

host_ring::host_ring(const host_ring_config& config, const mapping_api& api) : d_api(api)
{
    if (config.huge_pages && api.huge_page_bytes == 0)
        d_refused = "this kernel has no huge pages";
    else if (config.huge_pages) {
        try {
            const std::uint64_t page = api.huge_page_bytes;
            map(host_ring_bytes(config, page), page, MFD_HUGETLB, config.prefault);
            d_granularity = common_multiple(config.unit_bytes, page);
            d_huge = true;
            return;
        } catch (const std::exception& e) {
            // Most often nobody reserved any (vm.nr_hugepages); ordinary pages do as
            // well.
            d_refused = e.what();
        }
    }
    map(host_ring_bytes(config, api.page_bytes), api.page_bytes, 0, config.prefault);
    d_granularity = common_multiple(config.unit_bytes, api.page_bytes);
}

void host_ring::map(std::uint64_t bytes,
                    std::uint64_t page_bytes,
                    unsigned flags,
                    bool prefault)
{
    // The kernel would promise any length, and on touching or fallocate() kill somebody.
    const std::uint64_t available =
        prefault ? d_api.available_bytes() : d_api.memory_bytes;
    if (bytes > available)
        throw out_of_memory("a host ring of " + with_bytes(bytes) +
                            ", but the machine has " + with_bytes(available) +
                            (prefault ? " available" : "") +
                            "; use fewer or smaller buffers");

    const memory_file file{ d_api,
                            d_api.memfd_create("gr-rdma ring", MFD_CLOEXEC | flags) };
    if (file.fd < 0)
        fail("memfd_create", errno, bytes);
    if (d_api.ftruncate(file.fd, static_cast<off_t>(bytes)) != 0)
        fail("ftruncate", errno, bytes);
    while (prefault && d_api.fallocate(file.fd, 0, 0, static_cast<off_t>(bytes)) != 0)
        if (errno != EINTR)
            fail("fallocate", errno, bytes);

    // One reservation for both mappings and the alignment of huge pages.
    const std::uint64_t reserved = 2 * bytes + (flags != 0 ? page_bytes : 0);
    void* at = d_api.mmap(
        nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        fail("mmap (address space)", errno, reserved);
    auto* base = reinterpret_cast<std::byte*>(
        core::round_up(reinterpret_cast<std::uintptr_t>(at), page_bytes));
    for (std::byte* where : { base, base + bytes }) {
        const int populate = prefault ? MAP_POPULATE : 0;
        if (d_api.mmap(where,
                       bytes,
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | populate,
                       file.fd,
                       0) == MAP_FAILED) {
            const int code = errno;
            d_api.munmap(at, reserved);
            fail("mmap", code, bytes);
        }
    }
    d_reserved = static_cast<std::byte*>(at);
    d_reserved_bytes = reserved;
    d_base = base;
    d_bytes = bytes;
}

host_ring::~host_ring() { d_api.munmap(d_reserved, d_reserved_bytes); }

region host_ring::first_mapping() const noexcept
{
    region r;
    r.kind = memory_kind::host;
    r.host = d_base;
    r.address = reinterpret_cast<std::uintptr_t>(d_base);
    r.bytes = d_bytes;
    return r;
}

void host_ring::zero(std::uint64_t offset, std::uint64_t bytes)
{
    if (offset >= d_bytes || bytes > d_bytes)
        throw config_error("zero of " + std::to_string(bytes) + " bytes at offset " +
                           std::to_string(offset) + " in a ring of " +
                           std::to_string(d_bytes) + " bytes");
    std::memset(d_base + offset, 0, bytes);
}

} // namespace mem
} // namespace rdma
} // namespace gr
