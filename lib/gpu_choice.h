/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_GPU_CHOICE_H
#define INCLUDED_RDMA_GPU_CHOICE_H

#include "mem/gpu.h"

#include <functional>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

//! What a block's `memory=` means on this machine.
struct gpu_choice {
    std::shared_ptr<mem::gpu> gpu; //!< null: the host
    std::string reason;            //!< why not a GPU, in words; empty for memory=host
    //! memory=auto: there is a driver, or a GPU, and something is wrong with it; so that
    //! the user is told. A machine without is an ordinary one.
    bool unusable = false;
};

// The same numbers in the driver's API and the runtime's.
constexpr int no_code_for_gpu = 209;
constexpr int ptx_too_new = 222; //!< for the driver to compile

//! Runs a kernel of this build's on the GPU of that number. \throws cuda_error
using kernel_trial = std::function<void(int ordinal)>;

/*!
 * \brief As mem::choose_gpu(), but `auto` takes only a GPU that this build has code for:
 * an older one than the build was made for leaves all blocks on the host, where they
 * work. A GPU that was named is taken as it is.
 *
 * Tries a kernel once a process and GPU.
 * \throws as mem::choose_gpu()
 */
gpu_choice choose_gpu(const std::string& memory);
//! The same with another trial, which is made each time.
gpu_choice choose_gpu(const std::string& memory, const kernel_trial& trial);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_GPU_CHOICE_H */
