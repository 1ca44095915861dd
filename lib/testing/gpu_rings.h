/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_GPU_RINGS_H
#define INCLUDED_RDMA_TESTING_GPU_RINGS_H

#include "mem/gpu.h"
#include "testing/ring_contract.h"

#include <stdexcept>

namespace gr {
namespace rdma {
namespace testing {

//! Copies to or from device memory; done on return. Tests only: slow.
inline void
copy_now(mem::gpu_stream& stream, std::uint64_t to, std::uint64_t from, std::size_t bytes)
{
    int code = bytes != 0 ? stream.copy(to, from, bytes) : 0;
    if (code == 0)
        code = stream.synchronize();
    if (code != 0)
        throw std::runtime_error("copy: " + mem::gpu_error_text(code));
}

/*!
 * \brief The factory of ring_contract.h for rings of "cuda:0": of the machine's GPU, or
 * of the imitated driver that use_cuda_api() was given.
 */
struct gpu_rings : ring_shapes {
    gpu_rings()
    {
        units = { 1, 2, 3, 4, 8, 20, 4096, 8192, 12288, 1 << 20 };
        slot_bytes = 1536;
    }
    std::shared_ptr<mem::ring_memory> make(std::uint64_t min_bytes,
                                           std::uint64_t unit_bytes)
    {
        mem::gpu_ring_config config;
        config.min_bytes = min_bytes;
        config.unit_bytes = unit_bytes;
        return gpu->make_ring(config);
    }
    void write(mem::ring_memory& ring,
               std::uint64_t offset,
               const void* from,
               std::size_t bytes)
    {
        copy_now(*stream,
                 ring.first_mapping().address + offset,
                 reinterpret_cast<std::uintptr_t>(from),
                 bytes);
    }
    void read(mem::ring_memory& ring, std::uint64_t offset, void* to, std::size_t bytes)
    {
        copy_now(*stream,
                 reinterpret_cast<std::uintptr_t>(to),
                 ring.first_mapping().address + offset,
                 bytes);
    }

    std::shared_ptr<mem::gpu> gpu = mem::open_gpu("cuda:0");
    std::unique_ptr<mem::gpu_stream> stream = gpu->make_stream();
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_GPU_RINGS_H */
