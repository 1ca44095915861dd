# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced after lib.sh: the program on rxe, by verbs, and in the namespace "soft", by softroce.

# rxe NAME COMMAND FLAGS, soft_roce NAME COMMAND FLAGS: the program at either end
rxe() {
    local name=$1
    shift
    side "$name" "$GR_RDMA" "$@" --endpoint verbs --json --sample byte
}
soft_roce() {
    local name=$1
    shift
    side "$name" soft "$GR_RDMA" "$@" --endpoint softroce --json --sample byte
}

# new_file BYTES: what is sent
new_file() {
    rm -f "$WORK/got"
    head -c "$1" /dev/urandom >"$WORK/sent"
}
same_file() {
    bytes_in "$WORK/got" "$(stat -c %s "$WORK/sent")" || return
    cmp -s "$WORK/sent" "$WORK/got" || wrong "the bytes differ: $(cmp "$WORK/sent" "$WORK/got")"
}

# by_cm LISTENER COMMAND SERVICE: rxe or soft listens, and sends or receives; the other calls
by_cm() {
    local listener=$1 command=$2 service=$3 other=soft_roce own=$RXE answer=(receive --out "$WORK/got")
    [ "$listener" = rxe ] || { listener=soft_roce other=rxe own=$SOFT; }
    local to=(--message-bytes 65536 --service "$service")
    new_file 3000017
    if [ "$command" = send ]; then
        "$listener" listens send --listen "$own" --file "$WORK/sent" "${to[@]}"
    else
        "$listener" listens receive --listen "$own" --out "$WORK/got" "${to[@]}"
        answer=(send --file "$WORK/sent")
    fi
    if [ "$listener" = rxe ]; then
        wait_until 20 rxe_listens 18515
    else
        wait_until 20 softroce_up
    fi || return
    "$other" calls "${answer[@]}" --connect "$own" "${to[@]}"
    ends calls 60 0 && ends listens 20 0 && same_file
}

# qpn_of NAME: the queue pair number that a device has given to the process of that side
qpn_of() { rdma resource show qp 2>/dev/null | sed -n "s/.*lqpn \([0-9]*\).* pid ${PIDS[$1]} .*/\1/p"; }
has_qpn() { [ -n "$(qpn_of "$1")" ]; }

# sizes SERVICE: message and MTU, then the file's bytes; little, for nothing slows a UC sender down
sizes() { if [ "$1" = ud ]; then echo "4096 4096 81920"; else echo "65536 1024 1310800"; fi; }

static_to_rxe() {
    local message mtu bytes service=$1
    read -r message mtu bytes <<<"$(sizes "$service")"
    local both=(--service "$service" --message-bytes "$message" --mtu "$mtu")
    new_file "$bytes"
    rxe receives_ receive --source "$RXE" --connect "$SOFT" --qpn 1 --remote-qpn 0x11 --buffers 32 \
        --count $(((bytes + message - 1) / message)) --out "$WORK/got" "${both[@]}"
    wait_until 20 receives receives_ && wait_until 5 has_qpn receives_ || return
    soft_roce sends send --source "$SOFT" --connect "$RXE" --qpn 0x11 \
        --remote-qpn "$(qpn_of receives_)" --file "$WORK/sent" "${both[@]}"
    ends sends 40 0 && ends receives_ 20 0 && same_file
}

# next_qpn: the number that rxe gives to the next queue pair, one above the last one's
next_qpn() {
    local last
    side pingpong ibv_rc_pingpong -d rxe0 -g 1
    wait_until 10 says pingpong "QPN 0x" || return
    last=$(sed -n 's/.*QPN \(0x[0-9a-f]*\).*/\1/p' "$LOGS/pingpong")
    kill "${PIDS[pingpong]}"
    ends pingpong 10 || return
    NEXT_QPN=$((last + 1))
}

static_from_rxe() {
    local message mtu bytes service=$1
    read -r message mtu bytes <<<"$(sizes "$service")"
    local both=(--service "$service" --message-bytes "$message" --mtu "$mtu")
    new_file "$bytes"
    next_qpn || return
    soft_roce receives_ receive --source "$SOFT" --connect "$RXE" --qpn 0x12 \
        --remote-qpn "$NEXT_QPN" --buffers 32 --count $(((bytes + message - 1) / message)) \
        --out "$WORK/got" "${both[@]}"
    wait_until 20 receives receives_ || return
    rxe sends send --source "$RXE" --connect "$SOFT" --qpn "$NEXT_QPN" --remote-qpn 0x12 \
        --file "$WORK/sent" "${both[@]}"
    ends sends 40 0 && ends receives_ 20 0 && same_file
}
