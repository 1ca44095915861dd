/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_COMPLETION_QUEUE_H
#define INCLUDED_RDMA_IO_VERBS_COMPLETION_QUEUE_H

#include "io/verbs/handles.h"
#include "io/verbs/plan.h"

#include <cstddef>
#include <cstdint>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! One entry of a completion queue. Only wr_id and status hold anything on a failure.
struct work_completion {
    std::uint64_t wr_id = 0;
    ibv_wc_status status = IBV_WC_SUCCESS;
    ibv_wc_opcode opcode = IBV_WC_RECV;
    std::uint32_t bytes = 0;
    std::uint32_t vendor_error = 0;
    bool has_immediate = false;
    std::uint32_t immediate = 0; //!< host byte order
    std::int64_t time_ns = 0;    //!< Unix time: the device's stamp, or when it was polled
};

/*!
 * \brief A completion queue with a channel of its own to sleep on.
 *
 * Stamps come from the device where it has a clock for them. Who polls must be one thread
 * at a time; who sleeps on fd() may be another.
 */
class completion_queue
{
public:
    completion_queue() = default;
    //! \throws os_error the device refuses
    completion_queue(const verbs_api& api,
                     ibv_context* context,
                     const device_facts& facts,
                     std::uint32_t entries,
                     const moderation_plan& moderation);
    completion_queue(completion_queue&&) = default;
    completion_queue& operator=(completion_queue&& other) noexcept;
    void close() noexcept;

    explicit operator bool() const noexcept { return static_cast<bool>(d_cq); }
    ibv_cq* get() const noexcept { return d_cq.get(); }
    //! Readable when an armed queue has something; -1 if there is no queue.
    int fd() const noexcept { return d_channel ? d_channel->fd : -1; }
    bool stamps() const noexcept { return d_extended != nullptr; }

    //! Take up to \p max entries; never waits. \return how many; -1: the queue is broken
    int poll(work_completion* out, int max) noexcept;
    //! Ask for one event; poll again before sleeping, what came before is not announced.
    void arm() noexcept;
    //! Take and acknowledge what has made fd() readable.
    void consume_events() noexcept;

private:
    int poll_extended(work_completion* out, int max, std::int64_t now_ns) noexcept;

    const verbs_api* d_api = nullptr;
    ibv_context* d_context = nullptr;
    comp_channel_handle d_channel; // outlives the queue
    cq_handle d_cq;
    ibv_cq_ex* d_extended = nullptr; // the same queue, if it stamps
    stamp_clock d_clock{ 0, 0 };
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_COMPLETION_QUEUE_H */
