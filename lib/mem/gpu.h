/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_GPU_H
#define INCLUDED_RDMA_MEM_GPU_H

#include "mem/region.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

/*!
 * GPUs as the rest of the module sees them: without a CUDA type, so that nobody else
 * includes CUDA's headers, and there in every build. cuda_gpu.cc implements this on the
 * driver's table (cuda_driver.h); a build without CUDA has cuda_none.cc, in which no GPU
 * can be opened and the reason says so.
 *
 * Methods that are noexcept are for the data path: they return 0 or the driver's error
 * code, never wait unless they say so, and allocate nothing. gpu_error_text() has the
 * words. The others throw.
 */
namespace gr {
namespace rdma {
namespace mem {

//! Why no GPU can be used on this machine.
enum class gpu_absence : std::uint8_t {
    none, //!< there is one
    not_built,
    no_driver,
    stub_library, //!< the toolkit's libcuda, which is for linking only
    too_old,      //!< the driver is older than the toolkit of the build
    no_device,
    broken //!< a driver that fails in another way
};

//! What the machine's CUDA driver says; asked once a process.
struct gpu_state {
    gpu_absence absence = gpu_absence::not_built;
    std::string reason; //!< in words, with what to do; empty where there is a GPU
    int driver = 0;     //!< CUDA version of the driver, as 13000; 0: none
    int build = 0;      //!< CUDA version of the toolkit of this build; 0: without CUDA
};
const gpu_state& state_of_gpus();
inline bool has_cuda() { return state_of_gpus().absence == gpu_absence::none; }

//! A device, as its driver describes it.
struct gpu_info {
    int ordinal = -1;           //!< number in CUDA's order of this process
    std::string name;           //!< "NVIDIA H200"
    std::string uuid;           //!< "GPU-6f1c...": the same in every process
    std::string pci;            //!< "0000:17:00.0"
    int compute_capability = 0; //!< 90 for 9.0
    std::uint64_t memory_bytes = 0;
    bool integrated = false; //!< shares the host's memory
    bool vmm = false;        //!< virtual memory management: what rings need
    bool rdma = false;       //!< GPUDirect RDMA, by nvidia-peermem
    bool rdma_vmm = false;   //!< GPUDirect RDMA for memory made by VMM
    bool dma_buf = false;    //!< export as dma-buf
    int writes_ordering =
        0; //!< 0 none, 100 owner, 200 all: who sees a NIC's writes unflushed
    unsigned flush_options = 0; //!< 1 host call, 2 stream memory operations

    //! "cuda:0": what tags and `memory=` say.
    std::string tag() const { return "cuda:" + std::to_string(ordinal); }
    //! "cuda:0 (NVIDIA H200, 0000:17:00.0)": for messages.
    std::string describe() const { return tag() + " (" + name + ", " + pci + ")"; }
};

//! The window through which NICs reach a GPU's memory; 0 where unknown.
struct bar1_memory {
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;
};

//! Memory of a GPU exported as a file descriptor for ibv_reg_dmabuf_mr(). Owns it.
class dma_buf
{
public:
    dma_buf() = default;
    dma_buf(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept
        : d_fd(fd), d_offset(offset), d_bytes(bytes)
    {
    }
    dma_buf(dma_buf&& other) noexcept { swap(other); }
    dma_buf& operator=(dma_buf&& other) noexcept
    {
        dma_buf(std::move(other)).swap(*this);
        return *this;
    }
    ~dma_buf(); //!< closes; a registration keeps the memory by itself

    int fd() const noexcept { return d_fd; }
    //! Where the memory asked for begins in the export, which begins on a host page.
    std::uint64_t offset() const noexcept { return d_offset; }
    //! Length of the export: whole host pages.
    std::uint64_t bytes() const noexcept { return d_bytes; }

private:
    void swap(dma_buf& other) noexcept;
    int d_fd = -1;
    std::uint64_t d_offset = 0;
    std::uint64_t d_bytes = 0;
};

class gpu_event;

//! Called by a thread of the driver. It must not call CUDA, and be short: the stream
//! stands still meanwhile.
class gpu_callback
{
public:
    virtual void on_done() noexcept = 0;

protected:
    ~gpu_callback() = default;
};

/*!
 * \brief A queue of work of one GPU: done in order, behind the caller's back.
 *
 * Any thread may call any method; two threads that put work in at once get it in some
 * order. Destroying it lets the work that is in it finish.
 */
class gpu_stream
{
public:
    virtual ~gpu_stream() = default;
    virtual void* native() const noexcept = 0; //!< the cudaStream_t
    //! What follows starts when what \p event was last recorded behind is done.
    virtual int wait(const gpu_event& event) noexcept = 0;
    //! Copies; addresses of the device or of pinned host memory. Ordinary host memory
    //! makes it wait.
    virtual int
    copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept = 0;
    virtual int fill(std::uint64_t to, int value, std::size_t bytes) noexcept = 0;
    //! Writes \p value to 32 bits of pinned host memory when what precedes is done. Far
    //! cheaper than a copy. \return gpu_not_supported where the driver cannot
    virtual int write(std::uint64_t to, std::uint32_t value) noexcept = 0;
    //! Calls \p callback, which must live until then, when what precedes is done, or has
    //! failed. Not relied upon after a fault of the device: some drivers stop calling.
    virtual int notify(gpu_callback& callback) noexcept = 0;
    //! 0: all of it is done; gpu_not_ready: not yet; else what went wrong on the device.
    virtual int query() const noexcept = 0;
    //! Waits until all of it is done. \return the first error among it
    virtual int synchronize() noexcept = 0;
};

/*!
 * \brief A point in a stream. Unrecorded ones count as done.
 *
 * Recording again moves it. Any thread may ask; recording is for one thread at a time.
 */
class gpu_event
{
public:
    virtual ~gpu_event() = default;
    virtual void* native() const noexcept = 0; //!< the cudaEvent_t
    virtual int record(gpu_stream& stream) noexcept = 0;
    //! 0: done; gpu_not_ready: not yet; else what went wrong on the device.
    virtual int query() const noexcept = 0;
    //! Waits for it.
    virtual int synchronize() noexcept = 0;
};
constexpr int gpu_not_ready = 600;
constexpr int gpu_not_supported = 801;
//! "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
std::string gpu_error_text(int code);

//! Host memory that a GPU's copy engine reads and writes by itself while this lives.
class pinned_range
{
public:
    virtual ~pinned_range() = default;
};

//! What a ring of device memory is to be; sizes are bytes.
struct gpu_ring_config {
    std::uint64_t min_bytes = 0;  //!< the ring is at least this long
    std::uint64_t unit_bytes = 1; //!< and a whole number of these: items, or slots
};

//! A ring that may be exported for registration.
class gpu_ring : public ring_memory
{
public:
    /*!
     * \brief Export [offset, offset + bytes) of the first mapping. Start and length are
     * rounded out to whole host pages.
     *
     * \throws config_error the device or its driver cannot export, in words; or the span
     * is not in the ring
     * \throws cuda_error the export failed
     */
    virtual dma_buf export_dma_buf(std::uint64_t offset, std::uint64_t bytes) const = 0;
    //! Whether a NIC may be given this memory; what the driver made, not what was asked.
    virtual bool rdma_capable() const noexcept = 0;
};

/*!
 * \brief One GPU, with its primary context held: the one that CUDA's runtime uses too.
 *
 * Streams, events and rings keep it alive. Any thread may call any method; the thread's
 * current context is put back afterwards, but for make_current().
 */
class gpu
{
public:
    virtual ~gpu() = default;
    virtual const gpu_info& info() const noexcept = 0;
    //! For a thread that calls CUDA by itself: kernels of this thread run here from now.
    virtual int make_current() noexcept = 0;
    //! \throws cuda_error
    virtual std::unique_ptr<gpu_stream> make_stream() = 0;
    //! \throws cuda_error
    virtual std::unique_ptr<gpu_event> make_event() = 0;
    //! Pins host memory, which must outlive the result. \throws cuda_error
    virtual std::unique_ptr<pinned_range> pin(void* address, std::size_t bytes) = 0;
    /*!
     * \brief A ring mapped twice, in device memory; on an integrated GPU, pinned host
     * memory, which is the same memory there.
     *
     * \throws config_error, out_of_memory, cuda_error as cuda_ring and host_ring
     */
    virtual std::shared_ptr<ring_memory> make_ring(const gpu_ring_config& config) = 0;
    //! \throws cuda_error
    virtual std::uint64_t free_bytes() const = 0;
    virtual bar1_memory bar1() const = 0;
    //! Makes what NICs wrote so far visible to every kernel that starts later; waits.
    virtual int flush_rdma_writes() noexcept = 0;
};

/*!
 * \brief Open the GPU called \p name: "cuda:0", "cuda:GPU-6f1c..." or
 * "cuda:0000:17:00.0".
 *
 * The same object for the same device while anybody holds it.
 * \throws config_error nothing of that name, with the devices that there are; no usable
 * driver or device, with the reason; a build without CUDA
 * \throws cuda_error the driver failed
 */
std::shared_ptr<gpu> open_gpu(const std::string& name);

/*!
 * \brief The GPU that `memory=` means.
 *
 * \return null for "host", and for "auto" where there is no GPU that rings can be made on
 * (why is in \p reason)
 * \throws config_error \p memory is none of auto, host, cuda:...; or as open_gpu()
 */
std::shared_ptr<gpu> choose_gpu(const std::string& memory, std::string* reason = nullptr);

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_GPU_H */
