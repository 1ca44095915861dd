/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_ring.h"

#include "gpu_choice.h"
#include "mem/pinned_mirror.h"
#include "source_checks.h"

#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

namespace {

gpu_choice choice_of(const source_config& c)
{
    gpu_choice choice = choose_gpu(c.memory);
    if (!choice.gpu && c.route != "auto")
        throw config_error(
            "route='" + c.route +
            "': there is no GPU that a ring could be made on: " + choice.reason);
    return choice;
}

} // namespace

source_ring::source_ring(const source_config& config)
    : d_config(config), d_forced(route_setting(config))
{
    const gpu_choice choice = choice_of(config);
    d_gpu = choice.gpu;
    if (choice.unusable)
        d_text += ", since " + choice.reason;
}

bool source_ring::make(std::uint64_t slots, mem::registrar* nic)
{
    if (d_memory && bytes() >= slots * d_config.message_bytes)
        return false;
    d_replaced = d_memory;
    if (d_gpu) {
        try {
            d_board = kernel_board::of(d_gpu);
            make_in_gpu(slots, nic);
            return true;
        } catch (const std::exception& e) {
            if (d_config.memory != "auto" || d_forced)
                throw;
            tell("host",
                 "in host memory, since the GPU cannot have it: " +
                     std::string(e.what()));
            d_board = nullptr;
            d_gpu = nullptr;
        }
    }
    d_memory = std::make_shared<mem::host_ring>(ring_config(d_config, slots));
    d_direct = false;
    d_flush = mem::flush_method::none;
    return true;
}

void source_ring::make_in_gpu(std::uint64_t slots, mem::registrar* nic)
{
    mem::gpu_ring_config ring;
    ring.unit_bytes = d_config.message_bytes;
    ring.min_bytes = d_config.message_bytes * slots;
    const mem::gpu_info& info = d_gpu->info();
    if (info.integrated) {
        if (d_forced)
            throw config_error(std::string("route='") + to_string(*d_forced) +
                               "': " + info.describe() +
                               " is integrated: its memory is the host's, and there is "
                               "no route to choose; use route='auto'");
        d_memory = d_gpu->make_ring(ring);
        tell("host",
             "in " + info.describe() + ": pinned host memory, since it is integrated");
        return;
    }
    std::shared_ptr<mem::ring_memory> memory = d_gpu->make_ring(ring);
    mem::registered_ring way = register_with(*memory, nic);
    if (way.used == mem::route::staged)
        memory = std::make_shared<mem::staged_ring>(d_gpu, std::move(memory));
    d_direct = way.used != mem::route::staged;
    d_flush = plan_flush(info, way.used);
    d_memory = std::move(memory);
    tell(way);
    d_registration = std::move(way.memory);
}

mem::registered_ring source_ring::register_with(const mem::ring_memory& ring,
                                                mem::registrar* nic) const
{
    mem::route_facts facts;
    facts.gpu = d_gpu->info();
    facts.bar1 = d_gpu->bar1();
    facts.ring_bytes = ring.first_mapping().bytes;
    facts.slot_bytes = d_config.message_bytes;
    facts.staging_bytes = facts.ring_bytes; // the mirror's first mapping
    facts.memlock_bytes = mem::lockable_bytes();
    const auto* exportable = dynamic_cast<const mem::gpu_ring*>(&ring);
    facts.rdma_capable = exportable && exportable->rdma_capable();
    facts.registers_memory = nic != nullptr;
    facts.peermem = mem::find_peermem();
    return mem::register_ring(ring, facts, d_forced, nic);
}

void source_ring::attach(io::endpoint& endpoint, const mem::region& headers)
{
    if (d_direct) {
        if (!d_registration) {
            mem::registered_ring way = register_with(*d_memory, endpoint.registrar());
            // Who reads the ring was told that no copies come in between.
            if (way.used == mem::route::staged)
                throw config_error("the NIC wrote into the memory of " +
                                   d_gpu->info().describe() +
                                   " before, and now there is no way: " + way.text());
            tell(way);
            d_registration = std::move(way.memory);
        }
        endpoint.attach_registered(
            d_memory->first_mapping(), headers, std::move(d_registration));
    } else if (const auto* staged = dynamic_cast<mem::staged_ring*>(d_memory.get())) {
        endpoint.attach(staged->mirror()->first_mapping(), headers);
    } else {
        endpoint.attach(d_memory->first_mapping(), headers);
    }
    d_replaced = nullptr;
}

int source_ring::make_visible() noexcept
{
    if (d_flush != mem::flush_method::host_call)
        return 0;
    ++d_flushes;
    return d_gpu->flush_rdma_writes();
}

int source_ring::zero(std::uint64_t offset, std::uint64_t bytes) noexcept
{
    try {
        // What is copied over comes from the mirror.
        if (const auto* staged = dynamic_cast<const mem::staged_ring*>(d_memory.get()))
            staged->mirror()->zero(offset, bytes);
        else
            d_memory->zero(offset, bytes);
    } catch (const cuda_error& e) {
        return e.code();
    } catch (const config_error&) { // the span is a part of a slot
    }
    return 0;
}

void source_ring::tell(const mem::registered_ring& way)
{
    tell(
        to_string(way.used),
        "in " + d_gpu->info().describe() + ", route " + way.text() +
            (d_flush == mem::flush_method::host_call ? ", flushed before each tag" : ""));
}

void source_ring::tell(const std::string& route, const std::string& text)
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    d_route = route;
    d_text = text;
}

std::string source_ring::describe_failure(int code) const
{
    return device() + ": " + d_board->describe(code, "a copy into the ring");
}

std::string source_ring::device() const { return d_gpu ? d_gpu->info().tag() : "host"; }

std::string source_ring::route() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_route;
}

std::string source_ring::text() const
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    return d_text;
}

} // namespace rdma
} // namespace gr
