/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/cuda_gpu.h"

#include "core/sizes.h"
#include "mem/cuda_ring.h"
#include "mem/cuda_stream.h"

#include <gnuradio/rdma/error.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <map>
#include <mutex>

namespace gr {
namespace rdma {
namespace mem {

namespace {

std::atomic<const cuda_vmm_api*> replaced_api{ nullptr };

std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return text;
}

std::string uuid_text(const CUuuid& uuid)
{
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
        text += hex;
        if (i == 3 || i == 5 || i == 7 || i == 9)
            text += '-';
    }
    return text;
}

// Attributes that an older driver does not know are features that it does not have.
int attribute(const cuda_vmm_api& api, CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    return api.device_get_attribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

gpu_info describe_device(const cuda_vmm_api& api, int ordinal)
{
    const std::string what = "cuda:" + std::to_string(ordinal);
    CUdevice d = 0;
    check_cuda(api, api.device_get(&d, ordinal), "cuDeviceGet", what);
    gpu_info info;
    info.ordinal = ordinal;
    char text[128] = "";
    check_cuda(api, api.device_get_name(text, sizeof text, d), "cuDeviceGetName", what);
    info.name = text;
    CUuuid uuid{};
    check_cuda(api, api.device_get_uuid(&uuid, d), "cuDeviceGetUuid", what);
    info.uuid = uuid_text(uuid);
    check_cuda(api,
               api.device_get_pci_bus_id(text, sizeof text, d),
               "cuDeviceGetPCIBusId",
               what);
    info.pci = lower(text);
    std::size_t bytes = 0;
    check_cuda(api, api.device_total_mem(&bytes, d), "cuDeviceTotalMem", what);
    info.memory_bytes = bytes;
    const auto ask = [&](CUdevice_attribute which) { return attribute(api, d, which); };
    info.compute_capability = 10 * ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                              ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    info.integrated = ask(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    info.vmm = ask(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
    info.rdma = ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) != 0;
    info.rdma_vmm = ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
    info.dma_buf = api.mem_get_handle_for_address_range &&
                   ask(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) != 0;
    info.writes_ordering = ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
    info.flush_options = static_cast<unsigned>(
        ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS));
    return info;
}

bool has_name(const gpu_info& info, const std::string& wanted)
{
    const std::string uuid = lower(info.uuid);
    return wanted == std::to_string(info.ordinal) || wanted == info.pci ||
           (info.pci.size() > 5 && wanted == info.pci.substr(5)) ||
           (wanted.size() > 4 && wanted.rfind("gpu-", 0) == 0 &&
            uuid.rfind(wanted, 0) == 0);
}

class pinned_host_range : public pinned_range
{
public:
    pinned_host_range(std::shared_ptr<cuda_gpu> gpu, void* address, std::size_t bytes)
        : d_gpu(std::move(gpu)), d_address(address)
    {
        const current_context current(d_gpu->api(), d_gpu->context());
        check_cuda(
            d_gpu->api(),
            d_gpu->api().mem_host_register(address, bytes, CU_MEMHOSTREGISTER_PORTABLE),
            "cuMemHostRegister",
            core::human_bytes(bytes) + " of host memory for " + d_gpu->info().describe());
    }
    ~pinned_host_range() override
    {
        const current_context current(d_gpu->api(), d_gpu->context());
        d_gpu->api().mem_host_unregister(d_address);
    }

private:
    std::shared_ptr<cuda_gpu> d_gpu;
    void* d_address;
};

} // namespace

const gpu_info& find_gpu(const std::vector<gpu_info>& devices, const std::string& name)
{
    const std::string wanted = lower(name.rfind("cuda:", 0) == 0 ? name.substr(5) : name);
    const gpu_info* found = nullptr;
    bool several = false;
    for (const gpu_info& info : devices)
        if (has_name(info, wanted)) {
            several = found != nullptr;
            found = &info;
        }
    if (found && !several)
        return *found;
    std::string there;
    for (const gpu_info& info : devices)
        there += (there.empty() ? "" : ", ") + info.tag() + " = " + info.pci + " = " +
                 info.uuid + " (" + info.name + ")";
    throw config_error(
        name + (several ? " is the name of several GPUs" : " is no GPU of this machine") +
        ": there is " + (there.empty() ? "none" : there));
}

std::vector<gpu_info> list_gpus(const cuda_vmm_api& api)
{
    int count = 0;
    check_cuda(api, api.device_get_count(&count), "cuDeviceGetCount", "the list of GPUs");
    std::vector<gpu_info> devices;
    for (int i = 0; i < count; ++i)
        devices.push_back(describe_device(api, i));
    return devices;
}

cuda_gpu::cuda_gpu(const cuda_vmm_api& api, const gpu_info& info)
    : d_api(api), d_info(info)
{
    check_cuda(d_api,
               d_api.primary_ctx_retain(&d_context, device()),
               "cuDevicePrimaryCtxRetain",
               d_info.describe());
}

cuda_gpu::~cuda_gpu() { d_api.primary_ctx_release(device()); }

int cuda_gpu::make_current() noexcept { return d_api.ctx_set_current(d_context); }

std::unique_ptr<gpu_stream> cuda_gpu::make_stream()
{
    return std::make_unique<cuda_stream>(shared_from_this());
}

std::unique_ptr<gpu_event> cuda_gpu::make_event()
{
    return std::make_unique<cuda_event>(shared_from_this());
}

std::unique_ptr<pinned_range> cuda_gpu::pin(void* address, std::size_t bytes)
{
    return std::make_unique<pinned_host_range>(shared_from_this(), address, bytes);
}

std::shared_ptr<ring_memory> cuda_gpu::make_ring(const gpu_ring_config& config)
{
    if (d_info.integrated)
        return std::make_shared<pinned_ring>(shared_from_this(), config);
    return std::make_shared<cuda_ring>(shared_from_this(), config);
}

std::uint64_t cuda_gpu::free_bytes() const
{
    const current_context current(d_api, d_context);
    current.require(d_info.describe());
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(
        d_api, d_api.mem_get_info(&free, &total), "cuMemGetInfo", d_info.describe());
    return free;
}

bar1_memory cuda_gpu::bar1() const { return d_api.bar1(d_info.pci.c_str()); }

int cuda_gpu::flush_rdma_writes() noexcept
{
    if (!d_api.flush_gpu_direct_rdma_writes)
        return CUDA_ERROR_NOT_SUPPORTED;
    const current_context current(d_api, d_context);
    if (current.code() != CUDA_SUCCESS)
        return current.code();
    return d_api.flush_gpu_direct_rdma_writes(
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

void use_cuda_api(const cuda_vmm_api* api) { replaced_api = api; }

std::shared_ptr<gpu> open_gpu(const std::string& name)
{
    const cuda_vmm_api* api = replaced_api.load();
    if (!api)
        api = system_cuda_api();
    if (!api)
        throw config_error(name + ": " + state_of_gpus().reason);
    const gpu_info info = find_gpu(list_gpus(*api), name);
    static std::mutex mutex; // guards opened
    static std::map<std::pair<const cuda_vmm_api*, int>, std::weak_ptr<cuda_gpu>> opened;
    const std::lock_guard<std::mutex> lock(mutex);
    auto& entry = opened[{ api, info.ordinal }];
    std::shared_ptr<cuda_gpu> device = entry.lock();
    if (!device) {
        device = std::make_shared<cuda_gpu>(*api, info);
        entry = device;
    }
    return device;
}

std::string gpu_error_text(int code)
{
    const cuda_vmm_api* api = replaced_api.load();
    if (!api)
        api = system_cuda_api();
    return api ? cuda_error_text(*api, static_cast<CUresult>(code))
               : "CUDA error " + std::to_string(code);
}

} // namespace mem
} // namespace rdma
} // namespace gr
