/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_RING_CLIENT_H
#define INCLUDED_RDMA_RING_CLIENT_H

#include "mem/region.h"

#include <cstddef>
#include <memory>

namespace gr {
namespace rdma {

namespace mem {
class gpu;
}

/*!
 * \brief A block that brings the memory of its output buffer, because it registered or
 * will register it. It has one output.
 *
 * How such a block writes whole slots out of work(): in its constructor it calls
 * set_output_multiple(items of a slot), so that the scheduler waits for the readers while
 * no slot is free. In start() and general_work() its buffer is
 * `dynamic_pointer_cast<ring_buffer>(detail()->output(0))`; under the buffer's mutex(),
 * space_available() / items of a slot is what ring_cursor::claimable() takes, and
 * write_offset_bytes() in start() says which slot comes first. A filled slot becomes
 * produce(0, items of a slot).
 *
 * GNU Radio calls a source that returned without output again only after 250 ms or a
 * message; readers that go on do not wake it. A client waits for its data in
 * general_work(), and where it has to return with nothing it first sets
 * detail()->d_tpb.input_changed under detail()->d_tpb.mutex.
 */
class ring_client
{
public:
    virtual ~ring_client() = default;
    /*!
     * \brief The ring of output \p port; the same one at each call until the block is
     * destroyed, never null.
     *
     * Called at each start of a flowgraph, before start(), by the thread that starts it.
     * \param item_bytes bytes of one item; the ring is a whole number of items
     * \param min_items what GNU Radio thinks that the readers need
     */
    virtual std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) = 0;
    //! The GPU in whose memory that ring is; null: the host's. A mem::staged_ring is
    //! written through its mirror, any other in place, and by whoever has finished when
    //! the block says produce().
    virtual std::shared_ptr<mem::gpu> output_gpu() const { return nullptr; }
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_RING_CLIENT_H */
