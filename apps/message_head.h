/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_MESSAGE_HEAD_H
#define INCLUDED_RDMA_APPS_MESSAGE_HEAD_H

#include <gnuradio/block.h>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief Copies so many items, with their tags, then ends the stream.
 *
 * Unlike blocks.head it ends together with the last item, not with the one behind it:
 * behind the last message there may be none.
 */
class message_head : public gr::block
{
public:
    message_head(std::size_t item_bytes, std::uint64_t items);

    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    const std::size_t d_item_bytes;
    std::uint64_t d_left;
    std::vector<gr::tag_t> d_tags; // kept for its memory
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_MESSAGE_HEAD_H */
