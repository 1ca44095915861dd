/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/cufft_api.h"

#include <dlfcn.h>
#include <gnuradio/rdma/error.h>
#include <string>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// cuFFT's own version, not the toolkit's, is in the file's name: 12 of CUDA 13.
std::string library_name() { return "libcufft.so." + std::to_string(CUFFT_VER_MAJOR); }

void* open_library()
{
    const std::string name = library_name();
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    const std::string why = dlerror();
    for (const char* folder : { RDMA_CUFFT_DIR, "/usr/local/cuda/lib64" }) {
        library = dlopen((std::string(folder) + "/" + name).c_str(), RTLD_NOW);
        if (library)
            return library;
    }
    throw cuda_error(0,
                     "cuFFT, which transforms on the GPU, was not found (" + why +
                         "): install CUDA's package libcufft, or add its folder to "
                         "LD_LIBRARY_PATH");
}

template <class Function>
void find(void* library, const char* name, Function& function)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
        throw cuda_error(0, library_name() + " has no " + name + ": is it NVIDIA's?");
}

cufft_api load()
{
    cufft_api api;
    void* const library = open_library(); // stays for the life of the process
    find(library, "cufftCreate", api.create);
    find(library, "cufftDestroy", api.destroy);
    find(library, "cufftSetAutoAllocation", api.set_auto_allocation);
    find(library, "cufftMakePlanMany", api.make_plan_many);
    find(library, "cufftSetWorkArea", api.set_work_area);
    find(library, "cufftSetStream", api.set_stream);
    find(library, "cufftExecC2C", api.exec_c2c);
    find(library, "cufftExecR2C", api.exec_r2c);
    return api;
}

const char* result_name(int result)
{
    switch (result) {
    case CUFFT_INVALID_PLAN:
        return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED:
        return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_TYPE:
        return "CUFFT_INVALID_TYPE";
    case CUFFT_INVALID_VALUE:
        return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR:
        return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED:
        return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED:
        return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE:
        return "CUFFT_INVALID_SIZE";
    default:
        return "cuFFT's code";
    }
}

} // namespace

const cufft_api& cufft_api::get()
{
    static const cufft_api api = load();
    return api;
}

std::string describe_cufft(int result, const char* call)
{
    return std::string(call) + ": " + result_name(result) + " (" +
           std::to_string(result) + ")";
}

void check_cufft(int result, const char* call)
{
    if (result == CUFFT_ALLOC_FAILED)
        throw out_of_memory(describe_cufft(result, call));
    if (result != CUFFT_SUCCESS)
        throw cuda_error(-result, describe_cufft(result, call));
}

} // namespace cuda
} // namespace rdma
} // namespace gr
