/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/cuda_stream.h"

namespace gr {
namespace rdma {
namespace mem {

static_assert(gpu_not_ready == CUDA_ERROR_NOT_READY);
static_assert(gpu_not_supported == CUDA_ERROR_NOT_SUPPORTED);

cuda_stream::cuda_stream(std::shared_ptr<cuda_gpu> gpu) : d_gpu(std::move(gpu))
{
    const current_context current(d_gpu->api(), d_gpu->context());
    current.require(d_gpu->info().describe());
    check_cuda(d_gpu->api(),
               d_gpu->api().stream_create(&d_stream, CU_STREAM_NON_BLOCKING),
               "cuStreamCreate",
               d_gpu->info().describe());
}

cuda_stream::~cuda_stream()
{
    const current_context current(d_gpu->api(), d_gpu->context());
    d_gpu->api().stream_destroy(d_stream);
}

int cuda_stream::wait(const gpu_event& event) noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().stream_wait_event(
        d_stream, static_cast<CUevent>(event.native()), 0);
}

int cuda_stream::copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().memcpy_async(to, from, bytes, d_stream);
}

int cuda_stream::fill(std::uint64_t to, int value, std::size_t bytes) noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().memset_d8_async(
        to, static_cast<unsigned char>(value), bytes, d_stream);
}

int cuda_stream::write(std::uint64_t to, std::uint32_t value) noexcept
{
    if (!d_gpu->api().stream_write_value32)
        return gpu_not_supported;
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().stream_write_value32(
        d_stream, to, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

int cuda_stream::query() const noexcept { return d_gpu->api().stream_query(d_stream); }

// Not cuLaunchHostFunc(), which leaves the function uncalled after a fault of the device.
int cuda_stream::notify(gpu_callback& callback) noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().stream_add_callback(
        d_stream,
        [](CUstream, CUresult, void* p) { static_cast<gpu_callback*>(p)->on_done(); },
        &callback,
        0);
}

int cuda_stream::synchronize() noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().stream_synchronize(d_stream);
}

cuda_event::cuda_event(std::shared_ptr<cuda_gpu> gpu) : d_gpu(std::move(gpu))
{
    const current_context current(d_gpu->api(), d_gpu->context());
    current.require(d_gpu->info().describe());
    check_cuda(d_gpu->api(),
               d_gpu->api().event_create(&d_event, CU_EVENT_DISABLE_TIMING),
               "cuEventCreate",
               d_gpu->info().describe());
}

cuda_event::~cuda_event()
{
    const current_context current(d_gpu->api(), d_gpu->context());
    d_gpu->api().event_destroy(d_event);
}

int cuda_event::record(gpu_stream& stream) noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().event_record(d_event, static_cast<CUstream>(stream.native()));
}

int cuda_event::query() const noexcept { return d_gpu->api().event_query(d_event); }

int cuda_event::synchronize() noexcept
{
    const current_context current(d_gpu->api(), d_gpu->context());
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_gpu->api().event_synchronize(d_event);
}

} // namespace mem
} // namespace rdma
} // namespace gr
