/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "block_checks.h"

#include <gnuradio/rdma/error.h>
#include <limits>

namespace gr {
namespace rdma {

int item_bytes(std::size_t sample_bytes, std::size_t vlen)
{
    const std::size_t most = std::numeric_limits<int>::max() / sample_bytes;
    if (vlen == 0 || vlen > most)
        throw config_error("vlen=" + std::to_string(vlen) +
                           " is no number of samples per item; use 1 to " +
                           std::to_string(most));
    return static_cast<int>(vlen * sample_bytes);
}

void check_host_memory(const std::string& memory, const char* does)
{
    if (memory == "auto" || memory == "host")
        return;
    if (memory.compare(0, 5, "cuda:") == 0)
        throw config_error("memory='" + memory + "': this build " + does +
                           " on the CPU only; use auto or host");
    throw config_error("memory='" + memory + "' is no memory; use auto or host");
}

} // namespace rdma
} // namespace gr
