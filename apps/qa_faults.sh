#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Faults that `gr-rdma send` makes on purpose: RC delivers bit for bit all the same, UC says
# what it lost, and the same seed makes the same faults.
#   qa_faults.sh PROGRAM
GR_RDMA=$1
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"

FILE=$WORK/made.cu8
head -c 1000000 /dev/urandom >"$FILE"
BAD=(--fault-drop 0.01 --fault-duplicate 0.01 --fault-reorder 0.01 --fault-corrupt 0.005)

# transfer SERVICE SEED: over the connection manager, so that the receiver ends by itself
transfer() {
    local receiver
    "$GR_RDMA" receive --listen "$B" --service "$1" --sample cu8 --message-bytes 20000 \
        --buffers 64 --mtu 1024 --json --out "$WORK/out" >"$WORK/received" 2>"$WORK/receive.err" &
    receiver=$!
    wait_until 10 receives $receiver || fail "the receiver never listened: $(cat "$WORK/receive.err")"
    "$GR_RDMA" send --source "$A" --connect "$B" --service "$1" --sample cu8 \
        --message-bytes 20000 --mtu 1024 --rate 2M --file "$FILE" "${BAD[@]}" --fault-seed "$2" \
        --json --quiet >"$WORK/sent" || fail "$1 seed $2: send ended with $?"
    wait_for_end "$receiver" 20 || fail "$1 seed $2: receive did not end"
}
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$2"; }

for seed in 1 2 3; do
    transfer rc $seed
    same "$WORK/out" "$FILE" || fail "rc seed $seed: other bytes came out"
    grep -q '"gaps":0,' "$WORK/received" || fail "rc seed $seed: $(cat "$WORK/received")"
    [ "$(number faults_dropped "$WORK/sent")" -gt 0 ] || fail "rc seed $seed: nothing was dropped"

    transfer uc $seed
    grep -q '"gaps":0,' "$WORK/received" && fail "uc seed $seed: no gap: $(cat "$WORK/received")"
done
first=$(number faults_dropped "$WORK/sent")
transfer uc 3
[ "$first" = "$(number faults_dropped "$WORK/sent")" ] || fail "one seed, two kinds of faults"

# A sender of a static connection that is started anew, without a terminal: it would wait for ever,
# and says why in a line that stays.
head -c 3000000 /dev/urandom >"$FILE"
"$GR_RDMA" receive "${RX[@]}" --sample cu8 --message-bytes 20000 --mtu 1024 --out "$WORK/out" \
    >"$WORK/received" 2>&1 &
receiver=$!
wait_until 10 receives $receiver || fail "the static receiver never listened"
AGAIN=(send "${TX[@]}" --sample cu8 --message-bytes 20000 --mtu 1024 --file "$FILE")
"$GR_RDMA" "${AGAIN[@]}" >"$WORK/sent" 2>&1 || fail "the first transfer: $(cat "$WORK/sent")"
"$GR_RDMA" "${AGAIN[@]}" >"$WORK/sent" 2>&1 &
sender=$!
wait_until 20 grep -q "waits for PSN 3000" "$WORK/sent" || fail "no word of the PSN: $(cat "$WORK/sent")"
kill -INT $sender
wait_for_end $sender 10 || fail "the second sender does not end"
"$GR_RDMA" "${AGAIN[@]}" --psn 3000 >"$WORK/sent" 2>&1 || fail "with the PSN that was named: $(cat "$WORK/sent")"
kill -INT $receiver
wait_for_end $receiver 10 || fail "the static receiver does not end"
grep -q "begins again at PSN 0, and 3000 is next" "$WORK/received" || fail "$(cat "$WORK/received")"
cat "$FILE" "$FILE" >"$WORK/twice"
same "$WORK/out" "$WORK/twice" || fail "not both transfers came out"

"$GR_RDMA" send --endpoint verbs --connect x --source y --scene --fault-drop 0.1 2>"$WORK/err"
[ $? -eq 2 ] || fail "faults without packets are accepted"
finish
