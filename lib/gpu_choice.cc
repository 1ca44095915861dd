/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gpu_choice.h"

#ifdef RDMA_HAVE_CUDA
#include "cuda/device.h"
#endif

#include <gnuradio/rdma/error.h>

#include <map>
#include <mutex>

namespace gr {
namespace rdma {

namespace {

// For the last two there is PTX, and nothing that compiles it.
bool means_no_code(int code)
{
    constexpr int no_jit_compiler = 221;
    constexpr int jit_disabled = 223;
    return code == no_code_for_gpu || code == ptx_too_new || code == no_jit_compiler ||
           code == jit_disabled;
}

// Empty: it may be used. Another failure is for who works there to tell.
std::string why_no_code(int ordinal, const kernel_trial& trial)
{
    try {
        trial(ordinal);
    } catch (const cuda_error& e) {
        if (means_no_code(e.code()))
            return e.what();
    }
    return {};
}

std::string why_no_code_once(int ordinal)
{
#ifdef RDMA_HAVE_CUDA
    static std::mutex mutex; // guards known
    static std::map<int, std::string> known;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(ordinal);
    if (found != known.end())
        return found->second;
    return known[ordinal] = why_no_code(ordinal, cuda::try_kernel);
#else
    (void)ordinal;
    return {};
#endif
}

// Is it just that there is none?
bool is_absence(const std::string& reason)
{
    const mem::gpu_state& here = mem::state_of_gpus();
    const bool ordinary = here.absence == mem::gpu_absence::not_built ||
                          here.absence == mem::gpu_absence::no_driver ||
                          here.absence == mem::gpu_absence::no_device;
    return ordinary && reason.find(here.reason) != reason.npos;
}

template <typename WhyNot>
gpu_choice choose(const std::string& memory, const WhyNot& why_not)
{
    gpu_choice choice;
    choice.gpu = mem::choose_gpu(memory, &choice.reason);
    if (memory != "auto")
        return choice;
    if (!choice.gpu) {
        choice.unusable = !is_absence(choice.reason);
        return choice;
    }
    const std::string why = why_not(choice.gpu->info().ordinal);
    if (why.empty())
        return choice;
    choice.reason = choice.gpu->info().describe() + " cannot run our kernels: " + why;
    choice.unusable = true;
    choice.gpu = nullptr;
    return choice;
}

} // namespace

gpu_choice choose_gpu(const std::string& memory)
{
    return choose(memory, why_no_code_once);
}

gpu_choice choose_gpu(const std::string& memory, const kernel_trial& trial)
{
    return choose(memory, [&](int ordinal) { return why_no_code(ordinal, trial); });
}

} // namespace rdma
} // namespace gr
