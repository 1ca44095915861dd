/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TO_DEVICE_H
#define INCLUDED_RDMA_TO_DEVICE_H

#include <cstddef>
#include <gnuradio/block.h>
#include <gnuradio/rdma/api.h>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

//! Parameters of rdma.to_device.
struct RDMA_API to_device_config {
    std::string sample = "sc16"; //!< cu8, sc8, sc16, fc32 or byte
    std::size_t vlen = 1;        //!< samples per item, in and out
    //! The GPU that the samples go to: auto (the first that can be used), or cuda:
    //! with a number, UUID or PCI address. With host, and with auto where there is no
    //! GPU, they are in host memory and are copied there.
    std::string memory = "auto";
};

/*!
 * \brief Samples in host memory in, the same samples in a GPU's memory out.
 * \ingroup rdma
 *
 * What an ordinary block writes goes to a GPU block without it. It is for rings of this
 * module in host memory, such as rdma.source's with memory=host. Through page-locked
 * memory in parts, of which several are under way at once.
 *
 * Every tag is passed on, on the item that it came with. A failure of the GPU ends the
 * stream, and the log says why.
 */
class RDMA_API to_device : virtual public gr::block
{
public:
    using sptr = std::shared_ptr<to_device>;
    //! \throws config_error a parameter is wrong, or names no GPU that can be used; with
    //! the value and what would be right
    //! \throws cuda_error the driver failed
    static sptr make(const to_device_config& config);

    //! "cuda:0", or "host" where nothing leaves host memory. Any thread.
    virtual std::string memory() const = 0;
    //! Why the block ended its stream on the GPU, with its name; empty while all is well,
    //! and on the CPU. Any thread.
    virtual std::string failure() const = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TO_DEVICE_H */
