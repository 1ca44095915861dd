/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_RING_BUFFER_H
#define INCLUDED_RDMA_RING_BUFFER_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_type.h>
#include <gnuradio/rdma/api.h>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace rdma {

namespace mem {
class gpu;
class ring_memory;
} // namespace mem
class kernel_log;
class ring_device;

/*!
 * \brief The ring as GNU Radio's buffer: double mapped, its memory registered with the
 * NIC. The memory is the host's or a GPU's.
 *
 * Give `ring_buffer::type` in an io_signature to get one. Ordinary host blocks may read
 * it beside blocks that declare it; ordinary host blocks may write it in front of blocks
 * that declare it, one or several, beside ordinary readers. Up to 3.10.12 GNU Radio looks
 * for the type that a reader wants in the reader's *output* signature: a block that
 * declares the type for input i declares it for output i as well, and a sink gives
 * `io_signature::make(0, 0, 0, ring_buffer::type)`.
 *
 * Sizes are items unless they say bytes. All bufsize() items can be filled (GNU Radio's
 * own buffer leaves one free): indices run modulo twice the size, so full and empty
 * differ. What a reader's history sees in front of the first item is zero.
 *
 * In GPU memory, device blocks (device_block.h) get device pointers; ordinary blocks that
 * read or write it get the CPU's pointers into a pinned mirror, which exists only for
 * them. An item is free when all readers are past it and the kernels are done that they
 * had launched by then; a writer that waits for it is woken when they are.
 *
 * Threads: as gr::buffer, under its mutex. Nothing here waits, but for the copy to the
 * mirror of what is about to be seen by a host reader.
 */
class RDMA_API ring_buffer : public gr::buffer
{
public:
    static gr::buffer_type type;

    /*!
     * \brief Called by GNU Radio while it builds a flowgraph.
     *
     * A writer that is a ring_client brings its own memory; else a host ring of at least
     * \p nitems is made: at least 256 KiB, unless the writer limits its output buffer.
     * Where the writer or the owner is a device_block, the ring is in its GPU's memory,
     * at least 8 MiB. The writer's max_noutput_items becomes bufsize() where nobody has
     * set it.
     *
     * \param link the block that writes \param buf_owner the block whose type it is; not
     * the writer where a reader had the writer's ordinary buffer replaced
     * \throws config_error the item size cannot make a ring, or the ring is no whole
     * number of items or has too many; with the numbers
     * \throws out_of_memory, os_error as the memory's own constructor
     */
    static gr::buffer_sptr make_buffer(int nitems,
                                       std::size_t sizeof_item,
                                       std::uint64_t downstream_lcm_nitems,
                                       std::uint32_t downstream_max_out_mult,
                                       gr::block_sptr link = gr::block_sptr(),
                                       gr::block_sptr buf_owner = gr::block_sptr());
    ~ring_buffer() override;

    //! Items that may be written from write_pointer() on: up to bufsize(). Hold mutex().
    int space_available() override;
    void* write_pointer() override;
    const void* _read_pointer(unsigned int read_index) override;
    void post_work(int) override {}

    // Overrides a pure virtual function where GNU Radio has it (after 3.10.12, without a
    // new version number), and is a new one elsewhere: hence no `override`, and no macro
    // that an installed header would have to carry.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#endif
    //! The type that make_buffer() belongs to.
    virtual gr::buffer_type get_buffer_type() const;
#ifdef __clang__
#pragma clang diagnostic pop
#endif

    //! Where the memory is: "host", or "cuda:0".
    std::string device() const;
    //! What there is of it besides, in GPU memory; else null. For device_block.
    ring_device* on_device() const noexcept { return d_device.get(); }
    //! Makes the mirror if a reader is no device block. For the writer, before it starts.
    //! \throws out_of_memory, os_error, cuda_error
    void serve_host_readers();
    //! Whose kernels write it, or null: to tell them from the readers' if one fails. For
    //! device_block. Hold mutex().
    void set_writer_log(std::shared_ptr<const kernel_log> log);
    //! The writer's round of work that the newest item is from. Hold mutex().
    std::uint32_t written_round() const noexcept { return d_written_round; }
    //! The first error that the GPU had on this ring's behalf, or 0. Hold mutex().
    int device_error() const noexcept;

    //! Byte offset of the next item to write, in the first mapping. Hold mutex().
    std::uint64_t write_offset_bytes() const noexcept;
    //! Changes with every write, by when its items can be read, or a moment earlier. Any
    //! thread, without mutex().
    unsigned writes() const noexcept { return d_writes.load(std::memory_order_acquire); }
    //! Bytes of one mapping.
    std::uint64_t ring_bytes() const noexcept;
    //! Most items that any reader keeps unread in front of its first one: its history
    //! less one. A writer of whole slots needs room for a slot beside them.
    unsigned max_preload() const noexcept { return d_max_preload; }

protected:
    //! Indices are in [0, 2 * bufsize()). buffer_add_reader() calls index_sub() once for
    //! each new reader.
    //! \throws config_error the new reader's history is longer than the ring
    unsigned index_add(unsigned a, unsigned b) override;
    unsigned index_sub(unsigned a, unsigned b) override;

private:
    ring_buffer(std::shared_ptr<mem::ring_memory> memory,
                std::size_t sizeof_item,
                std::uint64_t downstream_lcm_nitems,
                std::uint32_t downstream_max_out_mult,
                gr::block_sptr link);
    void use_device(const std::shared_ptr<mem::gpu>& gpu, const gr::block_sptr& writer);
    void count_gpu_work(unsigned& most_unread, const gr::buffer_reader*& slowest);
    void admit_reader(unsigned preload);
    void adopt_displaced_readers();
    void refuse_long_history(unsigned preload) const;

    std::shared_ptr<mem::ring_memory> d_memory;
    std::unique_ptr<ring_device> d_device; // null in host memory
    std::shared_ptr<const kernel_log> d_writer_log;
    std::uint32_t d_written_round = 0;
    unsigned d_max_preload = 0;
    std::atomic<unsigned> d_writes{ 0 };
    // What the writer's ports held before this ring replaced one of them.
    std::vector<gr::buffer_sptr> d_displaced;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_RING_BUFFER_H */
