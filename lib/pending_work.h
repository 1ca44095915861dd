/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PENDING_WORK_H
#define INCLUDED_RDMA_PENDING_WORK_H

#include "kernel_log.h"
#include "mem/gpu.h"

#include <array>
#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {

/*!
 * \brief Spans of a ring that a stream still works on, in order: an event for each.
 *
 * Positions are absolute item counts. Bounded: when `depth` spans are in flight the next
 * one joins the last, which then counts as done only when both are. Nothing here waits,
 * allocates or throws, but for the constructor. Not thread-safe.
 */
class pending_work
{
public:
    static constexpr unsigned depth = 32;

    //! \param log whose rounds the work is, if any: what the GPU writes for it tells
    //! of the end without a call of the driver's \throws cuda_error
    explicit pending_work(mem::gpu& gpu, std::shared_ptr<const kernel_log> log = nullptr)
        : d_log(std::move(log))
    {
        for (auto& entry : d_entries)
            entry.event = gpu.make_event();
    }

    //! All in front of \p position is done with, and well. Nothing may be in flight.
    void restart(std::uint64_t position) noexcept
    {
        d_count = 0;
        d_released = position;
        d_error = 0;
    }

    //! What \p stream holds now is the work on everything in front of \p end.
    //! \return 0, or the driver's error code; the span then counts as done
    int push(std::uint64_t end, mem::gpu_stream& stream) noexcept
    {
        if (d_count < depth)
            ++d_count;
        entry& last = d_entries[(d_first + d_count - 1) % depth];
        last.end = end;
        last.round = d_log ? d_log->begun() : 0;
        const int code = last.event->record(stream);
        if (code != 0) {
            d_count = 0;
            d_released = end;
        }
        return code;
    }

    //! Where the finished part ends. An error on the device ends all of it; see error().
    std::uint64_t released() noexcept
    {
        while (d_count != 0) {
            const entry& front = d_entries[d_first];
            if (!d_log || !d_log->has_done(front.round)) {
                const int code = front.event->query();
                if (code == mem::gpu_not_ready)
                    break;
                if (code != 0)
                    d_error = code;
            }
            d_released = front.end;
            d_first = (d_first + 1) % depth;
            --d_count;
        }
        return d_released;
    }

    bool idle() const noexcept { return d_count == 0; }
    //! The event that fires next; null if idle().
    const mem::gpu_event* next() const noexcept
    {
        return d_count == 0 ? nullptr : d_entries[d_first].event.get();
    }
    //! Whether \p event is one of these.
    bool has(const mem::gpu_event* event) const noexcept
    {
        for (const auto& entry : d_entries)
            if (event && entry.event.get() == event)
                return true;
        return false;
    }
    //! Waits for the event that fires next; there is one. \return the driver's error code
    int wait() noexcept { return d_entries[d_first].event->synchronize(); }
    //! The first error that released() met, or 0.
    int error() const noexcept { return d_error; }

private:
    struct entry {
        std::uint64_t end = 0;
        std::uint32_t round = 0;
        std::unique_ptr<mem::gpu_event> event;
    };
    const std::shared_ptr<const kernel_log> d_log;
    std::array<entry, depth> d_entries;
    unsigned d_first = 0;
    unsigned d_count = 0;
    std::uint64_t d_released = 0;
    int d_error = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_PENDING_WORK_H */
