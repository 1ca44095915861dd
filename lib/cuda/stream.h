/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_STREAM_H
#define INCLUDED_RDMA_CUDA_STREAM_H

#include <cstdint>

struct CUstream_st;
struct CUevent_st;

namespace gr {
namespace rdma {
namespace cuda {

/*
 * Work on a stream runs in the order in which it was put there; streams are not ordered
 * among each other but by events. Objects may be used from any thread, one at a time, and
 * destroyed while their work runs: CUDA frees them after it. Codes are cudaError_t.
 */

enum class event_state : std::uint8_t { done, pending, failed };

//! A point in a stream's work. Before record() it counts as done.
class event
{
public:
    //! timing: elapsed_ms() works, and record() costs more. blocking: wait() sleeps; else
    //! it spins.
    enum kind : std::uint8_t { plain = 0, timing = 1, blocking = 2 };

    //! \throws cuda_error as use_device()
    explicit event(int device, kind what = plain);
    ~event();
    event(event&& other) noexcept : d_event(other.d_event), d_device(other.d_device)
    {
        other.d_event = nullptr;
    }
    event& operator=(event&&) = delete;

    CUevent_st* get() const noexcept { return d_event; }
    //! Has everything put on the stream before record() run? Never waits. A failure of a
    //! kernel shows here; \p code takes it.
    event_state query(int* code = nullptr) const noexcept;
    //! Waits until it has. \return 0 or the failure
    [[nodiscard]] int wait() const noexcept;
    //! Milliseconds from \p start to this one; both of kind timing and done. Negative:
    //! not known.
    float elapsed_ms(const event& start) const noexcept;

private:
    CUevent_st* d_event = nullptr;
    int d_device;
};

//! A stream that somebody else owns. Copies are the same stream.
class stream_ref
{
public:
    stream_ref(CUstream_st* handle = nullptr) noexcept : d_stream(handle) {}
    CUstream_st* get() const noexcept { return d_stream; }

    //! Marks the end of the work put here so far. Never waits.
    [[nodiscard]] int record(const event& point) const noexcept;
    //! What is put here from now on runs after \p point; the CPU does not wait.
    [[nodiscard]] int wait_for(const event& point) const noexcept;
    //! The CPU waits for all work put here.
    [[nodiscard]] int wait() const noexcept;

private:
    CUstream_st* d_stream;
};

//! Owns a stream that does not wait for the device's legacy default stream.
class stream
{
public:
    //! \throws cuda_error as use_device()
    explicit stream(int device);
    ~stream();
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    stream_ref ref() const noexcept { return d_stream; }
    int device() const noexcept { return d_device; }

private:
    CUstream_st* d_stream = nullptr;
    const int d_device;
};

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_STREAM_H */
