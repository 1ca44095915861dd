# SPDX-License-Identifier: GPL-3.0-or-later
# Builds what docs/user/own-cuda-block.md shows, as its reader would: against an installed package.
# Runs it too, where there is a GPU; elsewhere it has to say that there is none.
#   cmake -DBUILD_DIR= -DSOURCE_DIR= -DWORK_DIR= -DCXX= -DNVCC= -DARCHITECTURES= -DGENERATOR=
#         -DGnuradio_DIR= -DPYTHON= -DPYTHON_DIR= -P qa_own_block.cmake
cmake_policy(VERSION 3.18)
include("${CMAKE_CURRENT_LIST_DIR}/RdmaManual.cmake")
set(page "${SOURCE_DIR}/docs/user/own-cuda-block.md")
set(prefix "${WORK_DIR}/prefix")
set(code "${WORK_DIR}/code")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${code}")
unset(ENV{LD_LIBRARY_PATH})
unset(ENV{DESTDIR})

# step(EXPECTED command ...): runs it; its output must match. ANY_RESULT may be set around it.
set(ANY_RESULT OFF)
function(step expected)
    execute_process(
        COMMAND ${ARGN}
        WORKING_DIRECTORY "${code}"
        RESULT_VARIABLE result
        OUTPUT_VARIABLE output
        ERROR_VARIABLE output)
    list(JOIN ARGN " " words)
    if(NOT result EQUAL 0 AND NOT ANY_RESULT)
        message(FATAL_ERROR "${words}\nended with ${result}:\n${output}")
    elseif(NOT output MATCHES "${expected}")
        message(FATAL_ERROR "${words}\nprinted no '${expected}':\n${output}")
    endif()
    message("${output}")
endfunction()

set(files scale_kernel.h scale.cu scale.h)
rdma_write_code("${page}" "${code}" ${files} example.cc scale_python.cc example.py)
rdma_code_of_page("${page}" "`CMakeLists.txt`:" project)
if(PYTHON)
    rdma_code_of_page("${page}" "`CMakeLists.txt`, continued" more)
    string(APPEND project "${more}")
endif()
file(WRITE "${code}/CMakeLists.txt" "${project}")

# The promise: a whole block in under 50 lines, empty ones counted.
set(lines 0)
foreach(file ${files})
    file(READ "${code}/${file}" text)
    string(REGEX REPLACE "[^\n]" "" ends "${text}")
    string(LENGTH "${ends}" length)
    math(EXPR lines "${lines} + ${length}")
endforeach()
message("${files}: ${lines} lines")
if(NOT lines LESS 50)
    message(FATAL_ERROR "the block of ${page} has ${lines} lines, not under 50")
endif()

step("" ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}")
step("Generating done"
     ${CMAKE_COMMAND} -S . -B build -G "${GENERATOR}"
     "-DCMAKE_PREFIX_PATH=${prefix}" "-DGnuradio_DIR=${Gnuradio_DIR}" "-DCMAKE_CXX_COMPILER=${CXX}"
     "-DCMAKE_CUDA_COMPILER=${NVCC}" "-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES}"
     "-DPYTHON_EXECUTABLE=${PYTHON}" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
step("" ${CMAKE_COMMAND} --build build)

set(ANY_RESULT ON)
set(no_gpu "memory='auto': this block needs a GPU: ")
step("1000000 of 1000000 samples right, on cuda:0|^${no_gpu}" build/example)
if(PYTHON)
    set(ENV{PYTHONPATH} "${prefix}/${PYTHON_DIR}:${code}/build")
    step("^cuda:0\n$|\nValueError: ${no_gpu}" "${PYTHON}" example.py)
endif()
