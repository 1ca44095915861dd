/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/registration_plan.h"

#include "core/sizes.h"
#include "mem/ring_bytes.h"

#include <gnuradio/rdma/error.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/resource.h>

namespace gr {
namespace rdma {
namespace mem {

namespace {

constexpr std::uint64_t bar1_page_bytes = 65536;
constexpr int ordering_owner = 100;
constexpr unsigned flush_by_host_call = 1;

std::string fits(std::uint64_t limit, std::uint64_t slot_bytes)
{
    const std::uint64_t largest = largest_ring(limit, slot_bytes);
    return "; the largest ring that fits has " + with_bytes(largest) + ", " +
           std::to_string(largest / slot_bytes) + " buffers of " +
           std::to_string(slot_bytes) + " bytes";
}

// Whole pages, or the window's free part would be promised twice.
std::string bar1_problem(const route_facts& f)
{
    const std::uint64_t there =
        f.bar1.free_bytes != 0 ? f.bar1.free_bytes : f.bar1.total_bytes;
    const std::uint64_t wanted = core::round_up(f.ring_bytes, bar1_page_bytes);
    if (f.bar1.total_bytes == 0 || wanted <= there)
        return "";
    return "the ring takes " + with_bytes(wanted) +
           " of the GPU's BAR1 window, which has " + with_bytes(f.bar1.total_bytes) +
           (f.bar1.free_bytes != 0 ? ", " + with_bytes(f.bar1.free_bytes) + " of it free"
                                   : "") +
           fits(there / bar1_page_bytes * bar1_page_bytes, f.slot_bytes);
}

// Why a NIC may not be given the ring's memory; empty if it may.
std::string direct_problem(const route_facts& f, route r)
{
    if (!f.registers_memory)
        return "this endpoint has no NIC that could write into GPU memory";
    if (!f.ring_in_gpu)
        return f.gpu.describe() + " is integrated: its memory is the host's";
    if (r == route::dmabuf && !f.gpu.dma_buf)
        return f.gpu.describe() + " cannot export memory as dma-buf: that takes NVIDIA's "
                                  "open kernel modules and Linux 5.12 or later";
    if (r == route::peermem && !f.gpu.rdma)
        return f.gpu.describe() + " does not offer GPUDirect RDMA";
    if (!f.rdma_capable)
        return "memory that is mapped twice is not capable of GPUDirect RDMA on " +
               f.gpu.describe();
    if (plan_flush(f.gpu, r) == flush_method::missing)
        return "what a NIC writes is not ordered on " + f.gpu.describe() +
               ", and its driver has no flush for it";
    return bar1_problem(f);
}

std::string staged_problem(const route_facts& f)
{
    if (!f.registers_memory || f.staging_bytes <= f.memlock_bytes)
        return "";
    return "the NIC needs " + with_bytes(f.staging_bytes) +
           " of host memory locked, and ulimit -l allows " + with_bytes(f.memlock_bytes) +
           "; raise it, or use fewer or smaller buffers";
}

// What an errno of a registration means, by route.
std::string advice(const route_facts& f, route r, int code)
{
    const bool unsupported =
        code == EOPNOTSUPP || code == EPROTONOSUPPORT || code == ENOSYS || code == ENOTTY;
    if (r == route::dmabuf && unsupported)
        return "the NIC's driver or this kernel cannot register dma-bufs";
    if (r == route::peermem && f.peermem == peermem_state::absent)
        return "the module nvidia-peermem is not loaded: modprobe nvidia-peermem";
    if (r == route::peermem && code == EFAULT)
        return "nvidia-peermem is loaded and did not take this memory";
    if (code == ENOMEM)
        return "no room in the GPU's BAR1 window (" + with_bytes(f.bar1.total_bytes) +
               ", " + with_bytes(f.bar1.free_bytes) + " free) or in the NIC's tables" +
               (r == route::peermem && f.memlock_bytes < f.ring_bytes
                    ? ", or the limit of locked memory counts here, too: ulimit -l "
                      "allows " +
                          with_bytes(f.memlock_bytes)
                    : "");
    return "";
}

std::string joined(const std::vector<refused_route>& refused)
{
    std::string text;
    for (const refused_route& r : refused)
        text += (text.empty() ? "" : "; ") + std::string(to_string(r.which)) + ": " +
                r.reason;
    return text;
}

std::unique_ptr<registration> try_route(const ring_memory& ring, route r, registrar& nic)
{
    const region memory = ring.first_mapping();
    if (r == route::peermem)
        return nic.register_address(memory.address, memory.bytes);
    const auto* exportable = dynamic_cast<const gpu_ring*>(&ring);
    if (!exportable)
        throw config_error("this ring's memory cannot be exported");
    const dma_buf buffer = exportable->export_dma_buf(0, memory.bytes);
    if (buffer.offset() + memory.bytes > buffer.bytes())
        throw config_error("the export has " + with_bytes(buffer.bytes()) +
                           ", and the ring ends at " +
                           with_bytes(buffer.offset() + memory.bytes));
    return nic.register_dma_buf(buffer, memory.address, memory.bytes);
}

} // namespace

const char* to_string(route r) noexcept
{
    switch (r) {
    case route::dmabuf:
        return "dmabuf";
    case route::peermem:
        return "peermem";
    case route::staged:
        return "staged";
    default:
        return "host";
    }
}

std::optional<route> parse_route(const std::string& text)
{
    if (text == "auto")
        return std::nullopt;
    for (const route r : { route::dmabuf, route::peermem, route::staged })
        if (text == to_string(r))
            return r;
    throw config_error("route='" + text + "': use auto, dmabuf, peermem or staged");
}

peermem_state find_peermem(const std::string& root)
{
    for (const char* file : { "/sys/kernel/mm/memory_peers/nv_mem/version",
                              "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
                              "/sys/module/nvidia_peermem/version" })
        if (std::ifstream(root + file).good())
            return peermem_state::loaded;
    return peermem_state::absent;
}

std::uint64_t largest_ring(std::uint64_t limit, std::uint64_t slot_bytes) noexcept
{
    return limit / slot_bytes * slot_bytes;
}

std::uint64_t lockable_bytes()
{
    constexpr int cap_ipc_lock = 14;
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word)
        if (word == "CapEff:" && status >> word &&
            (std::strtoull(word.c_str(), nullptr, 16) >> cap_ipc_lock & 1) != 0)
            return UINT64_MAX;
    struct rlimit limit;
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

flush_method plan_flush(const gpu_info& gpu, route r) noexcept
{
    if (r == route::staged || r == route::host || gpu.writes_ordering >= ordering_owner)
        return flush_method::none;
    return (gpu.flush_options & flush_by_host_call) != 0 ? flush_method::host_call
                                                         : flush_method::missing;
}

registration_plan plan_registration(const route_facts& facts, std::optional<route> forced)
{
    registration_plan plan;
    for (const route r : { route::dmabuf, route::peermem, route::staged }) {
        if (forced && *forced != r)
            continue;
        const std::string problem =
            r == route::staged ? staged_problem(facts) : direct_problem(facts, r);
        if (problem.empty())
            plan.to_try.push_back(r);
        else
            plan.refused.push_back({ r, problem });
    }
    return plan;
}

std::string registered_ring::text() const
{
    const std::string why = joined(refused);
    return to_string(used) + (why.empty() ? "" : " (" + why + ")");
}

registered_ring register_ring(const ring_memory& ring,
                              const route_facts& facts,
                              std::optional<route> forced,
                              registrar* nic)
{
    registration_plan plan = plan_registration(facts, forced);
    registered_ring result;
    result.refused = std::move(plan.refused);
    const std::string name =
        forced ? std::string("route='") + to_string(*forced) + "'" : "";
    for (const route r : plan.to_try) {
        result.used = r;
        if (r == route::staged)
            return result;
        try {
            result.memory = try_route(ring, r, *nic);
            return result;
        } catch (const os_error& e) {
            const std::string words = advice(facts, r, e.code().value());
            const std::string reason = e.what() + (words.empty() ? "" : ": " + words);
            if (forced)
                throw os_error(e.code().value(),
                               name + ": " + with_bytes(facts.ring_bytes) + " on " +
                                   facts.gpu.describe() + ": " + reason);
            result.refused.push_back({ r, reason });
        } catch (const std::exception& e) { // the export: the driver's words
            if (forced)
                throw config_error(name + ": " + e.what());
            result.refused.push_back({ r, e.what() });
        }
    }
    throw config_error((forced ? name : "route='auto'") + ": no way into the memory of " +
                       facts.gpu.describe() + " for a ring of " +
                       with_bytes(facts.ring_bytes) + ": " + joined(result.refused));
}

} // namespace mem
} // namespace rdma
} // namespace gr
