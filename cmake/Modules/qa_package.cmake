# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the build into a private prefix, builds a module against it by find_package, and runs
# that module, the program and the Python module from there, with no LD_LIBRARY_PATH.
#   cmake -DBUILD_DIR= -DSOURCE_DIR= -DWORK_DIR= -DCXX= -DGENERATOR= -DPYTHON= -DPYTHON_DIR=
#         -DGnuradio_DIR= -DFLAGS= -P qa_package.cmake
cmake_policy(VERSION 3.18)
set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
unset(ENV{LD_LIBRARY_PATH})
unset(ENV{DESTDIR})

# step(EXPECTED command ...): runs it; its output must match the regular expression
function(step expected)
    execute_process(
        COMMAND ${ARGN}
        WORKING_DIRECTORY "${WORK_DIR}"
        RESULT_VARIABLE result
        OUTPUT_VARIABLE output
        ERROR_VARIABLE output)
    list(JOIN ARGN " " words)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${words}\nended with ${result}:\n${output}")
    elseif(NOT output MATCHES "${expected}")
        message(FATAL_ERROR "${words}\nprinted no '${expected}':\n${output}")
    endif()
    message("${output}")
endfunction()

set(report "gnuradio-rdmaConfig.cmake")
if(PYTHON)
    # The prefix is none that Python searches: the line that mends this must be printed.
    set(report "PYTHONPATH=${prefix}/${PYTHON_DIR}")
endif()
step("${report}" ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}")

# What we link for ourselves is not the business of those who build on us.
file(GLOB_RECURSE exports "${prefix}/*/gnuradio-rdmaTargets*.cmake")
foreach(file ${exports})
    file(READ "${file}" text)
    if(text MATCHES "(rdma_[a-z]+|${BUILD_DIR}|${SOURCE_DIR})")
        message(FATAL_ERROR "${file} exports ${CMAKE_MATCH_1}")
    endif()
endforeach()

step("Generating done"
     ${CMAKE_COMMAND} -S "${SOURCE_DIR}/cmake/consumer" -B consumer -G "${GENERATOR}"
     "-DCMAKE_PREFIX_PATH=${prefix}" "-DGnuradio_DIR=${Gnuradio_DIR}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
step("" ${CMAKE_COMMAND} --build consumer)
step("message_bytes.*4095" consumer/refused_source)
step("1000 items" consumer/ring_reader)

if(EXISTS "${prefix}/bin/gr-rdma")
    step("gr-rdma" "${prefix}/bin/gr-rdma" --help)
endif()
if(PYTHON)
    set(ENV{PYTHONPATH} "${prefix}/${PYTHON_DIR}")
    step("^${prefix}" "${PYTHON}" -c "print(__import__('gnuradio.rdma').rdma.__file__)")
endif()
