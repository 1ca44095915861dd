/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_FAKE_CUDA_H
#define INCLUDED_RDMA_TESTING_FAKE_CUDA_H

#include "mem/cuda_driver.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief A CUDA driver without a GPU, behind the table that the real one fills.
 *
 * Device memory is host memory at the same address, mapped as often as it is asked: a
 * test may look at it. Each stream is a thread that does its work in order; events,
 * copies, host functions and "kernels" (launch()) behave as the driver's. Calls that
 * CUDA refuses without a current context are refused here too. The n-th call can be made
 * to fail, and what is held is counted.
 *
 * One at a time. It must outlive what was made through it; its destructor waits for the
 * streams. Any thread may call any method.
 */
class fake_cuda
{
public:
    struct device {
        std::string name = "Imitation 9000";
        std::string uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
        std::string pci = "0000:17:00.0";
        std::uint64_t total_bytes = 1ULL << 34;
        std::uint64_t granularity = 2 << 20;
        mem::bar1_memory bar1{ 1ULL << 35, 1ULL << 34 };
        bool rdma_capable = true; //!< what IS_GPU_DIRECT_RDMA_CAPABLE answers
        //! Attributes that differ from those of a big GPU with everything.
        std::map<CUdevice_attribute, int> attributes;
    };

    explicit fake_cuda(std::vector<device> devices = std::vector<device>(1));
    ~fake_cuda();
    fake_cuda(const fake_cuda&) = delete;
    fake_cuda& operator=(const fake_cuda&) = delete;

    const mem::cuda_vmm_api& api() const { return d_api; }
    mem::cuda_vmm_api& api() { return d_api; }

    //! The call that acquires something, asks or starts work with number \p nth from now
    //! fails with \p code and does nothing. Negative: none does.
    void fail(int nth, CUresult code);
    //! How many such calls there were since fail() or the start.
    int calls() const;
    //! Calls of the function of this name, such as "cuMemMap", since the start.
    int calls_of(const std::string& name) const;
    //! From now no work is done and all calls end with \p code, as after a kernel's
    //! fault. \p calls_back: whether callbacks that wait in streams are still called.
    void fault(CUresult code, bool calls_back = true);

    //! Contexts, reservations, allocations, mappings, streams, events, pinned ranges.
    std::vector<long> held() const;
    std::uint64_t used_bytes(int device) const;

    //! Puts a kernel into the stream: \p kernel runs when its turn comes.
    void launch(void* stream, std::function<void()> kernel);
    //! Whether memory of a device is mapped there.
    bool maps(const void* address) const;
    //! The span that was exported last.
    std::uint64_t exported_address() const;
    std::uint64_t exported_bytes() const;
    //! Whether the last allocation was asked to be capable of GPUDirect RDMA.
    bool rdma_asked() const;
    //! The ordinal of the calling thread's current device, or -1.
    int current_device() const;

    struct state;

private:
    std::unique_ptr<state> d_state;
    mem::cuda_vmm_api d_api;
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_FAKE_CUDA_H */
