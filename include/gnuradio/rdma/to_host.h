/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TO_HOST_H
#define INCLUDED_RDMA_TO_HOST_H

#include <cstddef>
#include <gnuradio/block.h>
#include <gnuradio/rdma/api.h>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

//! Parameters of rdma.to_host.
struct RDMA_API to_host_config {
    std::string sample = "sc16"; //!< cu8, sc8, sc16, fc32 or byte
    std::size_t vlen = 1;        //!< samples per item, in and out
    //! The GPU that the samples come from: auto (the first that can be used), or cuda:
    //! with a number, UUID or PCI address. With host, and with auto where there is no
    //! GPU, they are in host memory and are copied there.
    std::string memory = "auto";
    //! On a GPU, how to wait for input: event (sleep), or busy: spin, which answers
    //! within microseconds and takes a CPU of its own.
    std::string wait = "event";
};

/*!
 * \brief Samples in a GPU's memory in, the same samples in host memory out.
 * \ingroup rdma
 *
 * Ordinary blocks may read a ring in GPU memory without it. It is for blocks that take
 * the module's rings in host memory, and it keeps the copies under way while the samples
 * go on: several at once, each a part of the ring.
 *
 * Every tag is passed on, on the item that it came with. A failure of the GPU ends the
 * stream, and the log says why.
 */
class RDMA_API to_host : virtual public gr::block
{
public:
    using sptr = std::shared_ptr<to_host>;
    //! \throws config_error a parameter is wrong, or names no GPU that can be used; with
    //! the value and what would be right
    //! \throws cuda_error the driver failed
    static sptr make(const to_host_config& config);

    //! "cuda:0", or "host" where nothing leaves host memory. With memory=auto behind a
    //! ring in host memory that is known once the flowgraph has started. Any thread.
    virtual std::string memory() const = 0;
    //! Why the block ended its stream on the GPU, with its name; empty while all is well,
    //! and on the CPU. Any thread.
    virtual std::string failure() const = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TO_HOST_H */
