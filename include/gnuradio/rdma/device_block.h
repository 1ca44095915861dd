/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DEVICE_BLOCK_H
#define INCLUDED_RDMA_DEVICE_BLOCK_H

#include <gnuradio/block.h>
#include <gnuradio/rdma/api.h>
#include <gnuradio/rdma/ring_buffer.h>
#include <memory>
#include <string>

struct CUstream_st; // what cudaStream_t and CUstream point to

namespace gr {
namespace rdma {

namespace mem {
class gpu;
class gpu_stream;
} // namespace mem
class input_spin;

/*!
 * \brief The base of a block whose work() is CUDA kernels.
 *
 * Derive from it, declare ring_buffer::type for the ports whose memory is the GPU's (see
 * ring_buffer.h for how), and write device_work(): the pointers that it gets are device
 * pointers. It puts kernels into stream(), says what it consumed and produced, and
 * returns without waiting for them:
 *
 *     class scale : public gr::rdma::device_block
 *     {
 *     public:
 *         explicit scale(float factor, const std::string& memory = "auto")
 *             : gr::block("scale", floats(), floats()),
 *               device_block(memory), d_factor(factor) {}
 *         int device_work(int room, gr_vector_int& there, gr_vector_const_void_star& in,
 *                         gr_vector_void_star& out) override
 *         {
 *             const int n = there[0] < room ? there[0] : room;
 *             check(launch_scale(in[0], out[0], n, d_factor, stream()), "launch_scale");
 *             consume_each(n);
 *             return n;
 *         }
 *
 *     private:
 *         static gr::io_signature::sptr floats()
 *         {
 *             return gr::io_signature::make(
 *                 1, 1, sizeof(float), gr::rdma::ring_buffer::type);
 *         }
 *         const float d_factor;
 *     };
 *
 * where launch_scale() launches the kernel and returns cudaGetLastError(). The manual,
 * docs/user/own-cuda-block.md, has the whole of it.
 *
 * The rest is done here. A span of an input is written again only when the kernels that
 * were in the stream when device_work() returned are done. Readers' kernels start behind
 * the writer's. Nothing synchronises on the CPU, several calls may be in flight. Ordinary
 * host blocks may stand in front of a device port, and behind one, beside device blocks.
 * A port that declares no ring is host memory as ever: what kernels write there has to be
 * waited for before device_work() returns.
 *
 * Waiting: with wait=event the thread of a block without input sleeps until the block in
 * front wakes it, as any block's does; on an idle machine that costs tens of
 * microseconds, now and then hundreds. With wait=busy it looks for input all the time:
 * the kernel is launched a few microseconds after the samples are there, and the block
 * takes a CPU of its own for as long as the flowgraph runs. Samples, tags and errors are
 * the same. A block that waits for room in its output sleeps either way.
 *
 * Threads: device_work() runs on the block's thread, on which the GPU is the current
 * device; so it is in a derived block's start() once device_block::start() has returned,
 * and in its stop() until it calls device_block::stop().
 *
 * A neighbour in another memory: start() of the flowgraph throws config_error, with both
 * names and what to put between. Where a host block that wants rings could be meant as
 * well, it is found later, when the block starts, and ends the stream.
 *
 * A CUDA error, an exception out of device_work(), such a neighbour found late: the
 * block logs it with its name and ends its stream, and the flowgraph with it; failure()
 * has the words. A kernel's fault takes all blocks on that GPU with it, and each tells
 * whose kernel it was: of the blocks whose kernels were running then, if there were
 * several. With RDMA_CHECK_KERNELS=1 in the environment when the flowgraph starts, only
 * one block's kernels run at a time, and are waited for: slow, and it is told for
 * certain.
 */
class RDMA_API device_block : virtual public gr::block
{
public:
    ~device_block() override;

    //! GNU Radio asks at the front of every round of the block's thread, at least four
    //! times a second: for spinning, and for failures while no input comes.
    bool has_msg_handler(pmt::pmt_t which_port) override;
    //! For GNU Radio, on the block's thread.
    void dispatch_msg(pmt::pmt_t which_port, pmt::pmt_t msg) override;

    //! "cuda:0"
    std::string device() const;
    //! Why the block ended its stream; empty while all is well. Any thread.
    std::string failure() const;

    //! Derived blocks that override these call start() first and stop() last.
    bool start() override;
    bool stop() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) final;

    //! For GNU Radio, before it makes buffers. Derived blocks that override it call it,
    //! or a neighbour in another memory is found a little later, when the block starts.
    bool check_topology(int ninputs, int noutputs) override;

    //! For ring_buffer.
    const std::shared_ptr<mem::gpu>& gpu() const;
    //! Whether the block can read what is written there.
    bool reads(const ring_buffer& ring) const;
    //! \throws config_error it cannot: with both blocks and memories, and what to do
    void require_memory_of(ring_buffer& ring) const;

protected:
    /*!
     * \param memory the GPU: auto (the first usable one) or cuda: with a number, UUID or
     * PCI address
     * \param wait how to wait for input: event (sleep) or busy (spin)
     * \throws config_error there is no such GPU, or none that can be used, with the
     * reason, and the GPUs that there are; or \p wait is none of the two
     * \throws cuda_error the driver failed
     */
    explicit device_block(const std::string& memory = "auto",
                          const std::string& wait = "event");

    //! Whether its device_work() is able to read host memory where its input is that.
    virtual bool reads_host_rings() const { return false; }
    //! Instead of start(), from a derived block's: in this run device_work() does without
    //! the GPU, and whatever happens there is none of the block's business.
    bool start_on_host();
    //! As gr::block::general_work(), on the GPU. May throw: that ends the stream.
    virtual int device_work(int noutput_items,
                            gr_vector_int& ninput_items,
                            gr_vector_const_void_star& input_items,
                            gr_vector_void_star& output_items) = 0;

    //! The stream of all of the block's work: a cudaStream_t. Made non-blocking.
    CUstream_st* stream() const;
    //! The same, for blocks of this module.
    mem::gpu_stream& queue() const;
    //! Waits until all that is in stream() is done. \throws cuda_error
    void synchronize();
    //! Throws if \p code, a cudaError_t or CUresult, is not 0. \p call: what gave it.
    //! \throws cuda_error with what to do, if the build has no code for the GPU
    void check(int code, const char* call) const;

private:
    struct state;
    std::unique_ptr<state> d_state;

    bool serve_messages();
    void look_for_late_failure();
    void enter();
    void leave() noexcept;
    void fail(const std::string& why);
    void fail_by_gpu(int code);
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DEVICE_BLOCK_H */
