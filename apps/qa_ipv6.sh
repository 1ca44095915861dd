#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The program over IPv6, in a network namespace of its own (needs root).
#   qa_ipv6.sh PROGRAM
if [ "${2:-}" != inside ]; then
    unshare -n ip link set lo up 2>/dev/null || {
        echo "SKIP: no network namespace can be made here (needs root)"
        exit 77
    }
    exec unshare -n bash "$0" "$1" inside
fi
GR_RDMA=$1
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"
ip link set lo up
for n in 1 2; do
    ip addr add "fd91::$n/128" dev lo nodad || {
        echo "SKIP: no IPv6 here"
        exit 77
    }
done
# bound_6 N: does somebody listen on UDP 4791 of fd91::N?
bound_6() { grep -q "000091FD0\{16\}0${1}000000:12B7 " /proc/net/udp6; }
head -c 300000 /dev/urandom >"$WORK/file"

# transfer WHAT RX_WORDS -- TX_WORDS: the file must arrive
transfer() {
    local what=$1 rx=() receiver
    shift
    while [ "$1" != -- ]; do
        rx+=("$1")
        shift
    done
    shift
    "$GR_RDMA" receive "${rx[@]}" --sample byte --message-bytes 3000 --buffers 128 --count 100 \
        --out "$WORK/out" >"$WORK/rx" 2>"$WORK/rx.err" &
    receiver=$!
    { wait_until 10 bound_6 2 && wait_until 10 receives $receiver; } ||
        fail "$what: receive did not start: $(cat "$WORK/rx.err")"
    timeout 30 "$GR_RDMA" send "$@" --sample byte --message-bytes 3000 --file "$WORK/file" --quiet ||
        fail "$what: send ended with $?"
    wait_for_end $receiver 20 || fail "$what: receive did not end"
    wait $receiver || fail "$what: receive ended with $?: $(cat "$WORK/rx.err")"
    same "$WORK/out" "$WORK/file" || fail "$what: not the same"
}

transfer "connection manager" --listen "[fd91::2]:7471" -- --connect "[fd91::2]:7471" --source fd91::1
transfer static --source fd91::2 --connect fd91::1 --qpn 0x12 --remote-qpn 0x11 -- \
    --source fd91::1 --connect "[fd91::2]" --qpn 0x11 --remote-qpn 0x12
transfer datagrams --source fd91::2 --qpn 0x12 --service ud --mtu 4096 -- \
    --source fd91::1 --connect fd91::2 --qpn 0x11 --remote-qpn 0x12 --service ud --mtu 4096
finish
