/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CONVERT_H
#define INCLUDED_RDMA_CONVERT_H

#include <cstddef>
#include <gnuradio/block.h>
#include <gnuradio/rdma/api.h>
#include <string>

namespace gr {
namespace rdma {

//! Parameters of rdma.convert.
struct RDMA_API convert_config {
    std::string sample = "sc16"; //!< what comes in: cu8, sc8, sc16 or byte
    std::size_t vlen = 1;        //!< samples per item, in and out, as the source's
    //! Where the samples are and the floats go: host, cuda: with a GPU's number, UUID or
    //! PCI address, or auto: the first GPU that can be used, else host.
    std::string memory = "auto";
    //! On a GPU, how to wait for input: event (sleep), or busy: spin, which answers
    //! within microseconds and takes a CPU of its own.
    std::string wait = "event";
};

/*!
 * \brief Integer samples in, floats of full scale 1 out, sample by sample.
 * \ingroup rdma
 *
 * Complex types (cu8, sc8, sc16) become fc32, which is gr_complex; byte, a signed real
 * sample, becomes float. An item is `vlen` samples on both sides. sc8 and byte are scaled
 * by 1/128, sc16 by 1/32768, cu8 as (x - 127.5)/128; the results are exact.
 *
 * On a GPU it is a device_block: both sides are in that GPU's memory.
 *
 * Every tag is passed on, on the item that it came with. The zeros that rdma.source puts
 * behind a message shorter than its slot are converted like samples: packet_len, in
 * items, still says where they begin.
 */
class RDMA_API convert : virtual public gr::block
{
public:
    using sptr = std::shared_ptr<convert>;
    //! \throws config_error a parameter is wrong, or names no GPU that can be used; with
    //! the value and what would be right
    //! \throws cuda_error the driver failed
    static sptr make(const convert_config& config);

    //! "cuda:0", or "host" where it works on the CPU. Any thread.
    virtual std::string memory() const = 0;
    //! Why the block ended its stream on the GPU, with its name; empty while all is well,
    //! and on the CPU. Any thread.
    virtual std::string failure() const = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CONVERT_H */
