/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What mem/gpu.h is in a build without CUDA.
#include "mem/gpu.h"

#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace mem {

const gpu_state& state_of_gpus()
{
    static const gpu_state state = {
        gpu_absence::not_built,
        "gr-rdma was built without CUDA: install the CUDA toolkit and build again with "
        "-DENABLE_CUDA=ON",
        0,
        0
    };
    return state;
}

std::shared_ptr<gpu> open_gpu(const std::string& name)
{
    throw config_error(name + ": " + state_of_gpus().reason);
}

std::string gpu_error_text(int code) { return "CUDA error " + std::to_string(code); }

} // namespace mem
} // namespace rdma
} // namespace gr
