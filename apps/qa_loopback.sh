#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A recording through `gr-rdma send` and `gr-rdma receive` comes out with the same SHA-256.
#   qa_loopback.sh PROGRAM rc|uc MTU
# Sends the real recording where ../shared/data is, and a generated one always.
GR_RDMA=$1
SERVICE=$2
MTU=$3
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"

REAL=$TREE/../shared/data/adsb_1090MHz_2MSps_cu8.bin
MADE=$WORK/made.cu8
# Odd sizes: no multiple of any message or packet, and the last packet needs padding.
head -c 300002 /dev/urandom >"$MADE"

# once RATE FILE MESSAGE_BYTES COUNT: prints nothing; 0 if the same came out, 2 if UC lost some
once() {
    local rate=$1 file=$2 bytes=$3 count=$4 receiver buffers=16
    # A UC sender does not wait for a ring that is full.
    [ "$SERVICE" = rc ] || buffers=$((count + 2))
    rm -f "$WORK/out" "$WORK/received"
    "$GR_RDMA" receive "${RX[@]}" --service "$SERVICE" --mtu "$MTU" --sample cu8 \
        --message-bytes "$bytes" --buffers "$buffers" --count "$count" --idle 3 --json --out "$WORK/out" \
        >"$WORK/received" 2>"$WORK/receive.err" &
    receiver=$!
    wait_until 10 receives $receiver || fail "the receiver never listened: $(cat "$WORK/receive.err")"
    "$GR_RDMA" send "${TX[@]}" --service "$SERVICE" --mtu "$MTU" --sample cu8 \
        --message-bytes "$bytes" --file "$file" --quiet $rate || fail "send ended with $?"
    wait_for_end "$receiver" 20 || fail "receive did not end"
    wait "$receiver" || fail "receive ended with $?: $(cat "$WORK/receive.err")"
    [ "$(sha256sum <"$WORK/out")" = "$(sha256sum <"$file")" ] && return 0
    # Only a loss that was told is forgiven, and only to UC.
    [ "$SERVICE" = uc ] && ! grep -q '"gaps":0,' "$WORK/received" && return 2
    [ "$SERVICE" = uc ] && grep -q '"ended":"idle"' "$WORK/received" && return 2
    return 1
}

through() {
    local file=$1 bytes=$2 size count rate result
    size=$(stat -c %s "$file")
    count=$(((size + bytes - 1) / bytes))
    # UC does not wait for a receiver that the machine gives no time: then try again, slower.
    for rate in 1M 500k 250k; do
        if [ "$SERVICE" = uc ]; then rate="--rate $rate"; else rate=; fi
        once "$rate" "$file" "$bytes" "$count"
        result=$?
        [ $result -eq 2 ] || break
        echo "note: UC lost something at $rate; once more, slower"
    done
    [ $result -eq 0 ] ||
        fail "$(basename "$file") $SERVICE message $bytes mtu $MTU: $(cat "$WORK/received")"
    grep -q "\"messages\":$count,\"bytes\":$size,\"gaps\":0," "$WORK/received" ||
        fail "wrong counts: $(cat "$WORK/received")"
}

files=("$MADE")
if [ -r "$REAL" ]; then
    files+=("$REAL")
else
    echo "note: $REAL is not there; only a generated file is sent"
fi
for file in "${files[@]}"; do
    for bytes in 4096 65536 1MiB 100000; do
        through "$file" "${bytes/1MiB/1048576}"
    done
done
finish
