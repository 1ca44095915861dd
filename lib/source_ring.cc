/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_ring.h"

#include "mem/pinned_mirror.h"
#include "mem/registration_plan.h"
#include "source_checks.h"

#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

namespace {

std::shared_ptr<mem::gpu> gpu_of(const std::string& memory)
{
    try {
        return mem::choose_gpu(memory);
    } catch (const config_error& e) {
        if (memory.rfind("cuda:", 0) != 0)
            throw; // names the parameter already
        throw config_error("memory='" + memory + "': " + e.what());
    }
}

} // namespace

source_ring::source_ring(const source_config& config)
    : d_config(config), d_gpu(gpu_of(config.memory))
{
}

bool source_ring::make(std::uint64_t slots)
{
    if (d_memory && bytes() >= slots * d_config.message_bytes)
        return false;
    if (d_gpu) {
        try {
            make_in_gpu(slots);
            return true;
        } catch (const std::exception& e) {
            if (d_config.memory != "auto")
                throw;
            d_text =
                "in host memory, since the GPU cannot have it: " + std::string(e.what());
            d_gpu = nullptr;
        }
    }
    d_memory = std::make_shared<mem::host_ring>(ring_config(d_config, slots));
    return true;
}

void source_ring::make_in_gpu(std::uint64_t slots)
{
    mem::gpu_ring_config ring;
    ring.unit_bytes = d_config.message_bytes;
    ring.min_bytes = d_config.message_bytes * slots;
    auto memory = d_gpu->make_ring(ring);
    const mem::gpu_info& info = d_gpu->info();
    if (info.integrated) {
        d_memory = std::move(memory);
        d_text = "in " + info.describe() + ": pinned host memory, since it is integrated";
        return;
    }
    mem::route_facts facts;
    facts.gpu = info;
    facts.bar1 = d_gpu->bar1();
    facts.ring_bytes = memory->first_mapping().bytes;
    facts.slot_bytes = d_config.message_bytes;
    facts.registers_memory = false; // no endpoint has a mem::registrar yet
    const mem::registered_ring way =
        mem::register_ring(*memory, facts, std::nullopt, nullptr);
    d_memory = std::make_shared<mem::staged_ring>(d_gpu, std::move(memory));
    d_route = mem::to_string(way.used);
    d_text = "in " + info.describe() + ", route " + way.text();
}

mem::region source_ring::writable() const noexcept
{
    if (const auto* staged = dynamic_cast<const mem::staged_ring*>(d_memory.get()))
        return staged->mirror()->first_mapping();
    return d_memory->first_mapping();
}

void source_ring::zero(std::uint64_t offset, std::uint64_t bytes)
{
    // What is copied over comes from the mirror.
    if (const auto* staged = dynamic_cast<const mem::staged_ring*>(d_memory.get()))
        staged->mirror()->zero(offset, bytes);
    else
        d_memory->zero(offset, bytes);
}

std::string source_ring::device() const { return d_gpu ? d_gpu->info().tag() : "host"; }

} // namespace rdma
} // namespace gr
