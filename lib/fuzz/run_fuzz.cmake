# SPDX-License-Identifier: GPL-3.0-or-later
# cmake -DPROGRAM=... -DCORPUS=... -DWORK=... -DRUNS=n -DSEED=n -DMAX_LEN=n
#   -DOPTIONS=-x=y -P run_fuzz.cmake
# Fuzzes from the corpus in the tree for a number of inputs; what is found on the way stays in
# WORK, which begins empty, so that the same seed gives the same inputs.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/found")
# libFuzzer tries numbers that were compared, pointers among them.
set(fixed_addresses "")
find_program(SETARCH setarch)
if(SETARCH)
    execute_process(COMMAND ${SETARCH} -R true RESULT_VARIABLE refused ERROR_QUIET)
    if(NOT refused)
        set(fixed_addresses ${SETARCH} -R)
    endif()
endif()
execute_process(
    COMMAND
        ${fixed_addresses} "${PROGRAM}" -runs=${RUNS} -seed=${SEED} -max_len=${MAX_LEN} -timeout=10
        -rss_limit_mb=2048 -reload=0 -print_final_stats=1 "-artifact_prefix=${WORK}/"
        ${OPTIONS} "${WORK}/found" "${CORPUS}"
    RESULT_VARIABLE failed
    ERROR_VARIABLE log
    OUTPUT_VARIABLE log)
file(WRITE "${WORK}/log" "${log}")
string(REGEX MATCHALL "(DONE|stat::)[^\n]*\n" summary "${log}")
string(CONCAT summary ${summary})
message("${summary}")
if(failed)
    message("${log}")
    message(FATAL_ERROR "${PROGRAM} has a finding; the input is in ${WORK}")
endif()
