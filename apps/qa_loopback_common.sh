# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the loopback tests of the program: addresses of one's own, waiting for
# conditions, checks that say what they saw. The caller gives GR_RDMA.

set -u
FAILED=0
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# RoCEv2 has one port: tests that run side by side need addresses of their own.
NET=127.4.$(($$ / 120 % 254 + 1))
A=$NET.$((2 * ($$ % 120) + 1))
B=$NET.$((2 * ($$ % 120) + 2))
TX=(--source "$A" --connect "$B" --qpn 0x11 --remote-qpn 0x12)
RX=(--source "$B" --connect "$A" --qpn 0x12 --remote-qpn 0x11)

fail() {
    echo "FAILED: $*" >&2
    FAILED=1
}

# wait_until SECONDS COMMAND ...: until it succeeds; false if it never does
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

# bound ADDRESS: does somebody listen there on UDP 4791 (0x12B7)?
bound() {
    local a b c d
    IFS=. read -r a b c d <<<"$1"
    grep -q "$(printf ' %02X%02X%02X%02X:12B7 ' "$d" "$c" "$b" "$a")" /proc/net/udp
}

# receives PID: has it posted its receives? Datagrams and UC lose what comes before. Its block's
# thread has its name when it has; until then the address may be bound already.
receives() { grep -qs rdma_source "/proc/$1/task/"*/comm; }

# catches PID: is it the program, and past the point where it asks for SIGINT (SigCgt, bit 1)?
catches() {
    [ "/proc/$1/exe" -ef "$GR_RDMA" ] && grep -qs '^SigCgt:.*[2367abef]$' "/proc/$1/status"
}

ended() { ! kill -0 "$1" 2>/dev/null; }
wait_for_end() {
    wait_until "$2" ended "$1" || {
        kill -9 "$1"
        return 1
    }
}

same() { cmp -s "$1" "$2"; }

# expect_text FILE TEXT WHAT
expect_text() { grep -qF -- "$2" "$1" || fail "$3: '$2' is not in: $(head -c 600 "$1")"; }

finish() {
    [ "$FAILED" -eq 0 ] && echo "ok"
    exit "$FAILED"
}
