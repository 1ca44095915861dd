/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "block_checks.h"
#include "device_block_state.h"
#include "flowgraph_memory.h"
#include "gpu_choice.h"
#include "ring_device.h"
#include "writer_wake.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/rdma/error.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace gr {
namespace rdma {

namespace {

std::shared_ptr<mem::gpu> usable_gpu(const std::string& memory)
{
    std::string reason;
    auto gpu = mem::choose_gpu(memory, &reason);
    if (!gpu)
        throw config_error(
            "memory='" + memory + "': this block needs a GPU" +
            (reason.empty() ? "; use auto, or cuda: with its number" : ": " + reason));
    return gpu;
}

} // namespace

device_block::device_block(const std::string& memory, const std::string& wait)
    : d_state(std::make_unique<state>())
{
    if (waits_busily(wait))
        d_state->spin =
            std::make_unique<input_spin>(*this, [this] { return serve_messages(); });
    d_state->gpu = usable_gpu(memory);
    d_state->stream = d_state->gpu->make_stream();
    d_state->board = kernel_board::of(d_state->gpu);
    d_state->log = std::make_shared<kernel_log>(d_state->board, identifier());
}

device_block::~device_block() = default;

const std::shared_ptr<mem::gpu>& device_block::gpu() const { return d_state->gpu; }
std::string device_block::device() const { return d_state->gpu->info().tag(); }

bool device_block::check_topology(int ninputs, int noutputs)
{
    flowgraph_memory::has(*this);
    return block::check_topology(ninputs, noutputs);
}

bool device_block::reads(const ring_buffer& ring) const
{
    return ring.device() == device() || (ring.device() == "host" && reads_host_rings());
}

void device_block::require_memory_of(ring_buffer& ring) const
{
    if (reads(ring))
        return;
    const block_sptr from = ring.link();
    const std::string writer = from ? from->identifier() : "another block";
    const std::string there = ring.device();
    const std::string between =
        there == "host" ? "rdma.to_device with memory=\"" + device() + "\""
                        : "rdma.to_host with memory=\"" + there +
                              "\" and rdma.to_device with memory=\"" + device() + "\"";
    throw config_error(identifier() + " works on " + device() + ", and " + writer +
                       " in front of it writes to " + there +
                       ": give both the same memory, or put " + between +
                       " between them");
}

std::string device_block::failure() const { return d_state->failure.text(); }

bool device_block::has_msg_handler(pmt::pmt_t which_port)
{
    // Every block has this port, so it is once a round.
    static const pmt::pmt_t system = pmt::mp("system");
    if (!d_state->dispatching && pmt::eq(which_port, system)) {
        if (d_state->spin)
            d_state->spin->round();
        look_for_late_failure();
    }
    return block::has_msg_handler(which_port);
}

// Of work that was the last for now: if nothing more comes, nobody calls for it.
void device_block::look_for_late_failure()
{
    state& s = *d_state;
    const std::uint32_t begun = s.log->begun();
    if (!s.entered || std::exchange(s.rounds_seen, begun) != begun)
        return;
    const int code = s.late_error();
    if (code == 0 || s.failure.has_come())
        return;
    fail_by_gpu(code);
    // Without input a block is done when no more can come: this round is the last.
    const block_detail_sptr d = detail();
    for (int i = 0; i < d->ninputs(); ++i)
        d->input(static_cast<unsigned>(i))->set_done(true);
}

void device_block::dispatch_msg(pmt::pmt_t which_port, pmt::pmt_t msg)
{
    // It asks for the handler, and is not the front of a round.
    const bool before = std::exchange(d_state->dispatching, true);
    struct leave {
        bool& dispatching;
        const bool before;
        ~leave() { dispatching = before; }
    } const left{ d_state->dispatching, before };
    block::dispatch_msg(which_port, msg);
}

bool device_block::serve_messages()
{
    bool any = false;
    for (const auto& port : msg_queue) {
        if (!block::has_msg_handler(port.first))
            continue;
        while (const pmt::pmt_t message = delete_head_nowait(port.first)) {
            dispatch_msg(port.first, message);
            any = true;
        }
    }
    return any;
}

CUstream_st* device_block::stream() const
{
    return static_cast<CUstream_st*>(d_state->stream->native());
}

mem::gpu_stream& device_block::queue() const { return *d_state->stream; }

void device_block::check(int code, const char* call) const
{
    if (code == 0)
        return;
    std::string why = std::string(call) + " failed with " + mem::gpu_error_text(code);
    const int capability = d_state->gpu->info().compute_capability;
    if (code == no_code_for_gpu)
        why += ": the block was compiled for other GPUs; build it with "
               "-DCMAKE_CUDA_ARCHITECTURES=" +
               std::to_string(capability);
    else if (code == ptx_too_new)
        why +=
            ": the driver is older than the toolkit that compiled the block, and there "
            "is no finished code for this GPU; update the driver, or build with "
            "-DCMAKE_CUDA_ARCHITECTURES=" +
            std::to_string(capability);
    throw cuda_error(code, why);
}

void device_block::synchronize()
{
    check(d_state->stream->synchronize(), "cudaStreamSynchronize");
}

void device_block::fail(const std::string& why)
{
    const std::string where = d_state->on_host ? "the host" : gpu()->info().describe();
    const std::string text = identifier() + " on " + where + ": " + why;
    if (d_state->failure.set(text))
        d_logger->error("{:s}", text);
}

void device_block::fail_by_gpu(int code)
{
    fail(d_state->board->describe(code, "a call of the driver"));
}

bool device_block::start()
{
    d_state->failure.clear();
    d_state->on_host = false;
    try {
        check(d_state->gpu->make_current(), "cuCtxSetCurrent");
        enter();
    } catch (const std::exception& e) {
        // GNU Radio would hang: general_work() ends the stream.
        fail(e.what());
    }
    return block::start();
}

bool device_block::start_on_host()
{
    d_state->failure.clear();
    d_state->on_host = true;
    return block::start();
}

void device_block::enter()
{
    state& s = *d_state;
    ring_device::mark_thread(true);
    s.entered = true;
    const char* const check_kernels = std::getenv("RDMA_CHECK_KERNELS");
    s.takes_turns = check_kernels && std::strcmp(check_kernels, "0") != 0;
    const block_detail_sptr d = detail();
    for (int i = 0; i < d->ninputs(); ++i) {
        const buffer_reader_sptr reader = d->input(i);
        auto* const ring = dynamic_cast<ring_buffer*>(reader->buffer().get());
        if (!ring)
            continue; // host memory, and declared as such
        if (ring->device() != device())
            require_memory_of(*ring);
        gr::thread::scoped_lock lock(*ring->mutex());
        ring->on_device()->attach(
            reader.get(), s.stream.get(), reader->nitems_read(), s.log);
        const auto writer = std::dynamic_pointer_cast<device_block>(ring->link());
        s.inputs.push_back({ ring, reader.get(), writer != nullptr });
        if (writer)
            s.log->reads_from(writer->d_state->log);
    }
    s.needs.reserve(s.inputs.size());
    for (int i = 0; i < d->noutputs(); ++i) {
        auto* const ring = dynamic_cast<ring_buffer*>(d->output(i).get());
        if (!ring || !ring->on_device())
            continue;
        ring->serve_host_readers();
        gr::thread::scoped_lock lock(*ring->mutex());
        ring->on_device()->set_writer(s.stream.get());
        ring->set_writer_log(s.log);
        s.outputs.push_back(ring);
    }
    if (s.spin)
        s.spin->begin();
}

bool device_block::stop()
{
    leave();
    return block::stop();
}

void device_block::leave() noexcept
{
    state& s = *d_state;
    if (!s.entered)
        return;
    s.entered = false;
    if (s.spin)
        s.spin->end();
    // Nothing of ours reads or writes the rings any more. The last kernels may have
    // failed where nobody asks for more of them.
    int code = s.stream->synchronize();
    code = code != 0 ? code : s.late_error();
    if (code != 0)
        fail_by_gpu(code);
    for (const state::input& in : s.inputs) {
        in.ring->on_device()->finish_wakes();
        gr::thread::scoped_lock lock(*in.ring->mutex());
        in.ring->on_device()->detach(in.reader);
    }
    for (ring_buffer* const ring : s.outputs) {
        ring->on_device()->finish_wakes();
        gr::thread::scoped_lock lock(*ring->mutex());
        ring->on_device()->set_writer(nullptr);
        ring->set_writer_log(nullptr);
    }
    finish_wakes();
    s.log->reads_from_nobody();
    s.needs.clear();
    s.inputs.clear();
    s.outputs.clear();
    ring_device::mark_thread(false);
}

int device_block::general_work(int noutput_items,
                               gr_vector_int& ninput_items,
                               gr_vector_const_void_star& input_items,
                               gr_vector_void_star& output_items)
{
    state& s = *d_state;
    const auto work = [&] {
        try {
            return device_work(noutput_items, ninput_items, input_items, output_items);
        } catch (const std::exception& e) {
            // What a call of this block's was told may be another block's doing.
            fail(e.what() + (!s.on_host && s.board->has_failed()
                                 ? "; the GPU failed " + s.board->verdict()
                                 : ""));
            return static_cast<int>(WORK_DONE);
        }
    };
    if (s.on_host)
        return s.failure.has_come() ? WORK_DONE : work();
    std::unique_lock<std::mutex> alone;
    if (s.takes_turns)
        alone = std::unique_lock<std::mutex>(s.board->one_at_a_time());
    int code = s.begin_work();
    int produced = WORK_DONE;
    if (code == 0 && !s.failure.has_come()) {
        s.log->begin(s.needs.data());
        produced = work();
        code = s.log->end(*s.stream);
        if (s.takes_turns && code == 0)
            code = s.stream->synchronize();
    }
    const int ended = s.end_work();
    code = code != 0 ? code : ended;
    if (code != 0 && !s.failure.has_come())
        fail_by_gpu(code);
    return s.failure.has_come() ? WORK_DONE : produced;
}

} // namespace rdma
} // namespace gr
