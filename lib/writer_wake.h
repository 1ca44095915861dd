/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_WRITER_WAKE_H
#define INCLUDED_RDMA_WRITER_WAKE_H

#include <atomic>
#include <memory>

namespace gr {
class block;

namespace rdma {

/*!
 * \brief Have \p writer's thread look again whether there is room for it.
 *
 * For callbacks of the CUDA driver: returns at once and leaves the waking to a thread of
 * ours, one a process, since to wake a block is to hold it, and whoever lets go of it
 * last destroys it. Nothing happens if the block is gone.
 *
 * \param asked becomes false: whoever sees that and calls finish_wakes() has this one
 * finished too
 */
void wake_writer(const std::weak_ptr<gr::block>& writer,
                 std::atomic<bool>& asked) noexcept;

/*!
 * \brief Wait until every block that was to be woken has been, and has been let go of.
 *
 * Without it a flowgraph could outlive its user's last hold on it by a moment, and be
 * destroyed on our thread.
 */
void finish_wakes() noexcept;

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_WRITER_WAKE_H */
