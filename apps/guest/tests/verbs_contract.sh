#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The contract of every endpoint, for verbs on the kernel's rxe, between two addresses of one device.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OTHER=10.0.0.3

second_address() {
    ip addr add "$OTHER/24" dev v0 || return
    wait_until 20 grep -qs 0000:ffff:0a00:0003 -r /sys/class/infiniband/rxe0/ports/1/gids
}

contract() {
    RDMA_REQUIRE=rdma RDMA_TEST_DEVICE_ADDRESSES=$RXE,$OTHER \
        side contract "$RDMA_BUILD_DIR/lib/io/qa_hw_verbs" --color_output=no "$@"
    ends contract 220 0 || return
    tail -n 1 "$LOGS/contract"
}

nothing_left() {
    local left
    left=$(rdma resource show | grep -o "cm_id.*")
    [ "$left" = "cm_id 0 mr 0 ctx 0 srq 0 " ] || wrong "there is still: $(rdma resource show)"
}

check "the device has a second address" second_address
check "verbs on rxe keeps the contract of every endpoint" contract "--run_test=!churn"
check "nothing is left on the device" nothing_left
finish
