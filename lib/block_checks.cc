/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "block_checks.h"

#include <gnuradio/rdma/error.h>
#include <limits>
#include <string>

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

bool waits_busily(const std::string& wait)
{
    if (wait != "event" && wait != "busy")
        throw config_error("wait='" + wait +
                           "' is no way to wait for input; use event, which sleeps, or "
                           "busy, which takes a CPU of its own");
    return wait == "busy";
}

void check_wait(const std::string& wait, const std::string& memory)
{
    if (waits_busily(wait) && memory == "host")
        throw config_error("wait='busy' is for blocks on a GPU, and memory='host' is "
                           "none; use wait='event', or memory='auto' or 'cuda:0'");
}

} // namespace rdma
} // namespace gr
