/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_DEVICE_H
#define INCLUDED_RDMA_CUDA_DEVICE_H

#include <cstddef>
#include <new>
#include <string>

struct CUctx_st;

namespace gr {
namespace rdma {
namespace cuda {

//! GPUs that this process can use; 0 where there is none, or no driver. Never throws.
int device_count() noexcept;

struct device_info {
    int index;        //!< CUDA's number, which depends on CUDA_VISIBLE_DEVICES
    std::string name; //!< "NVIDIA H200"
    std::string pci;  //!< "0000:17:00.0", as lspci and nvidia-smi show it
    int capability;   //!< 90: sm_90
    std::size_t bytes;
    int multiprocessors;
};

//! \throws cuda_error there is no such device, or no driver that this build can use
device_info describe_device(int device);

/*!
 * \brief Makes \p device current for the calling thread, for good: what a scheduler's
 * thread does before its first CUDA call. Creates the device's primary context if needed.
 *
 * \throws cuda_error as describe_device()
 */
void use_device(int device);

//! Runs a kernel on \p device and looks at what it wrote: the build has code for it, and
//! launches work. Waits for it. \throws cuda_error they do not
void try_kernel(int device);

/*!
 * \brief Makes a device current for the calling thread, and what was current before on
 * destruction: no device at all, too, so that no other GPU gets a context by it.
 *
 * The destructor never throws and tolerates that the driver is being unloaded.
 */
class device_guard
{
public:
    //! \throws cuda_error as describe_device()
    explicit device_guard(int device);
    //! For destructors and the data path: code() tells what went wrong.
    device_guard(int device, std::nothrow_t) noexcept;
    ~device_guard();
    device_guard(const device_guard&) = delete;
    device_guard& operator=(const device_guard&) = delete;
    int code() const noexcept { return d_code; }

private:
    CUctx_st* d_before = nullptr;
    bool d_restore = false;
    int d_code = 0;
};

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_DEVICE_H */
