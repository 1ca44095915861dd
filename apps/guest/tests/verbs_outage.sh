#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A receiver on rxe whose senders and whose network come and go: it goes on by --reconnect.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BYTES=$((250000 * 4)) # what a sender sends, in a second
have=0                # what the receiver has been sent in full

# sender NAME [SECONDS]
sender() {
    side "$1" soft "$GR_RDMA" send --endpoint softroce --quiet --connect "$RXE" --scene \
        --seconds "${2:-1}" --rate 250k --message-bytes 50000
}
# But for what still is in the buffer of its file.
bytes_there() { [ "$(stat -c %s "$WORK/got" 2>/dev/null || echo 0)" -ge $(($1 - 4096)) ]; }

# arrives NAME: that sender ends well, and the receiver has all of it
arrives() {
    ends "$1" 40 0 || return
    have=$((have + BYTES))
    wait_until 20 bytes_there "$have" && wait_until 20 rxe_awaits_a_sender 18515
}

cable() { ip -n soft link set v1 "$1"; }
guest_gid() { grep -qs 0000:ffff:0a00:0001 /sys/class/infiniband/rxe0/ports/1/gids/*; }

one_after_the_other() {
    sender one && arrives one && sender two && arrives two
}

# Shorter than a sender tries: the same connection goes on.
cable_pulled_for_a_moment() {
    sender moment 3
    have=$((have + 2 * BYTES))
    wait_until 20 bytes_there $((have - 2 * BYTES + 100000)) || return
    cable down
    wait_until 20 says receive "port 1 of rxe0 is down" || return
    cable up
    arrives moment
}

# It cannot say goodbye: the next caller makes the receiver ask for a sign of life.
sender_killed() {
    sender killed 100
    wait_until 20 bytes_there $((have + 100000)) || return
    kill -9 "${PIDS[killed]}"
    ends killed 10 || return
    have=$(stat -c %s "$WORK/got")
    sender successor
    arrives successor && says receive "no longer answers"
}

address_moved() {
    ip addr del "$RXE/24" dev v0
    ip addr add 10.0.0.9/24 dev v0 # takes the GID's old place
    ip addr add "$RXE/24" dev v0
    wait_until 20 guest_gid && wait_until 20 rxe_awaits_a_sender 18515 || return
    sender moved && arrives moved
}

# Longer: both sides give the connection up, and there is a new one.
cable_pulled() {
    sender cut 100
    wait_until 20 bytes_there $((have + 100000)) || return
    cable down
    ends cut 90 1 && wait_until 30 says receive "listening again" || return
    have=$(stat -c %s "$WORK/got")
    cable up
    wait_until 20 rxe_awaits_a_sender 18515 && sender anew && arrives anew
}

outages() {
    side receive "$GR_RDMA" receive --endpoint verbs --listen "$RXE" --message-bytes 50000 \
        --reconnect always --json --out "$WORK/got"
    wait_until 30 rxe_awaits_a_sender 18515 || return
    for step in one_after_the_other cable_pulled_for_a_moment sender_killed address_moved \
        cable_pulled; do
        "$step" || {
            wrong "$step: $WHY"
            return
        }
        echo "  $step: as it should be"
    done
    kill -INT "${PIDS[receive]}"
    ends receive 20 0 || return
    tail -n 1 "$LOGS/receive" | grep -q '"gaps":[1-9]' || wrong "no gap was told"
}

check "a receiver outlives its senders and its network" outages
finish
