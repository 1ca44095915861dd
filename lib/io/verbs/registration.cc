/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/registration.h"

#include "core/sizes.h"
#include "io/verbs/plan.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <gnuradio/rdma/error.h>
#include <sys/resource.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr unsigned cap_ipc_lock = 14; // linux/capability.h

bool may_lock_anything()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "CapEff:" && status >> word)
            return (std::strtoull(word.c_str(), nullptr, 16) >> cap_ipc_lock) & 1;
    return false;
}

std::uint64_t memlock_limit()
{
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

// errno is that of the last try where the result is empty.
template <typename Call>
registration relaxed_if_possible(const verbs_api& api, unsigned access, Call call)
{
    registration out;
    errno = 0;
    out.mr = mr_handle(api, call(access | IBV_ACCESS_RELAXED_ORDERING));
    out.relaxed = static_cast<bool>(out.mr);
    if (!out.mr) {
        errno = 0;
        out.mr = mr_handle(api, call(access));
    }
    return out;
}

std::string of_bytes(std::uint64_t bytes)
{
    return "of " + std::to_string(bytes) + " bytes (" + core::human_bytes(bytes) + ")";
}

registration direct_or_throw(registration made,
                             const verbs_api& api,
                             ibv_pd* pd,
                             std::uint64_t bytes,
                             const char* call)
{
    const int code = last_error();
    if (!made.mr)
        throw os_error(code,
                       std::string(call) + " " + of_bytes(bytes) + " of GPU memory on " +
                           api.get_device_name(pd->context->device));
    return made;
}

} // namespace

registration register_memory(const verbs_api& api,
                             ibv_pd* pd,
                             const mem::region& memory,
                             unsigned access,
                             const std::string& what,
                             std::uint64_t slot_bytes)
{
    if (memory.bytes == 0)
        return registration();
    const std::string problem =
        memlock_problem(memory.bytes, memlock_limit(), may_lock_anything(), slot_bytes);
    if (!problem.empty())
        throw os_error(ENOMEM, what + ": " + problem);
    registration out = relaxed_if_possible(api, access, [&](unsigned all) {
        return api.reg_mr(pd, memory.host, memory.bytes, all);
    });
    if (out.mr)
        return out;
    const int code = last_error();
    // The limit holds for all that the user has locked, and root of a container has no
    // more rights here than anybody.
    const std::string limit =
        code == ENOMEM
            ? memlock_problem(memory.bytes, memlock_limit() / 2, false, slot_bytes)
            : "";
    fail(code,
         "ibv_reg_mr",
         of_bytes(memory.bytes) + " of " + what + " on " +
             api.get_device_name(pd->context->device) +
             (limit.empty() ? "" : ": " + limit));
}

registration register_dma_buf(const verbs_api& api,
                              ibv_pd* pd,
                              const mem::dma_buf& buffer,
                              std::uint64_t address,
                              std::uint64_t bytes,
                              unsigned access)
{
    return direct_or_throw(relaxed_if_possible(api,
                                               access,
                                               [&](unsigned all) {
                                                   return api.reg_dmabuf_mr(
                                                       pd,
                                                       buffer.offset(),
                                                       bytes,
                                                       address,
                                                       buffer.fd(),
                                                       static_cast<int>(all));
                                               }),
                           api,
                           pd,
                           bytes,
                           "ibv_reg_dmabuf_mr");
}

registration register_device_address(const verbs_api& api,
                                     ibv_pd* pd,
                                     std::uint64_t address,
                                     std::uint64_t bytes,
                                     unsigned access)
{
    return direct_or_throw(
        relaxed_if_possible(api,
                            access,
                            [&](unsigned all) {
                                return api.reg_mr(
                                    pd, reinterpret_cast<void*>(address), bytes, all);
                            }),
        api,
        pd,
        bytes,
        "ibv_reg_mr");
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
