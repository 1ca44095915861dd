/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_CUDA_GPU_H
#define INCLUDED_RDMA_MEM_CUDA_GPU_H

#include "mem/cuda_driver.h"

#include <memory>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief Which of \p devices is called \p name: "cuda:" and a number in CUDA's order, a
 * UUID (or the start of one, if only one begins so) or a PCI address (domain optional),
 * in either case. Pure.
 *
 * \throws config_error none or several, with the devices that there are
 */
const gpu_info& find_gpu(const std::vector<gpu_info>& devices, const std::string& name);

//! All devices, in CUDA's order. \throws cuda_error
std::vector<gpu_info> list_gpus(const cuda_vmm_api& api);

/*!
 * \brief A GPU on a driver's table: gpu as mem/gpu.h promises it.
 *
 * Holds the device's primary context until it is destroyed. cuda_ring and the streams
 * made here use context() through current_context.
 */
class cuda_gpu : public gpu, public std::enable_shared_from_this<cuda_gpu>
{
public:
    //! \throws cuda_error the driver gave no context
    cuda_gpu(const cuda_vmm_api& api, const gpu_info& info);
    ~cuda_gpu() override;
    cuda_gpu(const cuda_gpu&) = delete;
    cuda_gpu& operator=(const cuda_gpu&) = delete;

    const gpu_info& info() const noexcept override { return d_info; }
    int make_current() noexcept override;
    std::unique_ptr<gpu_stream> make_stream() override;
    std::unique_ptr<gpu_event> make_event() override;
    std::unique_ptr<pinned_range> pin(void* address, std::size_t bytes) override;
    std::shared_ptr<ring_memory> make_ring(const gpu_ring_config& config) override;
    std::uint64_t free_bytes() const override;
    bar1_memory bar1() const override;
    int flush_rdma_writes() noexcept override;

    const cuda_vmm_api& api() const noexcept { return d_api; }
    CUcontext context() const noexcept { return d_context; }
    CUdevice device() const noexcept { return d_info.ordinal; }

private:
    const cuda_vmm_api& d_api;
    const gpu_info d_info;
    CUcontext d_context = nullptr;
};

/*!
 * \brief The driver that open_gpu() uses from now on: \p api, or null for the machine's.
 *
 * For tests, which put an imitation there before anything is opened.
 */
void use_cuda_api(const cuda_vmm_api* api);

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_CUDA_GPU_H */
