#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# softroce against the kernel's connection manager and its rxe, by the programs of rdmacm-utils.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ours NAME COMMAND FLAGS: the program in softroce's namespace
ours() {
    local name=$1
    shift
    side "$name" soft "$GR_RDMA" "$@" --quiet --sample byte
}

receive_from_ucmatose_server() {
    side ucmatose ucmatose -C 10 -S 4096
    wait_until 20 rxe_listens 7471 || return
    ours receive receive --connect "$RXE:7471" --source "$SOFT" --count 10 \
        --message-bytes 4096 --out "$WORK/got"
    ends receive 30 0 && bytes_in "$WORK/got" 40960
}

send_to_ucmatose_client() {
    head -c 40960 /dev/urandom >"$WORK/sent"
    ours send send --listen "$SOFT" --file "$WORK/sent" --message-bytes 4096
    wait_until 20 softroce_up || return
    side ucmatose ucmatose -s "$SOFT" -p 18515 -C 10 -S 4096
    ends ucmatose 30 0 && ends send 20 0 && says ucmatose "data transfers complete"
}

# rping's first message: address (8), rkey (4) and length (4) of its buffer, big-endian.
receive_from_rping_client() {
    ours receive receive --listen "$SOFT" --count 1 --message-bytes 64 --out "$WORK/got"
    wait_until 20 softroce_up || return
    side rping rping -c -a "$SOFT" -p 18515 -C 1 -S 1234 -d
    ends receive 30 0 && bytes_in "$WORK/got" 16 || return
    local length
    length=$(tail -c 4 "$WORK/got" | od -An -tx1 | tr -d ' \n')
    [ "$length" = 000004d2 ] || wrong "rping's length 1234 came as $length"
}

send_to_rping_server() {
    printf '\x11\x22\x33\x44\x55\x66\x77\x88\xaa\xbb\xcc\xdd\x00\x00\x00\x40' >"$WORK/sent"
    side rping rping -s -a "$RXE" -p 7000 -d
    wait_until 20 rxe_listens 7000 || return
    ours send send --connect "$RXE:7000" --source "$SOFT" --file "$WORK/sent" --message-bytes 16
    ends send 30 || return
    wait_until 10 says rping "Received rkey aabbccdd addr 1122334455667788 len 64"
}

first_caller_keeps_the_line() {
    ours receive receive --listen "$SOFT" --count 1 --message-bytes 4096 --out "$WORK/got"
    wait_until 20 softroce_up || return
    side first ucmatose -s "$SOFT" -p 18515 -C 10 -S 4096
    wait_until 20 says first "receiving data transfers" || return
    side second ucmatose -s "$SOFT" -p 18515 -C 10 -S 4096
    ends second 40 || return
    gone "${PIDS[first]}" && wrong "the first one ended when the second called" && return 1
    gone "${PIDS[receive]}" && wrong "the receiver ended when the second called" && return 1
    says second "REJECTED"
}

refused_by_peers() {
    ours receive receive --listen "$SOFT" --peers 10.0.0.77 --count 1 --out "$WORK/got"
    wait_until 20 softroce_up || return
    side ucmatose ucmatose -s "$SOFT" -p 18515 -C 1
    ends ucmatose 30 || return
    says ucmatose "REJECTED"
}

nobody_listens() {
    ours send send --connect "$RXE:7999" --source "$SOFT" --scene --seconds 1
    ends send 30 1 && says send "refused the connection: invalid service ID"
}

check "receive --connect takes what ucmatose's server sends" receive_from_ucmatose_server
check "ucmatose's client takes what send --listen sends" send_to_ucmatose_client
check "receive --listen takes rping's offer" receive_from_rping_client
check "rping's server takes what send --connect sends, byte for byte" send_to_rping_server
check "a second caller is sent away, the first stays" first_caller_keeps_the_line
check "a caller that --peers does not name is sent away" refused_by_peers
check "nobody listens at the kernel: an error in words" nobody_listens
finish
