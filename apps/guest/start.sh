# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced in the guest, as its first process above init: two networks, then the command.
#
#   the guest's own        v0, 10.0.0.1 and fd00::1, the RDMA device rxe0. On most kernels rxe has its
#                          socket here whatever namespace its device is in: port 4791 is taken.
#   the namespace "soft"   v1, 10.0.0.2 and fd00::2: for softroce, which wants that port
#
# "soft COMMAND" runs a command in the latter.

# Not the host's root's, which whoever runs QEMU may not be able to read.
mkdir -p "$HOME"

GUEST_MTU=4200 # room for RoCE's largest path MTU, 4096

guest_network() {
    local turns=0
    hostname guest
    # A sender in the kernel outruns an emulated receiver: let UDP keep what comes meanwhile.
    sysctl -qw net.core.rmem_max=33554432
    printf '#!/bin/sh\nexec ip netns exec soft "$@"\n' >/usr/local/bin/soft
    chmod +x /usr/local/bin/soft
    ip link set lo up &&
        ip netns add soft &&
        ip link add v0 mtu "$GUEST_MTU" type veth peer name v1 mtu "$GUEST_MTU" netns soft &&
        ip addr add 10.0.0.1/24 dev v0 &&
        ip addr add fd00::1/64 dev v0 nodad &&
        ip -n soft addr add 10.0.0.2/24 dev v1 &&
        ip -n soft addr add fd00::2/64 dev v1 nodad &&
        ip -n soft link set lo up &&
        ip -n soft link set v1 up &&
        ip link set v0 up &&
        rdma link add rxe0 type rxe netdev v0 || return 1
    until guest_ready; do
        turns=$((turns + 1))
        [ "$turns" -lt 200 ] || return 1
        sleep 0.05
    done
}

# guest_ready: is what follows a command in the background there too?
guest_ready() {
    grep -qs 0000:ffff:0a00:0001 /sys/class/infiniband/rxe0/ports/1/gids/* &&
        rdma link show rxe0/1 | grep -q "state ACTIVE" &&
        ip -n soft -br link show v1 | grep -q LOWER_UP
}

# guest_end STATUS: tell the host; init then turns the machine off
guest_end() {
    dmesg -n 1 # the kernel shall not write into the line below
    echo "$1" >/run/guest/status.new
    mv /run/guest/status.new /run/guest/status
    echo "guest: exit status $1"
    exit 0
}

guest_command() {
    local status=0
    stty -onlcr </dev/console
    guest_network || {
        echo "guest: the networks cannot be made"
        dmesg | tail -n 20
        guest_end 125
    }
    "$@" </dev/null || status=$?
    guest_end "$status"
}

guest_shell() {
    guest_network || echo "guest: the networks cannot be made"
    echo "rxe0: 10.0.0.1; soft COMMAND: 10.0.0.2; the tree is $RDMA_ROOT"
    setsid -c bash -i </dev/ttyS0 >/dev/ttyS0 2>&1
    guest_end "$?"
}
