# SPDX-License-Identifier: GPL-3.0-or-later
# Tests written in Python, run with the module of the build tree.

# gnuradio extends its package path by folders of its name on PYTHONPATH, so
# `import gnuradio.rdma` works from here as long as gnuradio/ has no __init__.py of its own.
set(RDMA_TEST_MODULES ${PROJECT_BINARY_DIR}/test_modules)

# Python is not built with the sanitizers: their runtime must be there before it starts.
# What the interpreter leaves allocated at exit is not ours to count.
set(RDMA_PYTHON_QA_SANITIZE "")
if(RDMA_SANITIZE)
    set(preload "")
    foreach(name asan ubsan tsan)
        if((name STREQUAL "asan" AND RDMA_SANITIZE MATCHES "address")
           OR (name STREQUAL "ubsan" AND RDMA_SANITIZE MATCHES "undefined")
           OR (name STREQUAL "tsan" AND RDMA_SANITIZE MATCHES "thread"))
            execute_process(
                COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.so
                OUTPUT_VARIABLE file
                OUTPUT_STRIP_TRAILING_WHITESPACE)
            list(APPEND preload ${file})
        endif()
    endforeach()
    list(JOIN preload ":" preload)
    set(RDMA_PYTHON_QA_SANITIZE "LD_PRELOAD=${preload}" "ASAN_OPTIONS=detect_leaks=0")
endif()

# rdma_add_python_qa(NAME SOURCE qa_x.py LABEL unit|loopback TIMEOUT seconds ARGS ...)
# The file may `import qa_helper` for what tests share. Exit 77 is a skip.
function(rdma_add_python_qa name)
    if(NOT ENABLE_TESTING)
        return()
    endif()
    cmake_parse_arguments(A "" "SOURCE;LABEL;TIMEOUT" "ARGS" ${ARGN})
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE}
                                  ${CMAKE_CURRENT_SOURCE_DIR}/${A_SOURCE} ${A_ARGS})
    rdma_test_properties(${name} "${A_LABEL}" "${A_TIMEOUT}")
    set(program "")
    if(TARGET gr-rdma)
        set(program "$<TARGET_FILE:gr-rdma>")
    endif()
    set_property(
        TEST ${name}
        APPEND
        PROPERTY ENVIRONMENT
                 "PYTHONPATH=${RDMA_TEST_MODULES}:${PROJECT_SOURCE_DIR}/python/rdma"
                 "PYTHONDONTWRITEBYTECODE=1"
                 "GRC_BLOCKS_PATH=${PROJECT_SOURCE_DIR}/grc"
                 "RDMA_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
                 "RDMA_PROGRAM=${program}"
                 ${RDMA_PYTHON_QA_SANITIZE})
endfunction()
