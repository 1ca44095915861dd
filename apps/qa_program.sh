#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the program's flags do, between two processes on loopback.
#   qa_program.sh PROGRAM
GR_RDMA=$1
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"

# pair RX_WORDS -- TX_WORDS: a receiver with its words, then a sender; both must end with 0
pair() {
    local rx=() receiver
    while [ "$1" != -- ]; do
        rx+=("$1")
        shift
    done
    shift
    "$GR_RDMA" "${rx[@]}" "${RX[@]}" >"$WORK/rx" 2>"$WORK/rx.err" &
    receiver=$!
    wait_until 10 receives $receiver || fail "'${rx[*]}' did not start: $(cat "$WORK/rx.err")"
    timeout 30 "$GR_RDMA" send "${TX[@]}" "$@" >"$WORK/tx" 2>"$WORK/tx.err" ||
        fail "send $* ended with $?: $(cat "$WORK/tx.err")"
    wait_for_end "$receiver" 20 || fail "'${rx[*]}' did not end"
    wait "$receiver" || fail "'${rx[*]}' ended with $?: $(cat "$WORK/rx.err")"
    [ -s "$WORK/rx.err" ] && fail "'${rx[*]}' is not quiet in a pipe: $(cat "$WORK/rx.err")"
    [ -s "$WORK/tx.err" ] && fail "send $* is not quiet in a pipe: $(cat "$WORK/tx.err")"
}

# Scenes are the same for a seed; --count counts messages; --sample is what comes out.
for sample in cu8 sc8 sc16 fc32 byte; do
    pair receive --sample $sample --message-bytes 8192 --count 5 --out "$WORK/$sample" -- \
        --scene --sample $sample --message-bytes 8192 --count 5 --seed 3
    [ "$(stat -c %s "$WORK/$sample")" -eq 40960 ] || fail "$sample: not five messages"
done
pair receive --sample sc16 --message-bytes 8192 --count 5 --out "$WORK/again" -- \
    --scene --message-bytes 8192 --count 5 --seed 3
same "$WORK/again" "$WORK/sc16" || fail "a seed does not give the same scene"
pair receive --message-bytes 8192 --count 5 --out "$WORK/again" -- \
    --scene --message-bytes 8192 --count 5 --seed 4
same "$WORK/again" "$WORK/sc16" && fail "another seed gives the same scene"

# --seconds of signal; --repeat; a receiver that takes fewer than were sent.
pair receive --message-bytes 4096 --idle 0.4 --out "$WORK/out" -- \
    --scene --rate 100k --pace none --seconds 0.1 --message-bytes 4096
[ "$(stat -c %s "$WORK/out")" -eq 40000 ] || fail "0.1 s at 100 kS/s are not 40000 bytes"
expect_text "$WORK/rx" "messages=10 bytes=40000 gaps=0" "receive"
expect_text "$WORK/rx" "ended=idle" "receive"
expect_text "$WORK/tx" "messages=10 bytes=40000" "send"
head -c 10000 /dev/urandom >"$WORK/file"
pair receive --sample byte --message-bytes 4096 --idle 0.4 --out "$WORK/out" -- \
    --file "$WORK/file" --sample byte --message-bytes 4096 --repeat 3
cat "$WORK/file" "$WORK/file" "$WORK/file" >"$WORK/thrice"
same "$WORK/out" "$WORK/thrice" || fail "--repeat 3 is not the file three times"

# Pacing: 40000 samples at 100 kS/s take 0.4 s, less what leaves as the first burst.
start=$(date +%s%N)
pair receive --sample byte --message-bytes 4096 --idle 0.4 --out "$WORK/out" -- \
    --scene --sample byte --message-bytes 4096 --rate 100k --seconds 1.5
[ $((($(date +%s%N) - start) / 1000000)) -ge 800 ] || fail "--rate does not pace"

# SigMF in and out, with what is known.
pair receive --sample cu8 --message-bytes 4096 --rate 2M --freq 1090M --idle 0.4 \
    --out "$WORK/r.sigmf-data" -- --file "$WORK/file" --sample cu8 --message-bytes 4096
same "$WORK/r.sigmf-data" "$WORK/file" || fail "SigMF data differ"
for text in '"core:datatype": "cu8"' '"core:sample_rate": 2000000.0' \
    '"core:frequency": 1090000000.0' '"core:datetime": "20' '"core:sample_start": 0'; do
    expect_text "$WORK/r.sigmf-meta" "$text" "metadata"
done
pair receive --sample cu8 --message-bytes 4096 --idle 0.4 --out "$WORK/out" -- \
    --file "$WORK/r" --message-bytes 4096
same "$WORK/out" "$WORK/file" || fail "a SigMF recording does not come out again"

# A gap in front of the first message: the receiver expects another first PSN.
pair receive --service uc --remote-psn 0 --message-bytes 4096 --idle 0.4 \
    --out "$WORK/g.sigmf-meta" -- \
    --service uc --psn 8 --message-bytes 4096 --scene --rate 1M --count 3
expect_text "$WORK/rx" "gaps=1" "receive behind a loss"
expect_text "$WORK/g.sigmf-meta" '"core:label": "gap"' "metadata behind a loss"

# The connection manager: the receiver listens, the sender calls, and its end is the end.
for service in rc uc; do
    "$GR_RDMA" receive --listen "$B" --service $service --sample byte \
        --message-bytes 4096 --buffers 64 --out "$WORK/out" >"$WORK/rx" 2>"$WORK/rx.err" &
    receiver=$!
    wait_until 10 bound "$B" || fail "receive --listen did not start: $(cat "$WORK/rx.err")"
    timeout 30 "$GR_RDMA" send --source "$A" --connect "$B" --service $service \
        --file "$WORK/file" --sample byte --message-bytes 4096 --rate 100k --quiet ||
        fail "send --connect ended with $?"
    wait_for_end $receiver 10 || fail "$service: the end of the sender did not end receive"
    wait $receiver || fail "receive --listen ended with $?: $(cat "$WORK/rx.err")"
    same "$WORK/out" "$WORK/file" || fail "$service: not the same through --listen"
    expect_text "$WORK/rx" "messages=3 bytes=10000 gaps=0" "receive --listen"
    expect_text "$WORK/rx" "ended=closed" "receive --listen"
done
"$GR_RDMA" send --listen "$B" --peers "$A" --file "$WORK/file" --sample byte --quiet &
sender=$!
wait_until 10 bound "$B" || fail "send --listen did not start"
timeout 30 "$GR_RDMA" receive --source "$A" --connect "$B" --sample byte \
    --out "$WORK/out" --quiet || fail "receive --connect ended with $?"
wait_for_end $sender 10 || fail "send --listen did not end"
wait $sender || fail "send --listen ended with $?"
same "$WORK/out" "$WORK/file" || fail "not the same from a sender that listens"

# Datagrams, by their Q_Key; the receiver knows nothing of its sender.
for key in "" "--qkey 0x80000001"; do
    "$GR_RDMA" receive --source "$B" --qpn 0x12 --service ud $key --sample byte \
        --message-bytes 1000 --buffers 64 --count 10 --out "$WORK/out" >"$WORK/rx" 2>"$WORK/rx.err" &
    receiver=$!
    wait_until 10 receives $receiver || fail "receive --service ud did not start: $(cat "$WORK/rx.err")"
    timeout 30 "$GR_RDMA" send --source "$A" --connect "$B" --qpn 0x11 --remote-qpn 0x12 \
        --service ud --qkey 3 --scene --sample byte --message-bytes 1000 --count 5 --quiet ||
        fail "send --service ud ended with $?"
    timeout 30 "$GR_RDMA" send --source "$A" --connect "$B" --qpn 0x11 --remote-qpn 0x12 \
        --service ud $key --file "$WORK/file" --sample byte --message-bytes 1000 --quiet ||
        fail "send --service ud ended with $?"
    wait_for_end $receiver 20 || fail "receive --service ud did not end"
    wait $receiver || fail "receive --service ud ended with $?: $(cat "$WORK/rx.err")"
    same "$WORK/out" "$WORK/file" || fail "not the same through --service ud $key"
    expect_text "$WORK/rx" "messages=10 bytes=10000 gaps=0" "receive --service ud"
    expect_text "$WORK/rx" "dropped_qkey=5" "receive --service ud"
done

# Datagrams to who listens.
"$GR_RDMA" receive --listen "$B:7476" --service ud --sample byte --message-bytes 1000 --buffers 64 \
    --count 10 --out "$WORK/out" >"$WORK/rx" 2>"$WORK/rx.err" &
receiver=$!
timeout 30 "$GR_RDMA" send --source "$A" --connect "$B:7476" --service ud --file "$WORK/file" \
    --sample byte --message-bytes 1000 --quiet || fail "send to a listener of datagrams ended with $?"
wait_for_end $receiver 20 || fail "receive --listen --service ud did not end"
wait $receiver || fail "receive --listen --service ud ended with $?: $(cat "$WORK/rx.err")"
same "$WORK/out" "$WORK/file" || fail "not the same as datagrams to a listener"

# A multicast group.
GROUP=239.7.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
"$GR_RDMA" receive --source "$B" --qpn 0x12 --service ud --group $GROUP --sample byte \
    --message-bytes 1000 --buffers 64 --count 10 --out "$WORK/out" >"$WORK/rx" 2>"$WORK/rx.err" &
receiver=$!
wait_until 10 receives $receiver || fail "receive --group did not start: $(cat "$WORK/rx.err")"
timeout 30 "$GR_RDMA" send --source "$A" --connect $GROUP --qpn 0x11 --service ud \
    --multicast-ttl 0 --file "$WORK/file" --sample byte --message-bytes 1000 --quiet ||
    fail "send to a group ended with $?"
wait_for_end $receiver 20 || fail "receive --group did not end"
wait $receiver || fail "receive --group ended with $?: $(cat "$WORK/rx.err")"
same "$WORK/out" "$WORK/file" || fail "not the same through a group"

# JSON; stdout for data; --quiet.
pair receive --json --message-bytes 4096 --count 2 --out "$WORK/out" -- \
    --json --scene --message-bytes 4096 --count 2
expect_text "$WORK/rx" '{"command":"receive","messages":2,"bytes":8192,"gaps":0,' "JSON"
expect_text "$WORK/rx" '"ended":"count"' "JSON"

# However fast the messages come: why it ended is not a matter of who looks first.
for _ in {1..25}; do
    "$GR_RDMA" receive --listen "$B" --message-bytes 1024 --count 3 --json --out "$WORK/x" \
        >"$WORK/rx" 2>"$WORK/err" &
    receiver=$!
    "$GR_RDMA" send --connect "$B" --source "$A" --scene noise --message-bytes 1024 --count 9 \
        --quiet >/dev/null 2>&1
    wait $receiver || fail "receive --count ended with $?: $(cat "$WORK/err")"
    expect_text "$WORK/rx" '"ended":"count"' "a short stream"
done
expect_text "$WORK/tx" '{"command":"send","messages":2,"bytes":8192,"retransmissions":' "JSON"
expect_text "$WORK/tx" '"counters":{' "JSON"
pair receive --quiet --message-bytes 4096 --count 2 --out - -- \
    --quiet --scene --message-bytes 4096 --count 2
same "$WORK/rx" "$WORK/out" || fail "stdout does not carry the samples"
"$GR_RDMA" --version | grep -Eq '^gr-rdma [0-9.]+, built with(out CUDA| CUDA [0-9.]+)$' ||
    fail "the version is '$("$GR_RDMA" --version)'"
[ -s "$WORK/tx" ] && fail "send --quiet speaks"

# What the blocks log goes to stderr: stdout may carry samples.
head -c 1001 /dev/urandom >"$WORK/odd"
"$GR_RDMA" receive --listen "$B" --sample sc16 --out - >"$WORK/rx" 2>"$WORK/rx.err" &
receiver=$!
wait_until 10 bound "$B" || fail "receive did not start"
"$GR_RDMA" send --source "$A" --connect "$B" --sample byte --file "$WORK/odd" --quiet ||
    fail "send ended with $?"
wait_for_end $receiver 10 || fail "receive did not end"
head -c 1000 "$WORK/odd" >"$WORK/even"
same "$WORK/rx" "$WORK/even" || fail "stdout carries more than samples: $(head -c 300 "$WORK/rx")"
expect_text "$WORK/rx.err" "1001 bytes is no whole number" "receive of an odd message"

# Progress is for terminals.
if command -v script >/dev/null; then
    (
        script -qfec "'$GR_RDMA' receive --listen $B --out '$WORK/out'" "$WORK/typescript" \
            >/dev/null 2>&1 </dev/null &
        wait_until 10 bound "$B"
        wait_until 10 grep -qs "waiting: .*listening on $B" "$WORK/typescript" ||
            echo missing >"$WORK/no-progress"
        "$GR_RDMA" send --source "$A" --connect "$B" --scene --count 1 --quiet
        wait
    )
    [ -e "$WORK/no-progress" ] && fail "no progress on a terminal"
fi

# Spectra: the tone stands where it was sent, in CSV; a picture beside it.
pair spectrum --rate 1M --freq 100M --count 25 --average 4 --fft-length 256 \
    --window flattop --out "$WORK/s.csv" --out "$WORK/s.png" -- \
    --scene tone --rate 1M --pace none --count 25
expect_text "$WORK/s.csv" "# rate 1 MS/s, centre 100 MHz, a spectrum each 0.001024 s" "CSV"
[ "$(grep -vc '^#' "$WORK/s.csv")" -eq 401 ] || fail "not 400 spectra and a line of names"
awk -F, '/^#/ { next }
    /^time_s/ { for (i = 2; i <= NF; ++i) hz[i] = $i; next }
    { best = 2; for (i = 3; i <= NF; ++i) if ($i > $best) best = i
      if (hz[best] < 100097000 || hz[best] > 100103000 || $best < -20.3 || $best > -19.7) bad++ }
    END { exit bad > 0 }' "$WORK/s.csv" || fail "the tone is not at 100.1 MHz with -20 dBFS"
file -b "$WORK/s.png" 2>/dev/null | grep -q "PNG\|cannot\|not found" ||
    head -c 8 "$WORK/s.png" | grep -q PNG || fail "no PNG"
# The benchmark: all paths at both sizes, each with something received.
"$GR_RDMA" bench softroce --json --seconds 0.5 --rounds 1 >"$WORK/bench" 2>"$WORK/err" ||
    fail "bench ended with $?: $(cat "$WORK/err")"
for text in '"machine":{"cpu":' '"path":"rdma.source, RC"' '"path":"rdma.source, UC"' \
    '"path":"bare recvmmsg scatter loop"' '"path":"network.udp_source"'; do
    expect_text "$WORK/bench" "$text" "bench"
done
[ "$(grep -o '"ratio":1.0[,}]' "$WORK/bench" | wc -l)" -eq 2 ] || fail "no ratio of 1 at each MTU"
[ "$(grep -o '"bytes_per_second":' "$WORK/bench" | wc -l)" -eq 12 ] || fail "not twelve results"

pair spectrum --quiet --wait busy --memory host --rate 1M --count 4 -- --scene --rate 1M --pace none \
    --count 4
pair spectrum --quiet --rate 1M --count 4 -- --scene --rate 1M --pace none --count 4
expect_text "$WORK/rx" "time_s,-500000," "CSV on stdout"

# --count is what is looked at, however much came; and no picture of nothing.
"$GR_RDMA" spectrum --listen "$B" --json --rate 1M --count 2 --out "$WORK/two.csv" >"$WORK/rx" &
receiver=$!
"$GR_RDMA" send --connect "$B" --source "$A" --scene --rate 1M --pace none --count 9 --quiet
wait "$receiver" || fail "spectrum --count ended with $?"
expect_text "$WORK/rx" '"messages":2,' "spectrum --count"
"$GR_RDMA" spectrum --listen "$B" --rate 1M --out "$WORK/none.png" >"$WORK/rx" 2>"$WORK/err" &
receiver=$!
"$GR_RDMA" send --connect "$B" --source "$A" --sample sc16 --message-bytes 64 --scene --rate 1M --count 1 \
    --quiet || fail "send of one short message"
wait "$receiver" && fail "spectrum of nothing ended with 0"
expect_text "$WORK/err" "none.png' was not written" "spectrum of nothing"
[ ! -e "$WORK/none.png" ] || fail "a picture of nothing"
finish
