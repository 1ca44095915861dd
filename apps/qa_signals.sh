#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# SIGINT, SIGTERM and SIGHUP end every subcommand cleanly, in each state it can be in.
#   qa_signals.sh PROGRAM
GR_RDMA=$1
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"

# ends_cleanly SIGNAL PID WHAT
ends_cleanly() {
    wait_until 10 catches "$2" || fail "$3 did not start"
    kill "-$1" "$2"
    wait_for_end "$2" 5 || fail "$3 did not end on SIG$1"
    wait "$2" || fail "$3 ended with $? on SIG$1: $(cat "$WORK/err")"
    expect_text "$WORK/log" "ended=SIG$1" "$3"
}

for signal in INT TERM HUP; do
    # No peer has come yet.
    "$GR_RDMA" send "${TX[@]}" --scene --seconds 0 >"$WORK/log" 2>"$WORK/err" &
    wait_until 10 bound "$A" || fail "send did not start"
    ends_cleanly $signal $! "send without a peer"

    "$GR_RDMA" receive "${RX[@]}" --out "$WORK/none" >"$WORK/log" 2>"$WORK/err" &
    wait_until 10 bound "$B" || fail "receive did not start"
    ends_cleanly $signal $! "receive without a peer"

    "$GR_RDMA" spectrum "${RX[@]}" --rate 2M --out "$WORK/none.png" \
        >"$WORK/log" 2>"$WORK/err" &
    wait_until 10 bound "$B" || fail "spectrum did not start"
    ends_cleanly $signal $! "spectrum without a peer"
    [ ! -e "$WORK/none.png" ] || fail "spectrum without a peer left a picture of nothing"

    # In the middle of a stream without end.
    "$GR_RDMA" send "${TX[@]}" --scene --seconds 0 --rate 1M >"$WORK/sent" 2>&1 &
    sender=$!
    "$GR_RDMA" receive "${RX[@]}" --out "$WORK/some.sigmf-meta" \
        >"$WORK/log" 2>"$WORK/err" &
    wait_until 10 test -s "$WORK/some.sigmf-data" || fail "nothing was received"
    ends_cleanly $signal $! "receive"
    [ -s "$WORK/some.sigmf-meta" ] || fail "receive wrote no metadata at its end"
    [ $(($(stat -c %s "$WORK/some.sigmf-data") % 4)) -eq 0 ] || fail "cut inside a sample"
    kill -9 "$sender"
    wait "$sender" 2>/dev/null
    rm -f "$WORK"/some.*

    "$GR_RDMA" send "${TX[@]}" --scene --seconds 0 --rate 1M >"$WORK/log" 2>"$WORK/err" &
    sender=$!
    "$GR_RDMA" spectrum "${RX[@]}" --rate 1M --out "$WORK/s.csv" --out "$WORK/s.png" \
        >"$WORK/seen" 2>&1 &
    meter=$!
    wait_until 10 grep -qs '^[0-9]' "$WORK/s.csv" || fail "no spectra came"
    ends_cleanly $signal $sender "send"
    mv "$WORK/seen" "$WORK/log.spectrum"
    kill "-$signal" "$meter"
    wait_for_end "$meter" 5 || fail "spectrum did not end on SIG$signal"
    wait "$meter" || fail "spectrum ended with $?"
    expect_text "$WORK/log.spectrum" "ended=SIG$signal" "spectrum"
    [ -s "$WORK/s.png" ] || fail "spectrum drew nothing at its end"
    tail -c 1 "$WORK/s.csv" | od -An -c | grep -q '\\n' || fail "the last line of CSV is cut"
    rm -f "$WORK"/s.*
done

for signal in INT TERM; do
    "$GR_RDMA" bench softroce --seconds 60 >"$WORK/log" 2>"$WORK/err" &
    pid=$!
    wait_until 10 catches $pid || fail "bench did not start"
    kill -$signal $pid
    wait_for_end $pid 5 || fail "bench did not end on SIG$signal"
    wait $pid || fail "bench ended with $? on SIG$signal: $(cat "$WORK/err")"
    expect_text "$WORK/err" "ended=SIG$signal" "bench"
done

# A sender that was killed says no goodbye: the next one takes its place at once.
"$GR_RDMA" receive --listen "$B" --out "$WORK/both" >"$WORK/log" 2>"$WORK/err" &
receiver=$!
"$GR_RDMA" send --connect "$B" --source "$A" --scene --seconds 0 --rate 1M \
    >/dev/null 2>&1 &
sender=$!
wait_until 10 test -s "$WORK/both" || fail "nothing was received"
kill -9 $sender
wait $sender 2>/dev/null
"$GR_RDMA" send --connect "$B" --source "$A" --scene tone --count 3 \
    >/dev/null 2>"$WORK/err.2" || fail "the next sender: $(cat "$WORK/err.2")"
wait_for_end $receiver 5 || fail "receive did not end with its second sender"
wait $receiver || fail "receive ended with $?: $(cat "$WORK/err")"
expect_text "$WORK/log" "gaps=1 " "receive from two senders"
expect_text "$WORK/log" "ended=closed" "receive from two senders"
rm -f "$WORK/both"

# Under nohup a terminal may go.
nohup "$GR_RDMA" receive "${RX[@]}" --out "$WORK/none" >"$WORK/log" 2>"$WORK/err" &
pid=$!
wait_until 10 bound "$B" || fail "receive did not start under nohup"
kill -HUP $pid
ends_cleanly TERM $pid "receive under nohup"

# A second signal kills what does not end by the first: nothing here hangs, so the check is
# that the handler is gone after the first one.
"$GR_RDMA" receive "${RX[@]}" --out "$WORK/none" >/dev/null 2>&1 &
pid=$!
wait_until 10 bound "$B" || fail "receive did not start"
kill -STOP $pid
kill -INT $pid
kill -TERM $pid
kill -CONT $pid
wait_for_end $pid 5 || fail "two signals did not end receive"
finish
