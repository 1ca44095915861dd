/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_RING_BUFFER_H
#define INCLUDED_RDMA_RING_BUFFER_H

#include <cstdint>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_type.h>
#include <gnuradio/rdma/api.h>
#include <memory>

namespace gr {
namespace rdma {

namespace mem {
class ring_memory;
}

/*!
 * \brief The ring as GNU Radio's buffer: double mapped, its memory registered with the
 * NIC.
 *
 * Give `ring_buffer::type` in an io_signature to get one. Ordinary host blocks may read
 * it beside blocks that declare it; ordinary host blocks may write it in front of blocks
 * that declare it. All bufsize() items can be filled: indices run modulo twice the size,
 * so full and empty differ.
 *
 * Threads: as gr::buffer, under its mutex.
 */
class RDMA_API ring_buffer : public gr::buffer
{
public:
    static gr::buffer_type type;

    //! Called by GNU Radio. A writer that is a ring_client brings its own memory; else a
    //! host ring of at least \p nitems is made. \throws out_of_memory, os_error
    static gr::buffer_sptr make_buffer(int nitems,
                                       std::size_t sizeof_item,
                                       std::uint64_t downstream_lcm_nitems,
                                       std::uint32_t downstream_max_out_mult,
                                       gr::block_sptr link = gr::block_sptr(),
                                       gr::block_sptr buf_owner = gr::block_sptr());
    ~ring_buffer() override;

    int space_available() override;
    void* write_pointer() override;
    const void* _read_pointer(unsigned int read_index) override;
    void post_work(int nitems) override;

    //! Byte offset of the next item to write, in the first mapping. Hold mutex().
    std::uint64_t write_offset_bytes() const noexcept;

protected:
    unsigned index_add(unsigned a, unsigned b) override;
    unsigned index_sub(unsigned a, unsigned b) override;

private:
    ring_buffer(std::shared_ptr<mem::ring_memory> memory,
                std::size_t sizeof_item,
                std::uint64_t downstream_lcm_nitems,
                std::uint32_t downstream_max_out_mult,
                gr::block_sptr link);

    std::shared_ptr<mem::ring_memory> d_memory;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_RING_BUFFER_H */
