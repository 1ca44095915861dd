#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# softroce against rxe over a bad wire: tc netem on both ends of the veth pair.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/perftest.sh"

# on_a_bad_wire "NETEM WORDS" FUNCTION ...
on_a_bad_wire() {
    local status=0
    # shellcheck disable=SC2086  # words on purpose
    tc qdisc add dev v0 root netem $1 && soft tc qdisc add dev v1 root netem $1 ||
        wrong "no netem" || return
    "${@:2}" || status=1
    { tc -s qdisc show dev v0 && soft tc -s qdisc show dev v1; } >"$LOGS/wire"
    grep -q "dropped [1-9]" "$LOGS/wire" || wrong "nothing was dropped on the wire" || status=1
    tc qdisc del dev v0 root
    soft tc qdisc del dev v1 root
    return $status
}

# some_from_perftest SERVICE MTU BYTES COUNT: an unreliable service loses; UC can tell that it has
some_from_perftest() {
    local messages
    begin_from_perftest "$@" --idle 3 || return
    ends ours 60 0 && ends perftest 20 0 && same_bytes from "$WORK/got" "$3" || return
    messages=$(number_in ours messages)
    [ "$messages" -gt 0 ] && [ "$messages" -lt "$4" ] || wrong "$messages of $4 came" || return
    [ "$1" = ud ] || [ "$(number_in ours gaps)" -gt 0 ] || wrong "$messages of $4 came, no gap"
}

check "RC from ib_send_bw, packets lost" on_a_bad_wire "loss 2%" from_perftest rc 1024 65536 20
check "RC from ib_send_bw, lost, twice, out of order, damaged" \
    on_a_bad_wire "delay 1ms loss 1% duplicate 1% reorder 98% corrupt 1%" from_perftest rc 1024 65536 20
# Packets of one UDP GSO send are lost together: there are fewer chances.
check "RC to ib_send_bw, packets lost" on_a_bad_wire "loss 10%" to_perftest rc 1024 65536 40
check "RC to ib_send_bw, lost, twice, out of order, damaged" \
    on_a_bad_wire "delay 1ms loss 5% duplicate 5% reorder 98% corrupt 5%" to_perftest rc 1024 65536 40
check "UC from ib_send_bw, packets lost: whole messages and gaps" \
    on_a_bad_wire "loss 2%" some_from_perftest uc 1024 16384 60
check "UD from ib_send_bw, packets lost" \
    on_a_bad_wire "loss 20%" some_from_perftest ud 4096 4096 60
finish
