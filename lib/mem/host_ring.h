/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_HOST_RING_H
#define INCLUDED_RDMA_MEM_HOST_RING_H

#include "mem/region.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief The calls that a host ring makes. Each returns as the C function of its name
 * does and sets errno; tests give a table that fails on demand.
 */
struct mapping_api {
    int (*memfd_create)(const char* name, unsigned flags);
    int (*ftruncate)(int fd, off_t bytes);
    int (*fallocate)(int fd, int mode, off_t offset, off_t bytes);
    void* (*mmap)(void* at, std::size_t bytes, int prot, int flags, int fd, off_t offset);
    int (*munmap)(void* at, std::size_t bytes);
    int (*close)(int fd);
    std::uint64_t (*available_bytes)(); //!< memory that can be had without swapping
    std::uint64_t memory_bytes;         //!< physical memory of the machine
    std::uint64_t page_bytes;           //!< of ordinary pages
    std::uint64_t huge_page_bytes; //!< of the default huge pages; 0: the kernel has none
};

//! The operating system's calls and page sizes. Made once.
const mapping_api& system_mapping_api();

//! What a host ring is to be; sizes are bytes.
struct host_ring_config {
    std::uint64_t min_bytes = 0;  //!< the ring is at least this long
    std::uint64_t unit_bytes = 1; //!< and a whole number of these: items, or slots
    bool huge_pages = false;      //!< ask for huge pages; without them, ordinary ones
    bool prefault = false; //!< have every page in memory before the constructor returns
};

/*!
 * \brief The length that a host ring of this shape gets: a whole number of units and of
 * pages.
 *
 * Never more than twice min_bytes, or 256 MiB where that is longer.
 * \throws config_error unit_bytes is 0, or unit and page have so little in common that
 * the ring would be longer than that; what() has the numbers and the nearest unit that
 * works
 */
std::uint64_t host_ring_bytes(const host_ring_config& config, std::uint64_t page_bytes);

/*!
 * \brief A ring in host memory: one memory file, mapped twice back to back.
 *
 * Sizes are bytes. The length is host_ring_bytes(); the memory is zero at the start. The
 * base is aligned to the page, ordinary or huge. Owns both mappings; keeps no descriptor
 * open. Neither copies nor moves.
 *
 * Every method may be called from any thread; who reads and writes the bytes has to
 * agree with the others by itself.
 *
 * Pages come into being when first touched, unless prefault is asked: only then is a
 * shortage an exception, and not the kernel's out-of-memory killer later. A ring longer
 * than the physical memory, or with prefault than the available memory, is refused before
 * anything is allocated.
 *
 * \throws config_error as host_ring_bytes()
 * \throws out_of_memory the system has not this much memory or address space
 * \throws os_error a call failed for another reason; named, with the bytes
 */
class host_ring : public ring_memory
{
public:
    explicit host_ring(const host_ring_config& config,
                       const mapping_api& api = system_mapping_api());
    ~host_ring() override;
    host_ring(const host_ring&) = delete;
    host_ring& operator=(const host_ring&) = delete;

    region first_mapping() const noexcept override;
    std::uint64_t granularity() const noexcept override { return d_granularity; }
    void zero(std::uint64_t offset, std::uint64_t bytes) override;

    //! Whether the memory is huge pages.
    bool huge_pages() const noexcept { return d_huge; }
    //! Why it is not although asked, in words; empty otherwise.
    const std::string& huge_pages_refused() const noexcept { return d_refused; }

private:
    void
    map(std::uint64_t bytes, std::uint64_t page_bytes, unsigned flags, bool prefault);

    const mapping_api& d_api;
    std::byte* d_reserved = nullptr; //!< start of the reservation, for munmap
    std::uint64_t d_reserved_bytes = 0;
    std::byte* d_base = nullptr;
    std::uint64_t d_bytes = 0;
    std::uint64_t d_granularity = 0;
    bool d_huge = false;
    std::string d_refused;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_HOST_RING_H */
