/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The verbs endpoint: the memory that messages go to.
#include "io/verbs/verbs_endpoint.h"

#include <cstdlib>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

// The library would have the CPU copy short messages to where it cannot store.
void check_scatter_to_cqe()
{
    const char* const asked = std::getenv("MLX5_SCATTER_TO_CQE");
    if (asked && std::string(asked) != "0")
        throw config_error("MLX5_SCATTER_TO_CQE=" + std::string(asked) +
                           " has the CPU store short messages, and it cannot store into "
                           "a GPU: unset it, or set it to 0");
}

} // namespace

void verbs_endpoint::attach(const mem::region& ring, const mem::region& headers)
{
    attach_registered(ring, headers, nullptr);
}

void verbs_endpoint::attach_registered(const mem::region& ring,
                                       const mem::region& headers,
                                       std::unique_ptr<mem::registration> registered)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    open_unlocked();
    std::lock_guard<std::mutex> recv_lock(d_receives.mutex);
    std::lock_guard<std::mutex> send_lock(d_sends.mutex);
    if (d_receives.outstanding() != 0)
        throw config_error("the memory cannot be changed while receives are posted");
    d_transport.register_regions(ring, headers, std::move(registered));
    d_receives.attach(ring, headers);
    d_sends.attach(ring);
    d_receives.bind(false);
    std::lock_guard<std::mutex> text_lock(d_text_mutex);
    if (d_transport.ring().mr && !d_attached) {
        d_description +=
            d_transport.ring().relaxed ? ", relaxed ordering" : ", strict ordering";
        if (d_config.rkey != 0)
            d_description += ", rkey " + hex(d_transport.ring().mr->rkey) + " at " +
                             std::to_string(ring.address);
        d_attached = true;
    }
}

std::unique_ptr<mem::registration> verbs_endpoint::register_dma_buf(
    const mem::dma_buf& buffer, std::uint64_t address, std::uint64_t bytes)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    check_scatter_to_cqe();
    open_unlocked();
    return std::make_unique<registration>(verbs::register_dma_buf(
        d_api, d_transport.pd(), buffer, address, bytes, d_transport.ring_access()));
}

std::unique_ptr<mem::registration> verbs_endpoint::register_address(std::uint64_t address,
                                                                    std::uint64_t bytes)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    check_scatter_to_cqe();
    open_unlocked();
    return std::make_unique<registration>(register_device_address(
        d_api, d_transport.pd(), address, bytes, d_transport.ring_access()));
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
