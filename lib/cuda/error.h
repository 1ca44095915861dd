/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_ERROR_H
#define INCLUDED_RDMA_CUDA_ERROR_H

#include <cstddef>
#include <string>

namespace gr {
namespace rdma {
namespace cuda {

/*
 * Codes are cudaError_t as int, so that these headers need none of CUDA's. Setting up
 * throws; what runs while samples stream returns the code, and the caller keeps the first
 * one with describe().
 */

//! What advice() goes by. Versions are CUDA's: 13000 is 13.0; 0: there is none.
struct machine_facts {
    int driver_version = 0;  //!< the newest CUDA that the driver can do; 0: no driver
    int toolkit_version = 0; //!< of this build
    std::string device;      //!< name of the current GPU; empty if there is none
    int capability = 0;      //!< of that GPU: 86 is sm_86
    std::string built_for;   //!< capabilities that this build has code for: "75, 86"
};

//! Asks the driver and the current device. Never throws for lack of either.
machine_facts current_facts();

//! What is the matter and what to do about it, where more than CUDA's own words is known;
//! else empty. Pure.
std::string advice(int code, const machine_facts& facts);

//! "cudaMalloc: out of memory (cudaErrorMemoryAllocation, 2)", and advice() behind it.
std::string describe(int code, const char* call);

//! Clears the thread's last CUDA error first. \throws cuda_error with describe()
[[noreturn]] void throw_error(int code, const char* call);

//! \throws cuda_error \p code is not 0
inline void check(int code, const char* call)
{
    if (code != 0)
        throw_error(code, call);
}

//! As check(), for an allocation of \p bytes of \p what ("GPU memory").
//! \throws out_of_memory that is what CUDA said; cuda_error it said something else
void check_allocation(int code, const char* call, std::size_t bytes, const char* what);

//! Capabilities that this build has machine code or PTX for: "75, 80, 86".
std::string built_architectures();

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_ERROR_H */
