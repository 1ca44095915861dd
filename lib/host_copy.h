/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_HOST_COPY_H
#define INCLUDED_RDMA_HOST_COPY_H

#include <algorithm>
#include <cstring>
#include <gnuradio/io_signature.h>
#include <string>

namespace gr {
namespace rdma {

/*!
 * \brief rdma.to_host or rdma.to_device on a machine without a GPU: host memory to host
 * memory, so that the flowgraph is the same.
 */
template <class Block>
class host_copy : public Block
{
public:
    host_copy(const char* name, int item_bytes)
        : gr::block(name,
                    io_signature::make(1, 1, item_bytes),
                    io_signature::make(1, 1, item_bytes)),
          d_item_bytes(static_cast<std::size_t>(item_bytes))
    {
    }
    std::string memory() const override { return "host"; }
    std::string failure() const override { return {}; }
    void forecast(int, gr_vector_int& ninput_items_required) override
    {
        ninput_items_required[0] = 1;
    }
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        const int n = std::min(noutput_items, ninput_items[0]);
        std::memcpy(
            output_items[0], input_items[0], static_cast<std::size_t>(n) * d_item_bytes);
        this->consume_each(n);
        return n;
    }

private:
    const std::size_t d_item_bytes;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_HOST_COPY_H */
