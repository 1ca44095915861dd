/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_RING_DEVICE_H
#define INCLUDED_RDMA_RING_DEVICE_H

#include "mem/gpu.h"
#include "mem/pinned_mirror.h"
#include "pending_work.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
class block;

namespace rdma {

/*!
 * \brief The part of a ring_buffer that is there when its memory is a GPU's: who still
 * works on which span, and the host mirror for those who are no device blocks.
 *
 * Release rule: a span is free when every reader is past it and what the readers have
 * put into their streams by then is done. Readers are known by a key of the caller's;
 * who has no stream here reads the mirror with the CPU, and is done when it is past.
 *
 * Positions are absolute item counts, offsets bytes in the ring. The caller holds the
 * buffer's mutex in every method, except where it says otherwise. noexcept methods do
 * not wait for the GPU, except wrote() where the CPU reads the span.
 */
class ring_device
{
public:
    //! Who fills the ring.
    enum class writer : std::uint8_t {
        device, //!< kernels of a device block
        host,   //!< the CPU, or a NIC that cannot reach the GPU: through the mirror
        direct  //!< a NIC, or whoever has finished with the device memory when it says so
    };

    /*!
     * \param ring the device memory, which outlives this \param mirror may be null, but
     * not for writer::host
     * \param wakes the block that is woken when a span comes free and it had too little
     * \throws cuda_error
     */
    ring_device(std::shared_ptr<mem::gpu> gpu,
                const mem::region& ring,
                std::size_t item_bytes,
                writer who,
                std::shared_ptr<mem::pinned_mirror> mirror,
                std::weak_ptr<gr::block> wakes);
    //! Waits for copies that are under way.
    ~ring_device();
    ring_device(const ring_device&) = delete;
    ring_device& operator=(const ring_device&) = delete;

    mem::gpu& gpu() const noexcept { return *d_gpu; }
    writer who() const noexcept { return d_who; }

    //! Somebody reads with the CPU: make the mirror. No mutex; before the stream starts.
    //! \throws as pinned_mirror
    void need_mirror();
    //! Clears a span of the mirror, if there is one; see ring_memory::zero().
    void zero_mirror(std::uint64_t offset, std::uint64_t bytes)
    {
        if (d_mirror)
            d_mirror->zero(offset, bytes);
    }
    //! CPU address of the ring, or null. Any thread.
    std::byte* host_base() const noexcept { return d_host_base; }

    //! The calling thread works for a device block: its pointers are the device's.
    static void mark_thread(bool is_device) noexcept;
    static bool thread_is_device() noexcept;

    //! A reader whose work is in \p stream. \throws cuda_error
    void attach(const void* reader,
                mem::gpu_stream* stream,
                std::uint64_t position,
                std::shared_ptr<const kernel_log> log = nullptr);
    //! Its work is done, and it reads no more.
    void detach(const void* reader) noexcept;
    //! From now on what it reads stays, however much it consumes. Its stream waits for
    //! what the writer has in flight, unless it does already: \p asked becomes true if
    //! the driver was called. \return 0 or the driver's error code
    int begin_work(const void* reader, std::uint64_t position, bool& asked) noexcept;
    //! What it has consumed up to \p position stays until its stream is through.
    //! \return 0 or the driver's error code
    int end_work(const void* reader, std::uint64_t position) noexcept;
    //! Items in front of \p position, where the reader is, that its kernels still read.
    std::uint64_t held(const void* reader, std::uint64_t position) noexcept;

    //! The stream of a device block that writes, or null.
    void set_writer(mem::gpu_stream* stream) noexcept { d_writer = stream; }
    /*!
     * \brief The writer has written \p bytes at \p offset, up to \p position.
     *
     * A mirror is brought up to date, or the device from it. Returns when the CPU may
     * read the mirror; copies to the device go on behind it.
     *
     * \return whether readers may have it; not where the CPU reads a mirror and the
     * device has failed: that holds anything then. error() tells the writer, and device
     * blocks.
     */
    bool
    wrote(std::uint64_t offset, std::uint64_t bytes, std::uint64_t position) noexcept;
    //! Items in front of \p position that still are on their way to the device.
    std::uint64_t copying(std::uint64_t position) noexcept;

    //! Wake the writer when the next span comes free. \p reader: the slowest one, or
    //! null for the copies.
    void wake_when_free(const void* reader) noexcept;

    //! The writer is running again: let go of what woke it. To be called before it looks.
    void writer_is_awake() noexcept;
    //! Wakes the writer if what it waits for has failed: the driver may not call then.
    //! For readers, which GNU Radio has look for input at least four times a second.
    void look_after_writer() noexcept;
    //! Nothing of wake_when_free() is under way any more. No mutex.
    void finish_wakes() noexcept;

    //! The first error that the device had here, or 0.
    int error() const noexcept { return d_error; }

private:
    struct reader {
        const void* key;
        mem::gpu_stream* stream;
        pending_work work;
        bool working;
        std::uint64_t waited; //!< of d_writes, how many the stream waits for
    };
    reader* find(const void* key) noexcept;
    int record_ready(mem::gpu_stream& stream) noexcept;
    void note(int code) noexcept
    {
        if (code != 0 && d_error == 0)
            d_error = code;
    }

    std::shared_ptr<mem::gpu> d_gpu;
    const mem::region d_ring;
    const std::size_t d_item_bytes;
    const writer d_who;
    std::shared_ptr<mem::pinned_mirror> d_mirror;
    std::byte* d_host_base = nullptr;
    // What the driver's callback has: left to it for good where it may still come.
    struct wake_ticket final : mem::gpu_callback {
        explicit wake_ticket(std::weak_ptr<gr::block> w) : writer(std::move(w)) {}
        void on_done() noexcept override;
        std::weak_ptr<gr::block> writer;
        std::atomic<bool> armed{ false }; //!< a wake is on its way
    };
    std::unique_ptr<wake_ticket> d_wake;
    std::unique_ptr<mem::gpu_stream> d_copies;
    std::unique_ptr<mem::gpu_stream> d_waits; //!< for wake_when_free()
    std::unique_ptr<mem::gpu_event> d_ready;  //!< behind the newest write
    std::uint64_t d_writes = 0;               //!< times that d_ready was recorded
    pending_work d_pending_copies;
    std::vector<std::unique_ptr<reader>> d_readers;
    mem::gpu_stream* d_writer = nullptr;
    bool d_wake_asked = false; //!< and not been finished
    const mem::gpu_event* d_awaited = nullptr;
    int d_error = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_RING_DEVICE_H */
