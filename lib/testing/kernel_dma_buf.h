/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_KERNEL_DMA_BUF_H
#define INCLUDED_RDMA_TESTING_KERNEL_DMA_BUF_H

#include "mem/gpu.h"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief A dma-buf that the kernel itself makes, without any device: of vgem, or of
 * udmabuf where there is no vgem. One of the modules must be loaded.
 *
 * Like a GPU's memory it is mapped into the process and its pages cannot be pinned by
 * address. \throws std::system_error naming the step
 */
class kernel_dma_buf
{
public:
    explicit kernel_dma_buf(std::uint64_t bytes) : d_bytes(bytes)
    {
        d_source = ::open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
        if (d_source >= 0)
            of_vgem();
        else
            of_udmabuf();
        d_address = ::mmap(nullptr, d_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d_fd, 0);
        if (d_address == MAP_FAILED)
            fail("mmap of the dma-buf");
    }
    ~kernel_dma_buf()
    {
        ::munmap(d_address, d_bytes);
        ::close(d_fd);
        ::close(d_source);
        ::close(d_memory);
    }
    kernel_dma_buf(const kernel_dma_buf&) = delete;
    kernel_dma_buf& operator=(const kernel_dma_buf&) = delete;

    int fd() const noexcept { return d_fd; } //!< stays this object's
    std::uint64_t bytes() const noexcept { return d_bytes; }
    void* address() const noexcept { return d_address; }
    //! "vgem" or "udmabuf"
    std::string maker() const { return d_memory < 0 ? "vgem" : "udmabuf"; }

private:
    // The kernel's uapi/drm/drm.h and drm_mode.h, which not every distribution installs
    // with its C library.
    struct create_dumb {
        std::uint32_t height, width, bits, flags, handle, pitch;
        std::uint64_t size;
    };
    struct prime_handle {
        std::uint32_t handle, flags;
        std::int32_t fd;
    };
    // uapi/linux/udmabuf.h
    struct udmabuf_create {
        std::uint32_t memfd, flags;
        std::uint64_t offset, size;
    };

    [[noreturn]] static void fail(const char* what)
    {
        throw std::system_error(errno, std::generic_category(), what);
    }
    void of_vgem()
    {
        create_dumb c{};
        c.width = 1024;
        c.bits = 32;
        c.height = static_cast<std::uint32_t>(d_bytes / 4096);
        if (::ioctl(d_source, _IOWR('d', 0xb2, create_dumb), &c) != 0)
            fail("DRM_IOCTL_MODE_CREATE_DUMB on /dev/dri/card0");
        prime_handle p{};
        p.handle = c.handle;
        p.flags = O_RDWR | O_CLOEXEC;
        if (::ioctl(d_source, _IOWR('d', 0x2d, prime_handle), &p) != 0)
            fail("DRM_IOCTL_PRIME_HANDLE_TO_FD on /dev/dri/card0");
        d_fd = p.fd;
    }
    void of_udmabuf()
    {
        d_source = ::open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
        if (d_source < 0)
            fail("neither /dev/dri/card0 (vgem) nor /dev/udmabuf opens");
        d_memory = ::memfd_create("udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (d_memory < 0 || ::ftruncate(d_memory, static_cast<off_t>(d_bytes)) != 0 ||
            ::fcntl(d_memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
            fail("memory for /dev/udmabuf");
        udmabuf_create c{};
        c.memfd = static_cast<std::uint32_t>(d_memory);
        c.flags = 1; // close on exec
        c.size = d_bytes;
        d_fd = ::ioctl(d_source, _IOW('u', 0x42, udmabuf_create), &c);
        if (d_fd < 0)
            fail("UDMABUF_CREATE");
    }

    std::uint64_t d_bytes;
    int d_source = -1;
    int d_memory = -1;
    int d_fd = -1;
    void* d_address = nullptr;
};

//! A dma-buf of the kernel's in the place of a GPU's ring. Mapped once.
class kernel_dma_buf_ring : public mem::gpu_ring
{
public:
    explicit kernel_dma_buf_ring(std::uint64_t bytes) : d_buffer(bytes) {}
    mem::region first_mapping() const noexcept override
    {
        mem::region r;
        r.kind = mem::memory_kind::cuda;
        r.device = 0;
        r.address = reinterpret_cast<std::uintptr_t>(d_buffer.address());
        r.bytes = d_buffer.bytes();
        return r;
    }
    std::uint64_t granularity() const noexcept override { return 4096; }
    void zero(std::uint64_t, std::uint64_t) override {}
    mem::dma_buf export_dma_buf(std::uint64_t offset, std::uint64_t) const override
    {
        return mem::dma_buf(::dup(d_buffer.fd()), offset, d_buffer.bytes());
    }
    bool rdma_capable() const noexcept override { return true; }
    std::string maker() const { return d_buffer.maker(); }

private:
    kernel_dma_buf d_buffer;
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_KERNEL_DMA_BUF_H */
