#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    cat <<'TEXT'
usage: apps/demo.sh [--scene]

Installs what is missing, builds, and shows the whole path on this machine, with neither an RDMA
NIC nor a GPU: one process sends a recording of 1090 MHz aircraft transponders over RoCEv2,
another receives it in a GNU Radio flowgraph and writes a waterfall, build/demo-waterfall.png.
Where ../shared/data is absent, as beside a clone, or with --scene, a synthetic band is sent
instead.
The last line is gaps=N: messages or packets were lost N times, 0 is right.
Exit code: 0 all arrived; 1 something did not; 2 usage.
TEXT
}

scene=no
for word; do
    case $word in
        --scene) scene=yes ;;
        -h | --help) usage; exit 0 ;;
        *) echo "error: unknown word '$word'" >&2; usage >&2; exit 2 ;;
    esac
done

setup
configure_and_build gr-rdma
program=$RDMA_BUILD_DIR/apps/gr-rdma
picture=$RDMA_BUILD_DIR/demo-waterfall.png
work=$(mktemp -d)

# Children end with the script, however it ends.
pids=()
finish() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# bound ADDRESS: does a socket hold RoCEv2's port, 4791, there or on all addresses?
bound() {
    local a b c d
    IFS=. read -r a b c d <<<"$1"
    awk -v one="$(printf '%02X%02X%02X%02X:12B7' "$d" "$c" "$b" "$a")" \
        '$2 == one || $2 == "00000000:12B7" { found = 1 } END { exit !found }' /proc/net/udp
}

# Two addresses of this machine: the port is the same for all of RoCEv2, so each needs its own.
sender=127.0.0.1 receiver=127.0.0.2
other_addresses() {
    sender=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).1
    receiver=${sender%.1}.2
}

# Do the receiver's blocks run? GNU Radio names a thread after its block.
running() {
    local child
    read -r child 2>/dev/null <"/proc/$receiver_pid/task/$receiver_pid/children" || return 1
    grep -qs '^spectrum_sink' "/proc/${child% }/task/"*/comm
}

# wait_for SECONDS COMMAND ...: until it succeeds, or the receiver has ended
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        kill -0 "$receiver_pid" 2>/dev/null || return 1
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# transfer: both processes, to the end of the sender
transfer() {
    echo "RoCEv2 from $sender to $receiver, UDP port 4791, reliable connection"
    timeout 120 "$program" spectrum --source "$receiver" --connect "$sender" --qpn 18 \
        --remote-qpn 17 "${samples[@]}" --freq "$freq" "${cut[@]}" --fft-length 512 --average 2 --hold max \
        --idle 3 --out "$picture" >"$work/receiver" 2>&1 &
    receiver_pid=$!
    pids=("$receiver_pid")
    wait_for 20 bound "$receiver" || return 1
    # RC would wait for it anyway, but then the rate would be that of catching up.
    wait_for 5 running || true
    timeout 60 "$program" send --source "$sender" --connect "$receiver" --qpn 17 \
        --remote-qpn 18 "${what[@]}" "${samples[@]}" "${cut[@]}" >"$work/sender" 2>&1 || return 1
}

recording=$RDMA_ROOT/../shared/data/adsb_1090MHz_2MSps_cu8.bin
if [ "$scene" = no ] && [ -r "$recording" ]; then
    what=(--file "$recording")
    samples=(--sample cu8 --rate 2e6) freq=1090e6
    echo "Sending a real recording: 1090 MHz, 2 MS/s, $(stat -Lc %s "$recording") bytes of cu8"
else
    [ "$scene" = yes ] || echo "No recording at $(realpath -m "$recording")."
    what=(--scene default --count 160)
    samples=(--sample sc16 --rate 2e6) freq=100e6
    echo "Sending a synthetic scene: 2 MS/s, sc16, 160 messages"
fi
cut=(--message-bytes 65536 --mtu 4096)
rm -f "$picture"
for try in 1 2 3; do
    if ! bound "$sender" && ! bound "$receiver"; then
        : >"$work/sender"
        : >"$work/receiver"
        if transfer; then break; fi
        kill "${pids[@]}" 2>/dev/null || true
        wait
        cat "$work/receiver" "$work/sender" >&2
        grep -q "Address already in use" "$work/receiver" "$work/sender" ||
            die "the transfer failed"
    fi
    [ "$try" -lt 3 ] || die "UDP port 4791 is in use on all addresses tried: end the other RoCEv2" \
        "program, or remove the kernel's rdma_rxe device (rdma link delete)"
    echo "UDP port 4791 is in use there; trying other addresses."
    other_addresses
done
status=0
wait "$receiver_pid" || status=$?
pids=()
sed 's/^/  /' "$work/sender" "$work/receiver"
[ "$status" -eq 0 ] || die "the receiver ended with exit code $status"
[ -s "$picture" ] || die "the receiver wrote no picture"

# value NAME FILE: of NAME=value in a summary
value() { sed -n "s/.*\<$1=\([^ ]*\).*/\1/p" "$2" | tail -n 1; }
for name in messages bytes; do
    sent=$(value "$name" "$work/sender") received=$(value "$name" "$work/receiver")
    [ -n "$sent" ] && [ "$sent" = "$received" ] ||
        die "sent $name=${sent:-?}, received $name=${received:-?}"
done
gaps=$(value gaps "$work/receiver")
echo "waterfall: $picture"
echo "gaps=${gaps:-unknown}"
[ "$gaps" = 0 ]
