/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_FLOWGRAPH_MEMORY_H
#define INCLUDED_RDMA_FLOWGRAPH_MEMORY_H

#include <exception>
#include <memory>

namespace gr {
class block;

namespace rdma {

class device_block;
class ring_buffer;

/*!
 * Finds device blocks that would read a ring in another memory than theirs, while GNU
 * Radio builds the flowgraph on the thread that called start(): what is thrown there
 * comes out of start(), which nothing that a block's own thread finds later can do.
 *
 * GNU Radio does not say for which block it adds a reader to a ring. Readers that are
 * there are looked at whenever one is added. The one to come is told by elimination: it
 * wants a ring, and no device block that is still without its input could read this one.
 * Where a host block that wants rings too might be meant, nothing is said here, and
 * device_block finds it when it starts. One case is taken for what it is not: a host sink
 * that wants rings, of which no sink has any use, in front of a block on another GPU.
 *
 * Each thread has its own account, which begins anew with each flowgraph.
 */
namespace flowgraph_memory {

//! \p block is in the flowgraph that this thread builds: from check_topology(), before
//! GNU Radio makes the first buffer.
void has(device_block& block);
//! \p ring was made for \p writer. \p own_type: the writer asked for it.
void made(const std::shared_ptr<ring_buffer>& ring,
          const std::shared_ptr<block>& writer,
          bool own_type);
/*!
 * \brief A reader is about to be added to \p ring, or was moved to it.
 *
 * \param wants_ring it declares the type of our rings
 * \throws config_error a device block reads a ring in another memory; with the names of
 * both blocks, both memories, and what to put between
 */
void reader_comes(ring_buffer& ring, bool wants_ring);
//! For the length of a call in which building may fail: what was told until then means
//! nothing to the next flowgraph.
class step
{
public:
    step() noexcept : d_exceptions(std::uncaught_exceptions()) {}
    ~step()
    {
        if (std::uncaught_exceptions() > d_exceptions)
            forget();
    }
    step(const step&) = delete;
    step& operator=(const step&) = delete;

private:
    static void forget() noexcept;
    const int d_exceptions;
};

} // namespace flowgraph_memory

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_FLOWGRAPH_MEMORY_H */
