# SPDX-License-Identifier: GPL-3.0-or-later
# CUDA by ENABLE_CUDA: RDMA_HAVE_CUDA, the language enabled, the toolkit's targets (CUDA::...),
# and the architectures. CUDA's runtime is linked statically: the library that is built loads
# on a machine without an NVIDIA driver.
include(RdmaNvcc)

# The devices to compile for, by toolkit. Code for x.y runs on x.z with z >= y; the last one
# has PTX too, from which the driver compiles for what came later.
function(rdma_default_cuda_architectures toolkit result)
    set(list 75-real 80-real 86-real 90-real 100-real 120)
    if(toolkit VERSION_LESS 12.8)
        set(list 70-real 75-real 80-real 86-real 90)
    elseif(toolkit VERSION_LESS 13)
        list(PREPEND list 70-real)
    endif()
    set(${result} ${list} PARENT_SCOPE)
endfunction()

# Where there is no CUDA: an error under ON, a reason to print under AUTO.
function(rdma_without_cuda reason)
    if(ENABLE_CUDA STREQUAL "ON")
        message(FATAL_ERROR
            "ENABLE_CUDA=ON but ${reason}. Install the CUDA toolkit (${RDMA_CUDA_OLDEST} to 13), "
            "or put its nvcc on PATH, or name it with -DCMAKE_CUDA_COMPILER=...; "
            "ENABLE_CUDA=AUTO builds without it.")
    endif()
    set(RDMA_WITHOUT_CUDA ${reason} PARENT_SCOPE)
endfunction()

set(RDMA_HAVE_CUDA OFF)
set(RDMA_WITHOUT_CUDA "")
if(NOT ENABLE_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "ENABLE_CUDA=${ENABLE_CUDA}: AUTO, ON or OFF")
endif()
if(NOT ENABLE_CUDA STREQUAL "OFF")
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        rdma_find_nvcc(/usr/local nvcc)
        if(nvcc)
            set(ENV{CUDACXX} ${nvcc})
        endif()
    endif()
    set(architectures_given OFF)
    if(CMAKE_CUDA_ARCHITECTURES OR DEFINED ENV{CUDAARCHS})
        set(architectures_given ON)
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
        rdma_without_cuda("no working CUDA compiler was found")
    else()
        enable_language(CUDA)
        # Where nvcc takes an older g++ for the host's code, the folder of that one's libstdc++
        # would stand in front of c++'s own when that links (Debian 13: 13 before 14).
        list(FILTER CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES EXCLUDE REGEX "/gcc/")
        find_package(CUDAToolkit)
        if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS RDMA_CUDA_OLDEST)
            rdma_without_cuda("${CMAKE_CUDA_COMPILER} is CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
        elseif(NOT TARGET CUDA::cudart_static OR NOT TARGET CUDA::cufft)
            rdma_without_cuda("the toolkit of ${CMAKE_CUDA_COMPILER} has no libcudart_static or no libcufft")
        else()
            set(RDMA_HAVE_CUDA ON)
        endif()
    endif()
endif()
if(RDMA_HAVE_CUDA)
    if(NOT architectures_given)
        rdma_default_cuda_architectures(${CMAKE_CUDA_COMPILER_VERSION} architectures)
        set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING
            "CUDA architectures, as CMake's property of that name" FORCE)
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    message(STATUS "CUDA compiler: ${CMAKE_CUDA_COMPILER} (${CMAKE_CUDA_COMPILER_VERSION}), "
                   "architectures ${CMAKE_CUDA_ARCHITECTURES}")
elseif(RDMA_WITHOUT_CUDA)
    message(STATUS "CUDA compiler: none, ${RDMA_WITHOUT_CUDA} (ENABLE_CUDA=${ENABLE_CUDA})")
else()
    message(STATUS "CUDA compiler: not looked for (ENABLE_CUDA=${ENABLE_CUDA})")
endif()
set(RDMA_BUILT_WITH_CUDA ${RDMA_HAVE_CUDA} CACHE INTERNAL "apps/test.sh reads it")
