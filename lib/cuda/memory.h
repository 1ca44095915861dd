/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_MEMORY_H
#define INCLUDED_RDMA_CUDA_MEMORY_H

#include "cuda/stream.h"

#include <cstddef>

namespace gr {
namespace rdma {
namespace cuda {

//! \p size elements (of void: bytes) of a GPU's memory that somebody else owns. The CPU
//! may not follow `data`.
template <class T>
struct device_span {
    T* data = nullptr;
    std::size_t size = 0;
};

/*!
 * \brief Memory of one GPU, aligned to 256 bytes, uninitialised.
 *
 * Allocating and freeing wait for the device: set up with it, do not stream with it.
 * Freed memory may still be in use by kernels that were launched before; CUDA waits for
 * them.
 */
class device_memory
{
public:
    //! \param bytes 0 allocates nothing. \throws out_of_memory; cuda_error as
    //! use_device()
    device_memory(int device, std::size_t bytes);
    ~device_memory();
    device_memory(device_memory&& other) noexcept
        : d_data(other.d_data), d_bytes(other.d_bytes), d_device(other.d_device)
    {
        other.d_data = nullptr;
    }
    device_memory& operator=(device_memory&&) = delete;
    void* data() const noexcept { return d_data; }
    std::size_t bytes() const noexcept { return d_bytes; }
    template <class T>
    T* as() const noexcept
    {
        return static_cast<T*>(d_data);
    }

private:
    void* d_data = nullptr;
    std::size_t d_bytes;
    int d_device;
};

/*!
 * \brief Page-locked host memory: copies to and from a GPU run asynchronously, at full
 * rate. Uninitialised; for every device of the process.
 *
 * Do not free it while a copy uses it.
 */
class pinned_memory
{
public:
    //! \throws out_of_memory; cuda_error as use_device()
    pinned_memory(int device, std::size_t bytes);
    ~pinned_memory();
    pinned_memory(pinned_memory&& other) noexcept
        : d_data(other.d_data), d_bytes(other.d_bytes), d_device(other.d_device)
    {
        other.d_data = nullptr;
    }
    pinned_memory& operator=(pinned_memory&&) = delete;
    void* data() const noexcept { return d_data; }
    std::size_t bytes() const noexcept { return d_bytes; }
    template <class T>
    T* as() const noexcept
    {
        return static_cast<T*>(d_data);
    }

private:
    void* d_data = nullptr;
    std::size_t d_bytes;
    int d_device;
};

//! Puts a copy on the stream; either side may be host (pinned, or else it waits) or
//! device memory. \return cudaError_t
[[nodiscard]] int
copy_async(void* to, const void* from, std::size_t bytes, stream_ref stream) noexcept;

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_MEMORY_H */
