/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_CUFFT_API_H
#define INCLUDED_RDMA_CUDA_CUFFT_API_H

#include <cufft.h>
#include <string>

// For lib/cuda/*.cc: it includes cuFFT's header.

namespace gr {
namespace rdma {
namespace cuda {

/*!
 * \brief cuFFT's functions, found when the first plan is made.
 *
 * Loaded, not linked: a static copy would add some 200 MB to our library, and a dynamic
 * one would keep ours from loading, host blocks and all, where cuFFT is not installed.
 */
struct cufft_api {
    decltype(&::cufftCreate) create;
    decltype(&::cufftDestroy) destroy;
    decltype(&::cufftSetAutoAllocation) set_auto_allocation;
    decltype(&::cufftMakePlanMany) make_plan_many;
    decltype(&::cufftSetWorkArea) set_work_area;
    decltype(&::cufftSetStream) set_stream;
    decltype(&::cufftExecC2C) exec_c2c;
    decltype(&::cufftExecR2C) exec_r2c;

    //! The library's, loaded once per process; the folder of this build's toolkit is
    //! looked at after the places where the loader looks.
    //! \throws cuda_error it cannot be loaded: the loader's words and what to install
    static const cufft_api& get();
};

//! "cufftMakePlanMany: CUFFT_ALLOC_FAILED (2)"
std::string describe_cufft(int result, const char* call);
//! \throws out_of_memory, cuda_error with -result: \p result is not success
void check_cufft(int result, const char* call);

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_CUFFT_API_H */
