# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced after lib.sh: ib_send_bw of perftest on rxe, softroce by the program, static connections.
# perftest's memory is a file, so that each byte can be compared; its other end on TCP is
# perftest_mirror.py.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# perftest SERVICE MTU BYTES COUNT FLAGS: its client on rxe
perftest() {
    local service=${1^^} mtu=$2 bytes=$3 count=$4
    shift 4
    side perftest ib_send_bw -d rxe0 -x 1 -F -N -c "$service" -m "$mtu" -s "$bytes" -n "$count" \
        --mmap="$WORK/memory" "$@" "$SOFT"
}

# mirror TURN QPN COMMAND FLAGS: our end, with a first PSN that soon wraps
mirror() {
    local turn=$1 qpn=$2 command=$3
    shift 3
    side ours soft "$RDMA_PYTHON" "$here/perftest_mirror.py" "$SOFT" 18515 "$qpn" 0xfffffa "$turn" \
        "$GR_RDMA" "$command" --json --sample byte --source "$SOFT" --connect "$RXE" \
        --qpn "$qpn" --psn 0xfffffa --remote-qpn @QPN@ --remote-psn @PSN@ "$@"
    wait_until 30 says ours "mirror: listening"
}

# same_bytes from|to FILE BYTES
same_bytes() {
    local said
    said=$("$RDMA_PYTHON" "$here/perftest_bytes.py" "$1" "$WORK/memory" "$2" "$3" 2>&1) || wrong "$said"
}

# begin_from_perftest SERVICE MTU BYTES COUNT FLAGS: perftest sends, the program receives
begin_from_perftest() {
    local service=$1 mtu=$2 bytes=$3 count=$4
    shift 4
    head -c 1048576 /dev/urandom >"$WORK/memory"
    mirror 1 0x12 receive --service "$service" --mtu "$mtu" --message-bytes "$bytes" \
        --buffers 64 --out "$WORK/got" "$@" || return
    perftest "$service" "$mtu" "$bytes" "$count"
}

# from_perftest SERVICE MTU BYTES COUNT
from_perftest() {
    begin_from_perftest "$@" --count "$4" || return
    ends ours 60 0 && ends perftest 20 0 && bytes_in "$WORK/got" $(($3 * $4)) &&
        same_bytes from "$WORK/got" "$3"
}

# to_perftest SERVICE MTU BYTES COUNT
to_perftest() {
    head -c 1048576 /dev/zero >"$WORK/memory"
    head -c $(($3 * $4)) /dev/urandom >"$WORK/sent"
    mirror 3 0x11 send --service "$1" --mtu "$2" --message-bytes "$3" --file "$WORK/sent" || return
    perftest "$@" --reversed
    ends ours 60 0 && ends perftest 20 0 && same_bytes to "$WORK/sent" "$3"
}
