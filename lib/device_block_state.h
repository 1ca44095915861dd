/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DEVICE_BLOCK_STATE_H
#define INCLUDED_RDMA_DEVICE_BLOCK_STATE_H

#include "block_failure.h"
#include "input_spin.h"
#include "kernel_log.h"
#include "mem/gpu.h"

#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/rdma/ring_buffer.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gr {
namespace rdma {

//! What device_block hides. Of the block's thread, but for the failure.
struct device_block::state {
    std::shared_ptr<mem::gpu> gpu;
    std::unique_ptr<mem::gpu_stream> stream;
    bool entered = false;
    bool on_host = false;              // in this run nothing is the GPU's
    bool dispatching = false;          // a message, on the block's thread
    std::unique_ptr<input_spin> spin;  // wait=busy
    std::vector<ring_buffer*> outputs; // in GPU memory, between start() and stop()
    struct input {
        ring_buffer* ring;
        buffer_reader* reader;
        bool written_by_kernels;
    };
    std::vector<input> inputs;
    // Who may be at fault; see kernel_log.h.
    std::shared_ptr<kernel_board> board;
    std::shared_ptr<kernel_log> log;
    std::vector<std::uint32_t> needs; // of inputs written by kernels: this round's need
    bool takes_turns = false;
    block_failure failure;

    std::uint32_t rounds_seen = 0; // by the last round of the thread

    //! Holds the inputs, and notes what they wait for. \return 0 or the driver's code
    int begin_work();
    //! Lets go of what has been consumed. \return 0 or the driver's code
    int end_work();
    //! Of the rounds that there were, without waiting for them. \return 0 or the
    //! driver's code
    int late_error();
    //! Of what was written and did not get to its readers. \return as late_error()
    int output_error() const;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DEVICE_BLOCK_STATE_H */
