/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/gpu.h"

#include <gnuradio/rdma/error.h>

#include <unistd.h>
#include <utility>

namespace gr {
namespace rdma {
namespace mem {

dma_buf::~dma_buf()
{
    if (d_fd >= 0)
        ::close(d_fd);
}

void dma_buf::swap(dma_buf& other) noexcept
{
    std::swap(d_fd, other.d_fd);
    std::swap(d_offset, other.d_offset);
    std::swap(d_bytes, other.d_bytes);
}

std::shared_ptr<gpu> choose_gpu(const std::string& memory, std::string* reason)
{
    if (memory == "host")
        return nullptr;
    const std::string kind = "cuda:";
    if (memory.rfind(kind, 0) == 0 && memory != kind) {
        try {
            return open_gpu(memory);
        } catch (const config_error& e) {
            const std::string why = e.what();
            const std::string named = memory + ": "; // it says so once
            throw config_error(
                "memory='" + memory +
                "': " + (why.rfind(named, 0) == 0 ? why.substr(named.size()) : why));
        }
    }
    if (memory != "auto")
        throw config_error("memory=" + memory +
                           ": auto, host, or cuda: with a GPU's number, UUID or PCI "
                           "address, such as cuda:0");
    std::string why;
    try {
        auto first = open_gpu("cuda:0");
        if (first->info().vmm || first->info().integrated)
            return first;
        why = first->info().describe() + " has no virtual memory management";
    } catch (const std::exception& e) {
        why = e.what();
    }
    if (reason)
        *reason = why;
    return nullptr;
}

} // namespace mem
} // namespace rdma
} // namespace gr
