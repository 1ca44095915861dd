/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/cuda_bar1.h"

#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace gr {
namespace rdma {
namespace mem {

namespace {

// NVML's header comes with the toolkit only sometimes; these four calls are old and
// fixed.
struct nvml_bar1 {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
using nvml_device = struct nvmlDevice_st*;

class nvml
{
public:
    nvml() : d_library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL))
    {
        if (!d_library)
            return;
        const auto init = symbol<int (*)()>("nvmlInit_v2");
        d_shutdown = symbol<int (*)()>("nvmlShutdown");
        d_started = init && d_shutdown && init() == 0;
    }
    ~nvml()
    {
        if (d_started)
            d_shutdown();
        if (d_library)
            dlclose(d_library);
    }
    nvml(const nvml&) = delete;
    nvml& operator=(const nvml&) = delete;

    bool bar1(const char* pci, nvml_bar1& memory) const
    {
        if (!d_started)
            return false;
        const auto find = symbol<int (*)(const char*, nvml_device*)>(
            "nvmlDeviceGetHandleByPciBusId_v2");
        const auto ask =
            symbol<int (*)(nvml_device, nvml_bar1*)>("nvmlDeviceGetBAR1MemoryInfo");
        nvml_device device = nullptr;
        return find && ask && find(pci, &device) == 0 && ask(device, &memory) == 0;
    }

private:
    template <typename Function>
    Function symbol(const char* name) const
    {
        return reinterpret_cast<Function>(dlsym(d_library, name));
    }
    void* d_library;
    int (*d_shutdown)() = nullptr;
    bool d_started = false;
};

} // namespace

std::uint64_t bar1_bytes_of(const std::string& resource)
{
    constexpr std::uint64_t memory = 0x200;
    constexpr std::uint64_t prefetch = 0x2000;
    constexpr std::uint64_t wide = 0x100000;
    std::istringstream lines(resource);
    std::string start, end, flags;
    while (lines >> start >> end >> flags) {
        const std::uint64_t first = std::strtoull(start.c_str(), nullptr, 16);
        const std::uint64_t last = std::strtoull(end.c_str(), nullptr, 16);
        const std::uint64_t bits = std::strtoull(flags.c_str(), nullptr, 16);
        const std::uint64_t wanted = memory | prefetch | wide;
        if ((bits & wanted) == wanted && last > first)
            return last - first + 1;
    }
    return 0;
}

bar1_memory machine_bar1(const char* pci)
{
    bar1_memory result;
    nvml_bar1 memory{};
    if (nvml().bar1(pci, memory)) {
        result.total_bytes = memory.total;
        result.free_bytes = memory.free;
        return result;
    }
    std::ifstream file(std::string("/sys/bus/pci/devices/") + pci + "/resource");
    std::stringstream text;
    text << file.rdbuf();
    result.total_bytes = bar1_bytes_of(text.str());
    return result;
}

} // namespace mem
} // namespace rdma
} // namespace gr
