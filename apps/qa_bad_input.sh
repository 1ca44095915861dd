#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Wrong command lines end with 2, a wrong world with 1; the message names what is wrong.
#   qa_bad_input.sh PROGRAM
GR_RDMA=$1
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"

# refused CODE TEXT WORD ...: the program ends with CODE and says TEXT on stderr, nothing on stdout
refused() {
    local code=$1 text=$2 got
    shift 2
    timeout 20 "$GR_RDMA" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
    got=$?
    [ $got -eq "$code" ] || fail "'$*' ended with $got, not $code: $(cat "$WORK/err")"
    expect_text "$WORK/err" "$text" "'$*'"
    [ -s "$WORK/out" ] && fail "'$*' wrote to stdout: $(head -c 300 "$WORK/out")"
    [ "$(wc -l <"$WORK/err")" -le 1 ] || [ "$#" -eq 0 ] ||
        fail "'$*' said more than a line: $(cat "$WORK/err")"
}

head -c 1001 /dev/zero >"$WORK/cut"
head -c 4096 /dev/zero >"$WORK/good"
: >"$WORK/empty"
SEND=(send "${TX[@]}")
GOOD=("${SEND[@]}" --sample sc16 --file "$WORK/good")
RECEIVE=(receive "${RX[@]}" --out "$WORK/x")
SPECTRUM=(spectrum "${RX[@]}" --rate 2M --out "$WORK/x.csv")

refused 2 "Usage: gr-rdma COMMAND"
refused 2 "'sent' is no command; did you mean send?" sent
refused 2 "'--verbose' is no command" --verbose

refused 2 "--file or --scene is needed" "${SEND[@]}"
refused 2 "--file and --scene cannot go together" "${GOOD[@]}" --scene
refused 2 "--sample is needed" "${SEND[@]}" --file "$WORK/good"
refused 1 "cannot read '$WORK/none': No such file" "${SEND[@]}" --sample sc16 --file "$WORK/none"
refused 1 "cannot read '$WORK/empty': the file is empty (0 bytes)" \
    "${SEND[@]}" --sample sc16 --file "$WORK/empty"
mkfifo "$WORK/pipe.in" # nobody writes to it
refused 1 "cannot read '$WORK/pipe.in': it is not a regular file" \
    "${SEND[@]}" --sample sc16 --file "$WORK/pipe.in"
refused 1 "1001 bytes are 250 sc16 samples of 4 bytes and 1 more" \
    "${SEND[@]}" --sample sc16 --file "$WORK/cut"
refused 2 "--sample='sc12': give one of" "${SEND[@]}" --sample sc12 --file "$WORK/good"
refused 2 "--message-bytes='1002': give a multiple of 4" "${GOOD[@]}" --message-bytes 1002
refused 2 "--scene='tune'" "${SEND[@]}" --scene tune
refused 2 "--pace='rate'" "${GOOD[@]}" --pace rate
refused 2 "--seconds: the sample rate" "${GOOD[@]}" --seconds 1
refused 2 "--listen or --connect is needed" send --sample sc16 --file "$WORK/good"
refused 2 "--psn belongs to a static connection" \
    send --connect "$B" --psn 1 --sample sc16 --file "$WORK/good"
refused 2 "--listen and --qpn do not go together" receive --listen "$A" --qpn 17 --out "$WORK/x"
refused 2 "--connect is needed" send --qpn 17 --sample sc16 --file "$WORK/good"
refused 2 "--qpn" send --source "$A" --connect "$B" --qpn 1 --remote-qpn 2 --scene
refused 2 "--mtu='1500'" "${GOOD[@]}" --mtu 1500
refused 2 "192.0.2.1" send --source 192.0.2.1 --connect "$B" --qpn 17 --remote-qpn 18 --scene
refused 2 "no.such.host.invalid" \
    send --source "$A" --connect no.such.host.invalid --qpn 17 --remote-qpn 18 --scene
refused 2 "fault" "${GOOD[@]}" --endpoint verbs --fault-drop 0.1
refused 2 "--gid-index='65536'" "${GOOD[@]}" --endpoint verbs --gid-index 65536
if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
    refused 1 "no RDMA device: rdma link lists none" "${GOOD[@]}" --endpoint verbs
fi
refused 2 "--message-bytes=65536 (header included)" "${GOOD[@]}" --service ud
refused 2 "--connect is needed instead of --listen" send --listen "$B" --service ud --sample sc16 \
    --file "$WORK/good"
refused 2 "--listen is needed instead of --connect" receive --connect "$B" --service ud \
    --message-bytes 1024 --out "$WORK/keep"
refused 2 "--qkey=5 needs" receive --listen "$B" --service ud --qkey 5 \
    --message-bytes 1024 --out "$WORK/keep"
refused 2 "--group='10.1.2.3' is no multicast address" "${RECEIVE[@]}" --message-bytes 1024 \
    --service ud --group 10.1.2.3
refused 2 "--multicast-ttl='256'" "${GOOD[@]}" --multicast-ttl 256
refused 2 "--qkey belongs to datagrams" "${GOOD[@]}" --qkey 1
refused 2 "--qkey='0x100000000'" "${GOOD[@]}" --service ud --qkey 0x100000000
refused 2 "'--scenes' is no flag of gr-rdma send; did you mean --scene?" "${SEND[@]}" --scenes

for command in "${GOOD[*]}" "${RECEIVE[*]}" "${SPECTRUM[*]}"; do
    # shellcheck disable=SC2086
    refused 2 "--endpoint='inproc': give one of auto, softroce, verbs; the blocks' inproc has" \
        $command --endpoint inproc
    "$GR_RDMA" "${command%% *}" --help | grep inproc && fail "'${command%% *} --help' offers inproc"
done
for flag in receive group freq buffers memory route reconnect idle out; do
    refused 2 "'--$flag' is no flag of gr-rdma send: " "${SEND[@]}" --$flag 1
    "$GR_RDMA" send --help | grep -e "--$flag " && fail "send --help lists --$flag"
    "$GR_RDMA" receive --help | grep -q -e "--$flag " || fail "receive --help lists no --$flag"
done

refused 2 "--out is needed" receive "${RX[@]}"
refused 2 "--json and --out='-'" receive "${RX[@]}" --out - --json
refused 2 "--message-bytes='3'" "${RECEIVE[@]}" --message-bytes 3
refused 2 "--buffers" "${RECEIVE[@]}" --message-bytes 1GiB --buffers 100000
refused 2 "--memory='cuda:0'" "${RECEIVE[@]}" --memory cuda:0
refused 2 "--memory='cuda:-1' is no GPU's name" "${RECEIVE[@]}" --memory cuda:-1
refused 2 "--memory='gpu': auto, host" "${RECEIVE[@]}" --memory gpu
refused 2 "--route='pcie'" "${RECEIVE[@]}" --route pcie
refused 2 "--route='dmabuf': memory='host'" "${RECEIVE[@]}" --memory host --route dmabuf
refused 2 "--route='peermem': endpoint='softroce'" "${RECEIVE[@]}" --endpoint softroce --route peermem
refused 2 "192.0.2.1" receive --source 192.0.2.1 --connect "$A" --qpn 17 --remote-qpn 18 --out "$WORK/x"
refused 1 "cannot write '$WORK/no/x': No such file" receive "${RX[@]}" --out "$WORK/no/x"

refused 2 "--rate is needed" spectrum "${RX[@]}" --out "$WORK/x.csv"
refused 2 "--out='x.jpg': give a name that ends in .csv or .png" \
    spectrum "${RX[@]}" --rate 2M --out x.jpg
refused 2 "is of the same kind" "${SPECTRUM[@]}" --out y.csv
refused 2 "--fft-length='1000'" "${SPECTRUM[@]}" --fft-length 1000
refused 2 "--overlap='1024'" "${SPECTRUM[@]}" --overlap 1024
refused 2 "--window='hannn': give one of" "${SPECTRUM[@]}" --window hannn
refused 2 "--window-parameter='701'" "${SPECTRUM[@]}" --window kaiser --window-parameter 701
refused 2 "is of --window kaiser, not hann" "${SPECTRUM[@]}" --window-parameter 3
refused 2 "--db-min is not below" "${SPECTRUM[@]}" --db-min 0 --db-max -10
refused 1 "cannot write '$WORK/no/x.csv'" spectrum "${RX[@]}" --rate 2M --out "$WORK/no/x.csv"

refused 1 "cannot write '$WORK/no/x.png'" spectrum "${RX[@]}" --rate 2M --out "$WORK/no/x.png"

refused 2 "softroce or gpu is needed" bench
for command in send receive spectrum "bench softroce" "bench gpu"; do
    # shellcheck disable=SC2086  # two words
    "$GR_RDMA" $command --help | awk 'length > 80 || / $/ { print; found = 1 } END { exit found }' ||
        fail "gr-rdma $command --help has lines of over 80 columns, or with blanks at the end"
done
refused 2 "'verbs' is no benchmark: give softroce or gpu" bench verbs
refused 2 "--rounds='0'" bench softroce --rounds 0
if "$GR_RDMA" bench gpu --help >/dev/null 2>&1; then
    refused 2 "--samples='1'" bench gpu --samples 1
    refused 2 "--memory='cuda:GPU-00000000': " bench gpu --memory cuda:GPU-00000000
    refused 2 "--memory='cuda:x' is no GPU's name" bench gpu --memory cuda:x
else
    refused 1 "built without CUDA" bench gpu
fi
refused 2 "--message-bytes='7'" bench softroce --message-bytes 7

# A port in use: the address is somebody else's already.
"$GR_RDMA" receive "${RX[@]}" --out "$WORK/first" >/dev/null 2>&1 &
first=$!
wait_until 10 bound "$B" || fail "receive did not start"
refused 1 "4791" "${RECEIVE[@]}"
kill $first
wait $first || fail "receive ended with $?"

# stdout that takes no more.
"$GR_RDMA" receive "${RX[@]}" --out - >/dev/full 2>"$WORK/err" &
receiver=$!
timeout 20 "$GR_RDMA" send "${TX[@]}" --scene --count 40 --quiet 2>/dev/null &
sender=$!
wait_for_end $receiver 10 || fail "receive did not end on a full stdout"
wait $receiver
[ $? -eq 1 ] || fail "a full stdout ended with another code than 1"
expect_text "$WORK/err" "No space left" "a full stdout"
kill $sender 2>/dev/null
wait $sender

# ... not even the summary.
"$GR_RDMA" receive --listen "$B" --out "$WORK/x" >/dev/full 2>"$WORK/err" &
receiver=$!
timeout 20 "$GR_RDMA" send --connect "$B" --source "$A" --scene --count 4 --quiet ||
    fail "send ended with $?"
wait_for_end $receiver 10 || fail "receive did not end with its sender"
wait $receiver
[ $? -eq 1 ] || fail "a summary that was lost ended with another code than 1"
expect_text "$WORK/err" "cannot write to stdout" "a summary that was lost"

# Standard descriptors that are closed are nobody else's: messages are lost, not misplaced.
for closed in "1>&-" "0<&- 1>&- 2>&-"; do
    eval '"$GR_RDMA" receive --listen "$B" --out - 2>"$WORK/err"' "$closed" &
    receiver=$!
    timeout 20 "$GR_RDMA" send --connect "$B" --source "$A" --scene --count 4 --quiet 2>/dev/null
    wait_for_end $receiver 10 || fail "receive did not end with $closed"
    wait $receiver
    [ $? -eq 1 ] || fail "receive with $closed lost its samples and ended with another code than 1"
done
"$GR_RDMA" receive --listen "$B" --out "$WORK/kept" --peers "$B" 0<&- 1>&- 2>&- &
receiver=$!
wait_until 10 bound "$B" || fail "receive did not start"
timeout 20 "$GR_RDMA" send --connect "$B" --source "$A" --scene --count 4 --quiet 2>/dev/null &&
    fail "send was not refused"
kill $receiver
wait $receiver
[ ! -s "$WORK/kept" ] || fail "messages for stderr are in the recording: $(cat "$WORK/kept")"

# A file that is cut short while it is sent.
head -c 4000000 /dev/zero >"$WORK/cut.later"
"$GR_RDMA" receive --listen "$B" --out "$WORK/taken" >/dev/null 2>&1 &
receiver=$!
"$GR_RDMA" send --connect "$B" --source "$A" --sample sc16 --file "$WORK/cut.later" --rate 1M \
    --repeat 0 >"$WORK/out" 2>"$WORK/err" &
sender=$!
wait_until 10 test -s "$WORK/taken" || fail "nothing was received"
truncate -s 1000 "$WORK/cut.later"
wait_for_end $sender 10 || fail "send did not end when its file was cut"
wait $sender
[ $? -eq 1 ] || fail "a file cut while it was sent ended with another code than 1"
expect_text "$WORK/err" "was cut short while it was sent" "a file cut while it was sent"
kill $receiver
wait $receiver || fail "receive ended with $?"
# A peer whose messages are too long leaves, and both say so by their exit codes.
head -c 20000 /dev/zero >"$WORK/long"
is_no_more() { ! grep -qs old "$1"; }
echo old >"$WORK/none"
echo old >"$WORK/none.csv"
for command in "receive --out $WORK/none" "spectrum --rate 2M --out $WORK/none.csv"; do
    # shellcheck disable=SC2086  # words on purpose
    "$GR_RDMA" $command --listen "$A" --sample sc16 --message-bytes 4096 2>"$WORK/err" &
    receiver=$!
    wait_until 10 receives $receiver || fail "'$command' did not start: $(cat "$WORK/err")"
    wait_until 10 is_no_more "${command##* }" || fail "'$command' runs, and its old file is there"
    timeout 20 "$GR_RDMA" send --source "$B" --connect "$A" --sample sc16 --message-bytes 8192 \
        --file "$WORK/long" --quiet 2>/dev/null && fail "a message too long was taken"
    wait_for_end $receiver 20 || fail "'$command' did not end"
    wait $receiver
    [ $? -eq 1 ] || fail "'$command' that got nothing but too long messages did not end with 1"
    expect_text "$WORK/err" "what the peer sent does not fit --message-bytes" "$command"
done
# A command that cannot run leaves the file that is there as it is, and makes no new one:
# no such address, no memory for the ring, a second file that cannot be written.
# keeps CODE COMMAND...: in $WORK/keep.csv and $WORK/new.csv, one after the other
keeps() {
    local code=$1
    shift
    echo precious >"$WORK/keep.csv"
    for out in keep new; do
        (ulimit -v 5000000; timeout 20 "$GR_RDMA" "$@" --out "$WORK/$out.csv") 2>"$WORK/err"
        [ $? -eq "$code" ] || fail "$*: not $code: $(cat "$WORK/err")"
    done
    expect_text "$WORK/keep.csv" precious "the file before '$*', which cannot run"
    [ ! -e "$WORK/new.csv" ] || fail "'$*', which cannot run, leaves a new file"
}
for command in receive "spectrum --rate 2M"; do
    # shellcheck disable=SC2086  # words on purpose
    keeps 2 $command --listen 192.0.2.77
    # shellcheck disable=SC2086
    keeps 1 $command --listen "$A" --buffers 7 --message-bytes 1GiB
done
keeps 1 spectrum --rate 2M --listen "$A" --out "$WORK/no/x.png"
refused 2 "[::1]:18515" receive --listen ::1 --out "$WORK/keep.csv"
refused 2 "fe80::1%eth0" receive --listen "[fe80::1]" --out "$WORK/keep.csv"
refused 2 "is IPv4 and connect='fd00::2' IPv6" send --source 127.0.0.1 --connect "[fd00::2]" --scene

finish
