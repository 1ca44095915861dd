# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the tests that run in the guest. A test is a list of
#
#     check "what has to hold" FUNCTION ARGUMENT ...
#
# and ends with finish. FUNCTION runs commands side by side by `side NAME COMMAND ...`, waits for
# conditions, and fails by returning non-zero, best by `wrong WHY`. After it, whatever it has
# started is ended; if it failed, what each side has said is printed. tests.sh gives GR_RDMA and RDMA_PYTHON.

set -uo pipefail
RXE=10.0.0.1  # the kernel's RDMA device rxe0
SOFT=10.0.0.2 # the namespace "soft": softroce
OTHER=10.0.0.3 # of rxe0 too, after second_address
WORK=$(mktemp -d)
LOGS=$WORK/logs
export RXE SOFT
declare -A PIDS
FAILED=0
CHECKS=0

# check WHAT FUNCTION ...
check() {
    local what=$1 pid begin=$SECONDS
    shift
    rm -rf "$LOGS"
    mkdir "$LOGS"
    PIDS=()
    WHY="its last command failed"
    CHECKS=$((CHECKS + 1))
    if "$@"; then
        echo "ok: $what ($((SECONDS - begin)) s)"
    else
        FAILED=$((FAILED + 1))
        echo "FAIL: $what: $WHY"
        tail -n +1 "$LOGS"/* 2>/dev/null | tail -n 60 | sed 's/^/    | /'
    fi
    for pid in "${PIDS[@]}"; do
        kill -9 -- "-$pid" 2>/dev/null # whoever is left in its group
        wait "$pid" 2>/dev/null
    done
}

# wrong WHY: what is printed beside FAIL; false
wrong() {
    WHY=$*
    return 1
}

# side NAME COMMAND ...: in the background, in a process group of its own; its output is NAME's log
side() {
    local name=$1
    shift
    setsid stdbuf -oL "$@" >"$LOGS/$name" 2>&1 </dev/null &
    PIDS[$name]=$!
}

# ends NAME SECONDS [STATUS]: wait until it has ended, with that exit status if one is given
ends() {
    local status=0 pid=${PIDS[$1]}
    wait_until "$2" gone "$pid" || {
        wrong "$1 did not end within $2 s"
        return
    }
    wait "$pid" || status=$?
    [ -z "${3:-}" ] || [ "$status" -eq "$3" ] || wrong "$1 ended with status $status, not $3"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# wait_until SECONDS COMMAND ...: until it succeeds; false if it never does
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -le "$end" ] || {
            wrong "did not come about in time: $*"
            return
        }
        sleep 0.05
    done
}

# says NAME TEXT: has that side said it?
says() { grep -qF -- "$2" "$LOGS/$1" 2>/dev/null || wrong "$1 did not say '$2'"; }

# softroce_up: has softroce bound its port? It answers callers from then on.
softroce_up() { soft ss -Huln "src $SOFT" 2>/dev/null | grep -q ":4791 "; }

# receives NAME: has that gr-rdma posted its receives? The block's thread runs when it has.
receives() { grep -qs rdma_source "/proc/${PIDS[$1]}/task/"*/comm; }

# rxe_listens PORT: does somebody listen there by rdma_cm?
rxe_listens() { rdma resource show cm_id 2>/dev/null | grep -q "state LISTEN.*:$1 "; }

# rxe0 has OTHER too
second_address() {
    ip addr replace "$OTHER/24" dev v0 || return
    wait_until 20 grep -qs 0000:ffff:0a00:0003 -r /sys/class/infiniband/rxe0/ports/1/gids
}

# qa_hw NAME LIMIT PROGRAM ARGUMENT ...: a test program of the build, on rxe0's two addresses
qa_hw() {
    local name=$1 limit=$2 program=$3
    shift 3
    RDMA_REQUIRE=rdma RDMA_TEST_DEVICE_ADDRESSES=$RXE,$OTHER \
        side "$name" "$RDMA_BUILD_DIR/$program" --color_output=no "$@"
    ends "$name" "$limit" 0 || return
    tail -n 1 "$LOGS/$name"
}

# nothing_left: no object of anybody's on an RDMA device
nothing_left() {
    local left
    left=$(rdma resource show | grep -o "cm_id.*")
    [ "$left" = "cm_id 0 mr 0 ctx 0 srq 0 " ] || wrong "there is still: $(rdma resource show)"
}

# rxe_awaits_a_sender PORT: does the program listen there with a queue pair that nobody has yet? What
# has just lost its sender listens, too, and refuses the next one.
rxe_awaits_a_sender() {
    rxe_listens "$1" && rdma resource show qp 2>/dev/null | grep -q "type RC state INIT"
}

# bytes_in FILE COUNT
bytes_in() {
    local have
    have=$(stat -c %s "$1" 2>/dev/null) || have=none
    [ "$have" = "$2" ] || wrong "$(basename "$1") has $have bytes, not $2"
}

# number_in NAME KEY: of the JSON that this side has printed
number_in() { sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" "$LOGS/$1"; }

finish() {
    rm -rf "$WORK"
    echo "$((CHECKS - FAILED)) of $CHECKS checks passed"
    [ "$CHECKS" -gt 0 ] && [ "$FAILED" -eq 0 ]
    exit
}
