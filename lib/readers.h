/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_READERS_H
#define INCLUDED_RDMA_READERS_H

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/ring_buffer.h>

#include <vector>

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

//! The first error that the GPU had in \p ring, or 0; for its writer. Takes the mutex.
inline int device_error_of(ring_buffer& ring)
{
    gr::thread::scoped_lock lock(*ring.mutex());
    return ring.device_error();
}

/*!
 * \brief Does \p block read a ring of ours in host memory? For a device block in start():
 * its `auto` then is the CPU.
 */
inline bool reads_host_ring(const gr::block& block)
{
    const auto buffer = block.detail()->input(0)->buffer();
    const auto* const ring = dynamic_cast<const ring_buffer*>(buffer.get());
    return ring && ring->device() == "host";
}

//! What the ports of \p writer write to; empty before GNU Radio has made it.
inline std::vector<gr::buffer_sptr> outputs_of(const gr::block_sptr& writer)
{
    std::vector<gr::buffer_sptr> outputs;
    const gr::block_detail_sptr detail = writer->detail();
    for (int port = 0; detail && port < detail->noutputs(); ++port)
        outputs.push_back(detail->output(static_cast<unsigned>(port)));
    return outputs;
}

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_READERS_H */
