/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_CUDA_STREAM_H
#define INCLUDED_RDMA_MEM_CUDA_STREAM_H

#include "mem/cuda_gpu.h"

namespace gr {
namespace rdma {
namespace mem {

//! A stream that does not wait for the default stream; gpu_stream as mem/gpu.h promises.
class cuda_stream : public gpu_stream
{
public:
    //! \throws cuda_error
    explicit cuda_stream(std::shared_ptr<cuda_gpu> gpu);
    ~cuda_stream() override;
    cuda_stream(const cuda_stream&) = delete;
    cuda_stream& operator=(const cuda_stream&) = delete;

    void* native() const noexcept override { return d_stream; }
    int wait(const gpu_event& event) noexcept override;
    int copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept override;
    int fill(std::uint64_t to, int value, std::size_t bytes) noexcept override;
    int write(std::uint64_t to, std::uint32_t value) noexcept override;
    int notify(gpu_callback& callback) noexcept override;
    int query() const noexcept override;
    int synchronize() noexcept override;

private:
    std::shared_ptr<cuda_gpu> d_gpu;
    CUstream d_stream = nullptr;
};

//! An event without timing; gpu_event as mem/gpu.h promises it.
class cuda_event : public gpu_event
{
public:
    //! \throws gr::rdma::cuda_error
    explicit cuda_event(std::shared_ptr<cuda_gpu> gpu);
    ~cuda_event() override;
    cuda_event(const cuda_event&) = delete;
    cuda_event& operator=(const cuda_event&) = delete;

    void* native() const noexcept override { return d_event; }
    int record(gpu_stream& stream) noexcept override;
    int query() const noexcept override;
    int synchronize() noexcept override;

private:
    std::shared_ptr<cuda_gpu> d_gpu;
    CUevent d_event = nullptr;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_CUDA_STREAM_H */
