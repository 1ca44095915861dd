/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "block_checks.h"
#include "input_spin.h"
#include "mem/gpu.h"
#include "ring_device.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/rdma/error.h>

#include <mutex>
#include <vector>

namespace gr {
namespace rdma {

struct device_block::state {
    std::shared_ptr<mem::gpu> gpu;
    std::unique_ptr<mem::gpu_stream> stream;
    bool entered = false;
    std::unique_ptr<input_spin> spin;  // wait=busy
    std::vector<ring_buffer*> outputs; // in GPU memory, between start() and stop()
    struct input {
        ring_buffer* ring;
        buffer_reader* reader;
    };
    std::vector<input> inputs;
    mutable std::mutex mutex; // guards failure
    std::string failure;
};

namespace {

std::shared_ptr<mem::gpu> usable_gpu(const std::string& memory)
{
    std::string reason;
    auto gpu = mem::choose_gpu(memory, &reason);
    if (!gpu)
        throw config_error("memory=" + memory + ": this block needs a GPU" +
                           (reason.empty() ? "" : ": " + reason));
    return gpu;
}

std::string mismatch(const std::string& reader, const ring_buffer& ring, block_sptr from)
{
    const std::string writer = from ? from->identifier() : "another block";
    return "it reads what " + writer + " writes to " + ring.device() +
           "; give both the same memory, or put rdma.to_host or rdma.to_device between " +
           writer + " and " + reader;
}

} // namespace

device_block::device_block(const std::string& memory, const std::string& wait)
    : d_state(std::make_unique<state>())
{
    if (waits_busily(wait))
        d_state->spin = std::make_unique<input_spin>(*this);
    d_state->gpu = usable_gpu(memory);
    d_state->stream = d_state->gpu->make_stream();
}

device_block::~device_block() = default;

const std::shared_ptr<mem::gpu>& device_block::gpu() const { return d_state->gpu; }
std::string device_block::device() const { return d_state->gpu->info().tag(); }

std::string device_block::failure() const
{
    const std::lock_guard<std::mutex> lock(d_state->mutex);
    return d_state->failure;
}

bool device_block::has_msg_handler(pmt::pmt_t which_port)
{
    // Every block has this port; others would have it spin several times a round.
    static const pmt::pmt_t system = pmt::mp("system");
    if (d_state->spin && pmt::eq(which_port, system))
        d_state->spin->round();
    return block::has_msg_handler(which_port);
}

CUstream_st* device_block::stream() const
{
    return static_cast<CUstream_st*>(d_state->stream->native());
}

mem::gpu_stream& device_block::queue() const { return *d_state->stream; }

void device_block::check(int code, const char* call) const
{
    if (code != 0)
        throw cuda_error(code,
                         std::string(call) + " failed with " + mem::gpu_error_text(code));
}

void device_block::synchronize()
{
    check(d_state->stream->synchronize(), "cudaStreamSynchronize");
}

void device_block::fail(const std::string& why)
{
    {
        const std::lock_guard<std::mutex> lock(d_state->mutex);
        if (!d_state->failure.empty())
            return;
        d_state->failure =
            identifier() + " on " + d_state->gpu->info().describe() + ": " + why;
    }
    d_logger->error("{:s}", failure());
}

bool device_block::start()
{
    try {
        {
            const std::lock_guard<std::mutex> lock(d_state->mutex);
            d_state->failure.clear();
        }
        check(d_state->gpu->make_current(), "cuCtxSetCurrent");
        enter();
    } catch (const std::exception& e) {
        // GNU Radio would hang: general_work() ends the stream.
        fail(e.what());
    }
    return block::start();
}

void device_block::enter()
{
    state& s = *d_state;
    ring_device::mark_thread(true);
    s.entered = true;
    const block_detail_sptr d = detail();
    for (int i = 0; i < d->ninputs(); ++i) {
        const buffer_reader_sptr reader = d->input(i);
        auto* const ring = dynamic_cast<ring_buffer*>(reader->buffer().get());
        if (!ring)
            continue; // host memory, and declared as such
        if (ring->device() != device())
            throw config_error(mismatch(identifier(), *ring, ring->link()));
        gr::thread::scoped_lock lock(*ring->mutex());
        ring->on_device()->attach(reader.get(), s.stream.get(), reader->nitems_read());
        s.inputs.push_back({ ring, reader.get() });
    }
    for (int i = 0; i < d->noutputs(); ++i) {
        auto* const ring = dynamic_cast<ring_buffer*>(d->output(i).get());
        if (!ring || !ring->on_device())
            continue;
        ring->serve_host_readers();
        gr::thread::scoped_lock lock(*ring->mutex());
        ring->on_device()->set_writer(s.stream.get());
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
    s.stream->synchronize(); // nothing of ours reads or writes the rings any more
    for (const state::input& in : s.inputs) {
        in.ring->on_device()->finish_wakes();
        gr::thread::scoped_lock lock(*in.ring->mutex());
        in.ring->on_device()->detach(in.reader);
    }
    for (ring_buffer* const ring : s.outputs) {
        ring->on_device()->finish_wakes();
        gr::thread::scoped_lock lock(*ring->mutex());
        ring->on_device()->set_writer(nullptr);
    }
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
    int code = 0;
    for (const state::input& in : s.inputs) {
        gr::thread::scoped_lock lock(*in.ring->mutex());
        const int begun =
            in.ring->on_device()->begin_work(in.reader, in.reader->nitems_read());
        code = code != 0 ? code : begun;
    }
    int produced = WORK_DONE;
    bool failed = code != 0 || !failure().empty();
    if (!failed) {
        try {
            produced =
                device_work(noutput_items, ninput_items, input_items, output_items);
        } catch (const std::exception& e) {
            fail(e.what());
            failed = true;
        }
    }
    for (const state::input& in : s.inputs) {
        gr::thread::scoped_lock lock(*in.ring->mutex());
        ring_device& ring = *in.ring->on_device();
        const int ended = ring.end_work(in.reader, in.reader->nitems_read());
        code = code != 0 ? code : ended;
        code = code != 0 ? code : ring.error();
    }
    for (ring_buffer* const ring : s.outputs) {
        gr::thread::scoped_lock lock(*ring->mutex());
        code = code != 0 ? code : ring->on_device()->error();
    }
    if (code != 0 && !failed) {
        fail("the GPU failed with " + mem::gpu_error_text(code) +
             " in a kernel of this block or of one beside it");
        failed = true;
    }
    return failed ? WORK_DONE : produced;
}

} // namespace rdma
} // namespace gr
