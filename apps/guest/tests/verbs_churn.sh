#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Connections by the hundred on rxe: memory, descriptors and the device's objects stay level.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OTHER=10.0.0.3

second_address() {
    ip addr replace "$OTHER/24" dev v0 || return
    wait_until 20 grep -qs 0000:ffff:0a00:0003 -r /sys/class/infiniband/rxe0/ports/1/gids
}

churn() {
    RDMA_REQUIRE=rdma RDMA_TEST_DEVICE_ADDRESSES=$RXE,$OTHER \
        side churn "$RDMA_BUILD_DIR/lib/io/qa_hw_verbs" --color_output=no --run_test=churn
    ends churn 220 0
}

nothing_left() {
    local left
    left=$(rdma resource show | grep -o "cm_id.*")
    [ "$left" = "cm_id 0 mr 0 ctx 0 srq 0 " ] || wrong "there is still: $(rdma resource show)"
}

check "the device has a second address" second_address
check "500 connections leave nothing in the process" churn
check "500 connections leave nothing on the device" nothing_left
finish
