#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# softroce's datagrams and rxe's in one multicast group, by mckey, which joins by rdma_cm.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
GROUP=239.1.2.3
QKEY=0x01234567 # of the connection manager's UDP port space

from_mckey() {
    side ours soft "$GR_RDMA" receive --quiet --sample byte --service ud --source "$SOFT" \
        --qpn 0x12 --group "$GROUP" --qkey "$QKEY" --message-bytes 100 --count 10 \
        --out "$WORK/got"
    wait_until 20 receives ours || return
    side mckey mckey -s -m "$GROUP" -b "$RXE" -C 10 -S 100
    ends ours 40 0 && ends mckey 20 0 && bytes_in "$WORK/got" 1000
}

to_mckey() {
    side mckey mckey -m "$GROUP" -b "$RXE" -C 10 -S 100
    wait_until 20 says mckey "joined dgid" || return
    head -c 1000 /dev/urandom >"$WORK/sent"
    side ours soft "$GR_RDMA" send --quiet --sample byte --service ud --source "$SOFT" \
        --qpn 0x11 --connect "$GROUP" --qkey "$QKEY" --message-bytes 100 --file "$WORK/sent"
    ends ours 20 0 && ends mckey 20 0 && says mckey "data transfers complete"
}

other_group() {
    side ours soft "$GR_RDMA" receive --json --sample byte --service ud --source "$SOFT" \
        --qpn 0x12 --group 239.1.2.4 --qkey "$QKEY" --message-bytes 100 --out "$WORK/none"
    wait_until 20 receives ours || return
    side mckey mckey -s -m "$GROUP" -b "$RXE" -C 10 -S 100
    ends mckey 30 0 || return
    kill -INT "${PIDS[ours]}"
    ends ours 10 0 && bytes_in "$WORK/none" 0
}

check "a group's receiver takes what mckey sends" from_mckey
check "mckey takes what is sent to its group" to_mckey
check "who has joined another group takes nothing" other_group
finish
