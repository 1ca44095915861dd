# SPDX-License-Identifier: GPL-3.0-or-later
# rdma_layer(): one OBJECT library per folder under lib/. rdma_add_qa(): one test program.

set(RDMA_WARNINGS -Wall -Wextra)
if(RDMA_WERROR)
    list(APPEND RDMA_WARNINGS -Werror)
endif()
add_library(rdma_flags INTERFACE)
target_compile_options(rdma_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${RDMA_WARNINGS}>)
if(RDMA_HAVE_CUDA)
    # For layers and QA alone: what is installed does not depend on it.
    target_compile_definitions(rdma_flags INTERFACE RDMA_HAVE_CUDA)
    string(REPLACE ";" "," RDMA_HOST_WARNINGS "${RDMA_WARNINGS}")
    set(RDMA_CUDA_WARNINGS -Xcompiler=${RDMA_HOST_WARNINGS})
    if(RDMA_WERROR)
        list(APPEND RDMA_CUDA_WARNINGS -Werror=all-warnings)
    endif()
    target_compile_options(rdma_flags
                           INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${RDMA_CUDA_WARNINGS}>)
endif()
if(RDMA_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "RDMA_FUZZ is ON and the compiler is ${CMAKE_CXX_COMPILER_ID}: "
                            "libFuzzer needs clang; configure a new folder with CXX=clang++")
    endif()
    if(NOT RDMA_SANITIZE)
        set(RDMA_SANITIZE address,undefined)
    endif()
    target_compile_options(rdma_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(RDMA_SANITIZE)
    target_compile_options(rdma_flags INTERFACE -fsanitize=${RDMA_SANITIZE}
                                                -fno-sanitize-recover=all
                                                -g1
                                                -fno-omit-frame-pointer)
    target_link_options(rdma_flags INTERFACE -fsanitize=${RDMA_SANITIZE})
endif()

# rdma_layer(NAME SOURCES a.cc ... USES core wire ... LINK lib ...)
# The layer sees lib/ and include/ and the headers of what it links, nothing else. Sources may be
# .cu where RDMA_HAVE_CUDA is ON; such a layer links CUDA::cudart_static.
function(rdma_layer name)
    cmake_parse_arguments(A "" "" "SOURCES;USES;LINK" ${ARGN})
    add_library(rdma_${name} OBJECT ${A_SOURCES})
    target_include_directories(rdma_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib
                                                   ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(rdma_${name} PUBLIC ${A_LINK} Threads::Threads PRIVATE rdma_flags)
    set_property(TARGET rdma_${name} PROPERTY RDMA_USES ${A_USES})
endfunction()

# rdma_link_layers(TARGET layer ...): the objects of the layers and of all that they use.
function(rdma_link_layers target)
    set(todo ${ARGN})
    set(done "")
    while(todo)
        list(POP_FRONT todo layer)
        if(NOT layer IN_LIST done)
            list(APPEND done ${layer})
            target_link_libraries(${target} PRIVATE rdma_${layer})
            get_property(uses TARGET rdma_${layer} PROPERTY RDMA_USES)
            list(APPEND todo ${uses})
        endif()
    endwhile()
endfunction()

# rdma_add_qa(NAME SOURCES ... LAYERS core ... LINK lib ... LABEL unit|loopback|gpu|rdma
#             TIMEOUT seconds [TSAN])
# TSAN: CI runs it under the thread sanitizer too. GNU Radio's libraries are not instrumented:
# their mutexes are seen, their atomics are not.
# The target qa_label_LABEL builds all test programs of a label.
# QA of internals links the layers' objects; QA of blocks gives LINK gnuradio-rdma instead.
function(rdma_add_qa name)
    if(NOT ENABLE_TESTING)
        return()
    endif()
    cmake_parse_arguments(A "TSAN" "LABEL;TIMEOUT" "SOURCES;LAYERS;LINK" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK BOOST_TEST_MAIN)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib
                                               ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} PRIVATE rdma_flags Boost::unit_test_framework ${A_LINK})
    rdma_link_layers(${name} ${A_LAYERS})
    add_test(NAME ${name} COMMAND ${name})
    rdma_test_properties(${name} "${A_LABEL}" "${A_TIMEOUT}")
    set(labels ${A_LABEL})
    if(A_TSAN)
        list(APPEND labels tsan)
        set_tests_properties(${name} PROPERTIES LABELS "${labels}")
    endif()
    foreach(label ${labels})
        if(NOT TARGET qa_label_${label})
            add_custom_target(qa_label_${label})
        endif()
        add_dependencies(qa_label_${label} ${name})
    endforeach()
endfunction()

function(rdma_test_properties name label timeout)
    if(NOT timeout)
        set(timeout 60)
    endif()
    if(RDMA_SANITIZE)
        math(EXPR timeout "${timeout} * 5")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${timeout}
                                            SKIP_RETURN_CODE 77)
    if(label STREQUAL "gpu")
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu0)
    elseif(label STREQUAL "rdma")
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK nic0)
    endif()
endfunction()

if(ENABLE_TESTING)
    enable_testing()
endif()
