# SPDX-License-Identifier: GPL-3.0-or-later
# Where nvcc is: NVIDIA's packages put it on nobody's PATH.
set(RDMA_CUDA_OLDEST 11.8)
set(RDMA_CUDA_TOO_NEW 14)

# rdma_find_nvcc(FOLDER result): nvcc of PATH, CUDA_PATH or CUDA_HOME; else FOLDER/cuda's, the link
# that chooses a toolkit where there are several; else, where this link is absent or dangling, that
# of the newest FOLDER/cuda-X.Y that is supported. Empty if there is none.
function(rdma_find_nvcc folder result)
    unset(nvcc)
    unset(nvcc CACHE)
    find_program(nvcc nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS ${folder}/cuda
                 PATH_SUFFIXES bin)
    set(found "${nvcc}")
    unset(nvcc CACHE)
    if(NOT found)
        set(found "")
        set(newest 0)
        file(GLOB toolkits ${folder}/cuda-*)
        foreach(toolkit ${toolkits})
            get_filename_component(name ${toolkit} NAME)
            string(REPLACE cuda- "" version ${name})
            if(version MATCHES "^[0-9]+(\\.[0-9]+)*$"
               AND version VERSION_GREATER newest
               AND NOT version VERSION_LESS RDMA_CUDA_OLDEST
               AND version VERSION_LESS RDMA_CUDA_TOO_NEW
               AND EXISTS ${toolkit}/bin/nvcc)
                set(newest ${version})
                set(found ${toolkit}/bin/nvcc)
            endif()
        endforeach()
    endif()
    set(${result} "${found}" PARENT_SCOPE)
endfunction()
