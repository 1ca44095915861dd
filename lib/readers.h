/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_READERS_H
#define INCLUDED_RDMA_READERS_H

#include <gnuradio/buffer.h>

namespace gr {
namespace rdma {

/*!
 * \brief Have the readers of \p buffer had enough? For the block that writes it, in
 * work().
 *
 * GNU Radio asks only when not one item fits, which may be much later, or never. Takes
 * the buffer's mutex.
 */
inline bool readers_are_done(gr::buffer& buffer)
{
    gr::thread::scoped_lock lock(*buffer.mutex());
    return buffer.done();
}

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_READERS_H */
