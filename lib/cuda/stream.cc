/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/stream.h"

#include "cuda/device.h"
#include "cuda/error.h"

#include <cuda_runtime_api.h>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// CUDA keeps a failed call's code for the thread; ours is returned, so nobody else's next
// look has to find it.
int take(cudaError_t code) noexcept
{
    if (code != cudaSuccess)
        cudaGetLastError();
    return code;
}

} // namespace

event::event(int device, kind what) : d_device(device)
{
    const device_guard guard(device);
    unsigned flags = what & timing ? cudaEventDefault : cudaEventDisableTiming;
    if (what & blocking)
        flags |= cudaEventBlockingSync;
    check(cudaEventCreateWithFlags(&d_event, flags), "cudaEventCreateWithFlags");
}

event::~event()
{
    if (!d_event)
        return;
    const device_guard guard(d_device, std::nothrow);
    take(cudaEventDestroy(d_event));
}

event_state event::query(int* code) const noexcept
{
    const int got = take(cudaEventQuery(d_event));
    if (got == cudaSuccess)
        return event_state::done;
    if (got == cudaErrorNotReady)
        return event_state::pending;
    if (code)
        *code = got;
    return event_state::failed;
}

int event::wait() const noexcept { return take(cudaEventSynchronize(d_event)); }

float event::elapsed_ms(const event& start) const noexcept
{
    float ms = -1;
    return take(cudaEventElapsedTime(&ms, start.d_event, d_event)) ? -1 : ms;
}

int stream_ref::record(const event& point) const noexcept
{
    return take(cudaEventRecord(point.get(), d_stream));
}

int stream_ref::wait_for(const event& point) const noexcept
{
    return take(cudaStreamWaitEvent(d_stream, point.get(), 0));
}

int stream_ref::wait() const noexcept { return take(cudaStreamSynchronize(d_stream)); }

stream::stream(int device) : d_device(device)
{
    const device_guard guard(device);
    check(cudaStreamCreateWithFlags(&d_stream, cudaStreamNonBlocking),
          "cudaStreamCreateWithFlags");
}

stream::~stream()
{
    const device_guard guard(d_device, std::nothrow);
    take(cudaStreamDestroy(d_stream));
}

} // namespace cuda
} // namespace rdma
} // namespace gr
