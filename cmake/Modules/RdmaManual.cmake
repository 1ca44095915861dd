# SPDX-License-Identifier: GPL-3.0-or-later
# The manual's code, as files: what a page shows is what its test builds.

# rdma_code_of_page(PAGE HEADING RESULT): the block of code that follows the line which begins with
# HEADING, such as "`scale.h`:".
function(rdma_code_of_page page heading result)
    file(READ "${page}" text)
    set(code "\n${text}")
    foreach(mark "\n${heading}" "\n```" "\n")
        string(FIND "${code}" "${mark}" at)
        if(at EQUAL -1)
            message(FATAL_ERROR "${page} has no code under ${heading}")
        endif()
        string(LENGTH "${mark}" length)
        math(EXPR at "${at} + ${length}")
        string(SUBSTRING "${code}" ${at} -1 code)
    endforeach()
    string(FIND "${code}" "\n```" at)
    math(EXPR at "${at} + 1")
    string(SUBSTRING "${code}" 0 ${at} code)
    set(${result} "${code}" PARENT_SCOPE)
endfunction()

# rdma_write_code(PAGE FOLDER FILE ...): the files of these names that the page shows, in FOLDER.
# One that has not changed keeps its time.
function(rdma_write_code page folder)
    foreach(file ${ARGN})
        rdma_code_of_page("${page}" "`${file}`" code)
        set(there "")
        if(EXISTS "${folder}/${file}")
            file(READ "${folder}/${file}" there)
        endif()
        if(NOT there STREQUAL code)
            file(WRITE "${folder}/${file}" "${code}")
        endif()
    endforeach()
endfunction()
