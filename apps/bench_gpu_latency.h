/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_BENCH_GPU_LATENCY_H
#define INCLUDED_RDMA_APPS_BENCH_GPU_LATENCY_H

#include "mem/gpu.h"
#include "stop_signals.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*
 * From a completion that a source has polled to a kernel of the block behind it that has
 * run, for `gr-rdma bench gpu`: one message at a time, the GPU idle, and where the time
 * goes. Only in builds with CUDA.
 */

//! One path, and what was measured on it, in microseconds.
struct latency_path {
    enum class kind : std::uint8_t { kernel_alone, ordinary_block, device_block };

    const char* name;
    kind what;
    const char* wait;            //!< of a device block
    std::vector<double> whole;   //!< from the completion until the kernel has run
    std::vector<double> to_work; //!< of that, until work() is entered; empty: no block
    std::vector<double> launch;  //!< of that, in the launch of the kernel
};

//! The launch alone, an ordinary block, and device blocks that sleep and that spin.
std::vector<latency_path> latency_paths();

/*!
 * \brief Add a round of \p samples messages to \p p.
 * \param memory the GPU, which \p gpu is
 * \throws run_error no kernel ran within 10 s
 * \throws config_error, cuda_error as the blocks
 */
void measure_round(latency_path& p,
                   const std::string& memory,
                   const std::shared_ptr<mem::gpu>& gpu,
                   std::uint64_t samples,
                   stop_signals& signals);

void print_latencies(const std::vector<latency_path>& paths);
nlohmann::ordered_json to_json(const std::vector<latency_path>& paths);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_BENCH_GPU_LATENCY_H */
