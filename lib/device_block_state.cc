/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device_block_state.h"

#include "readers.h"
#include "ring_device.h"

namespace gr {
namespace rdma {

int device_block::state::begin_work()
{
    int code = 0;
    bool asked = false;
    needs.clear();
    for (const input& in : inputs) {
        gr::thread::scoped_lock lock(*in.ring->mutex());
        ring_device& ring = *in.ring->on_device();
        const int begun = ring.begin_work(in.reader, in.reader->nitems_read(), asked);
        code = code != 0 ? code : begun;
        code = code != 0 ? code : ring.error(); // what it wrote may not be there
        // Under the same lock: a round later would be one that the stream does not wait
        // for, and this block's work would pass for work that waits.
        if (in.written_by_kernels)
            needs.push_back(in.ring->written_round());
    }
    // A launch that is refused, the GPU having failed before, is no work, and must not be
    // taken for it.
    if (!asked && code == 0)
        code = stream->query();
    return code == mem::gpu_not_ready ? 0 : code;
}

int device_block::state::end_work()
{
    int code = 0;
    for (const input& in : inputs) {
        gr::thread::scoped_lock lock(*in.ring->mutex());
        ring_device& ring = *in.ring->on_device();
        const int ended = ring.end_work(in.reader, in.reader->nitems_read());
        code = code != 0 ? code : ended;
        code = code != 0 ? code : ring.error();
    }
    return code != 0 ? code : output_error();
}

int device_block::state::late_error()
{
    const int code = log->has_done(log->begun()) ? 0 : stream->query();
    return code != 0 && code != mem::gpu_not_ready ? code : output_error();
}

int device_block::state::output_error() const
{
    int code = 0;
    for (ring_buffer* const ring : outputs)
        code = code != 0 ? code : device_error_of(*ring);
    return code;
}

} // namespace rdma
} // namespace gr
