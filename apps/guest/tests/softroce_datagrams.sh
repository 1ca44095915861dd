#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# softroce's datagrams against the kernel's connection manager and its rxe, by udaddy, which finds
# its peer by service ID resolution; and both services over IPv6.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
RXE6=fd00::1
SOFT6=fd00::2

# ours NAME COMMAND FLAGS: the program in softroce's namespace
ours() {
    local name=$1
    shift
    side "$name" soft "$GR_RDMA" "$@" --quiet --sample byte
}

# softroce_up_6: has softroce bound its port over IPv6?
softroce_up_6() { soft ss -Huln "src [$SOFT6]" 2>/dev/null | grep -q ":4791 "; }

# from_udaddy ADDRESS HOST UP FORMAT: udaddy's client asks for our queue pair, and sends to it
from_udaddy() {
    ours receive receive --listen "$2:7174" --service ud --message-bytes 100 --count 10 \
        --out "$WORK/got"
    wait_until 20 "$3" || return
    side udaddy udaddy -f "$4" -s "$1" -C 10 -S 100
    ends receive 30 0 && bytes_in "$WORK/got" 1000
}

# to_udaddy HOST OWN FORMAT ADDRESS: we ask its server for its queue pair, and send to it
to_udaddy() {
    side udaddy udaddy -f "$3" -b "$4" -C 10 -S 100
    wait_until 20 rxe_listens 7174 || return
    head -c 1000 /dev/urandom >"$WORK/sent"
    ours send send --connect "$1:7174" --source "$2" --service ud --message-bytes 100 \
        --file "$WORK/sent"
    ends send 30 0 && ends udaddy 30 0 && says udaddy "data transfers complete"
}

nobody_listens() {
    ours send send --connect "$RXE:7999" --source "$SOFT" --service ud --message-bytes 100 \
        --scene --count 1
    ends send 30 1 && says send "service ID not supported (status 1)"
}

refused_by_peers() {
    ours receive receive --listen "$SOFT:7174" --peers 10.0.0.77 --service ud --message-bytes 100 \
        --count 1 --out "$WORK/got"
    wait_until 20 softroce_up || return
    side udaddy udaddy -s "$SOFT" -C 10 -S 100
    ends udaddy 30 && bytes_in "$WORK/got" 0
}

receive_from_ucmatose_server() {
    side ucmatose ucmatose -f ipv6 -b "$RXE6" -C 10 -S 4096
    wait_until 20 rxe_listens 7471 || return
    ours receive receive --connect "[$RXE6]:7471" --source "$SOFT6" --count 10 \
        --message-bytes 4096 --out "$WORK/got"
    ends receive 30 0 && bytes_in "$WORK/got" 40960
}
send_to_ucmatose_client() {
    head -c 40960 /dev/urandom >"$WORK/sent"
    ours send send --listen "[$SOFT6]" --file "$WORK/sent" --message-bytes 4096
    wait_until 20 softroce_up_6 || return
    side ucmatose ucmatose -f ipv6 -s "$SOFT6" -p 18515 -C 10 -S 4096
    ends ucmatose 30 0 && ends send 20 0 && says ucmatose "data transfers complete"
}

check "receive --listen --service ud takes udaddy's datagrams" \
    from_udaddy "$SOFT" "$SOFT" softroce_up ip
check "udaddy takes what send --connect --service ud sends" to_udaddy "$RXE" "$SOFT" ip "$RXE"
check "nobody listens for datagrams at the kernel: an error in words" nobody_listens
check "who asks for datagrams and is not in --peers is sent away" refused_by_peers
check "over IPv6: udaddy's datagrams" from_udaddy "$SOFT6" "[$SOFT6]" softroce_up_6 ipv6
check "over IPv6: datagrams to udaddy" to_udaddy "[$RXE6]" "$SOFT6" ipv6 "$RXE6"
check "over IPv6: receive --connect takes what ucmatose's server sends" receive_from_ucmatose_server
check "over IPv6: ucmatose's client takes what send --listen sends" send_to_ucmatose_client
finish
