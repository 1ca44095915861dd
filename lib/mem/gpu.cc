/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/gpu.h"

#include <gnuradio/rdma/error.h>

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <string>
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

namespace {

// The length of the run of hexadecimal digits at \p at, of \p most at most.
std::size_t hex_run(const std::string& text, std::size_t at, std::size_t most)
{
    const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF", at);
    return std::min(std::min(end, text.size()) - at, most);
}

// [domain:]bus:device.function, as nvidia-smi and lspci write it.
bool is_pci_address(const std::string& text)
{
    std::size_t at = hex_run(text, 0, 8);
    if (at < 2 || text.compare(at, 1, ":") != 0)
        return false;
    if (std::count(text.begin(), text.end(), ':') == 2)
        at += 1 + hex_run(text, at + 1, 2);
    return at + 5 == text.size() && text[at] == ':' && hex_run(text, at + 1, 3) == 2 &&
           text[at + 3] == '.' && hex_run(text, at + 4, 1) == 1;
}

// Whether or not there is such a GPU. A UUID may be cut short.
bool is_gpu_name(const std::string& text)
{
    if (text.empty())
        return false;
    if (text.find_first_not_of("0123456789") == text.npos)
        return true;
    if (text.size() > 4 && (text[0] == 'G' || text[0] == 'g'))
        return strncasecmp(text.c_str(), "gpu-", 4) == 0 &&
               text.find_first_not_of("0123456789abcdefABCDEF-", 4) == text.npos;
    return is_pci_address(text);
}

} // namespace

std::shared_ptr<gpu> choose_gpu(const std::string& memory, std::string* reason)
{
    if (memory == "host")
        return nullptr;
    const std::string kind = "cuda:";
    if (memory.rfind(kind, 0) == 0) {
        if (!is_gpu_name(memory.substr(kind.size())))
            throw config_error(
                "memory='" + memory +
                "' is no GPU's name: give cuda: with a number, UUID or PCI "
                "address, such as cuda:0, cuda:GPU-6f1c or "
                "cuda:0000:17:00.0");
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
        throw config_error("memory='" + memory +
                           "': auto, host, or cuda: with a GPU's number, UUID or PCI "
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
