# SPDX-License-Identifier: GPL-3.0-or-later
# The interpreter that has GNU Radio, which need not be the first python3 on PATH. Include
# before GNU Radio is found (its CMake files take GR_PYTHON_DIR over), and call
# rdma_use_python() afterwards. Sets
#   Python3_EXECUTABLE, PYTHON_EXECUTABLE   the interpreter; either may be given by the user
#   GR_PYTHON_DIR                           modules' folder below the prefix, which it searches

# rdma_try_python(INTERPRETER): sets ${prefix}_version, ${prefix}_gnuradio; or ${prefix}_why.
function(rdma_try_python interpreter prefix)
    foreach(name version gnuradio why)
        set(${prefix}_${name} "" PARENT_SCOPE)
    endforeach()
    execute_process(
        COMMAND "${interpreter}" -c "import platform
from gnuradio import gr
print(platform.python_version(), gr.version())"
        RESULT_VARIABLE result
        OUTPUT_VARIABLE output
        ERROR_VARIABLE error
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
    if(result EQUAL 0 AND output MATCHES "([^ \n]+) ([^ \n]+)$")
        set(${prefix}_version "${CMAKE_MATCH_1}" PARENT_SCOPE)
        set(${prefix}_gnuradio "${CMAKE_MATCH_2}" PARENT_SCOPE)
    else()
        # The last line of a traceback is the exception.
        string(REGEX REPLACE ".*\n" "" why "${error}")
        if(NOT why)
            set(why "${result}")
        endif()
        set(${prefix}_why "${why}" PARENT_SCOPE)
    endif()
endfunction()

# What the user named, else the interpreters worth trying, first the one on PATH.
function(rdma_python_candidates out)
    foreach(given "${Python3_EXECUTABLE}" "$CACHE{PYTHON_EXECUTABLE}")
        if(given AND NOT given STREQUAL "${RDMA_PYTHON_CHOSEN}")
            set(${out} "${given}" PARENT_SCOPE)
            return()
        endif()
    endforeach()
    find_program(on_path python3 NO_CACHE)
    set(files "")
    foreach(file "${RDMA_PYTHON_CHOSEN}" "${on_path}" /usr/bin/python3 /usr/local/bin/python3)
        if(file AND EXISTS "${file}")
            list(APPEND files "${file}")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES files)
    set(${out} "${files}" PARENT_SCOPE)
endfunction()

function(rdma_find_python)
    rdma_python_candidates(candidates)
    set(refused "")
    foreach(candidate ${candidates})
        rdma_try_python("${candidate}" try)
        if(try_version)
            foreach(line ${refused})
                message(STATUS "Python: passed over ${line}")
            endforeach()
            message(STATUS "Python: ${candidate} (${try_version}), which has GNU Radio ${try_gnuradio}")
            foreach(name Python3_EXECUTABLE PYTHON_EXECUTABLE)
                set(${name} "${candidate}" CACHE FILEPATH "The Python that has GNU Radio" FORCE)
            endforeach()
            set(RDMA_PYTHON_CHOSEN "${candidate}" CACHE INTERNAL "")
            set(RDMA_PYTHON_GNURADIO "${try_gnuradio}" PARENT_SCOPE)
            return()
        endif()
        list(APPEND refused "${candidate}: ${try_why}")
    endforeach()
    string(REPLACE ";" "\n  " refused "${refused}")
    message(
        FATAL_ERROR
            "No Python that can import gnuradio. Tried:\n  ${refused}\n"
            "Install GNU Radio's Python part (Debian, Ubuntu: apt-get install gnuradio), or name "
            "its interpreter with -DPython3_EXECUTABLE=/path/to/python3, or build without Python "
            "with -DENABLE_PYTHON=OFF.")
endfunction()

# A folder under the prefix that the interpreter searches by itself; if it searches none
# there, the one that it would search were the prefix its own.
function(rdma_python_dir)
    execute_process(
        COMMAND
            "${Python3_EXECUTABLE}" -c
            "import os, site, sys, sysconfig
prefix = os.path.realpath(sys.argv[1])
names = sysconfig.get_scheme_names()
version = 'python%d.%d' % sys.version_info[:2]
paths = [sysconfig.get_path('platlib', s, {'base': prefix, 'platbase': prefix})
         for s in ('deb_system', 'posix_prefix') if s in names]
paths.append(os.path.join(prefix, 'lib', version, 'dist-packages'))
searched = [p for p in paths if p in site.getsitepackages()]
print(os.path.relpath((searched or paths[-2:])[0], prefix))"
            "${CMAKE_INSTALL_PREFIX}"
        RESULT_VARIABLE result
        OUTPUT_VARIABLE dir
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${Python3_EXECUTABLE} did not say where modules are installed")
    endif()
    set(GR_PYTHON_DIR "${dir}" PARENT_SCOPE)
    message(STATUS "Python modules go to ${CMAKE_INSTALL_PREFIX}/${dir}")
endfunction()

# After GNU Radio is found: its CMake files name the interpreter that it was packaged with.
macro(rdma_use_python)
    set(PYTHON_EXECUTABLE "${Python3_EXECUTABLE}")
    if(NOT RDMA_PYTHON_GNURADIO VERSION_EQUAL Gnuradio_VERSION)
        message(
            FATAL_ERROR
                "${Python3_EXECUTABLE} imports GNU Radio ${RDMA_PYTHON_GNURADIO}, but the headers "
                "and libraries found are ${Gnuradio_VERSION} (${Gnuradio_DIR}). Name the other "
                "interpreter with -DPython3_EXECUTABLE=..., or the other GNU Radio with "
                "-DGnuradio_DIR=....")
    endif()
endmacro()

rdma_find_python()
rdma_python_dir()
