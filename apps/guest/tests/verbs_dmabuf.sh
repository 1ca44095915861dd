#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A dma-buf of the kernel's own (vgem, udmabuf) stands for a GPU's memory: rxe refuses it, the plan falls
# through and says why, and messages come in by the next route.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OTHER=10.0.0.3

second_address() {
    ip addr replace "$OTHER/24" dev v0 || return
    wait_until 20 grep -qs 0000:ffff:0a00:0003 -r /sys/class/infiniband/rxe0/ports/1/gids
}

runs() {
    RDMA_REQUIRE=rdma RDMA_TEST_DEVICE_ADDRESSES=$RXE,$OTHER \
        side program "$RDMA_BUILD_DIR/$1" --color_output=no --log_level=message
    ends program 150 0
}

nothing_left() {
    local left
    left=$(rdma resource show | grep -o "cm_id.*")
    [ "$left" = "cm_id 0 mr 0 ctx 0 srq 0 " ] || wrong "there is still: $(rdma resource show)"
}

check "the device has a second address" second_address
check "rxe refuses a dma-buf and unpinnable memory, and the plan says so" runs lib/io/qa_hw_verbs_dmabuf
# With the imitation of a GPU, which takes the headers of CUDA to build.
[ ! -e "$RDMA_BUILD_DIR/lib/qa_hw_source_routes" ] ||
    check "rdma.source falls through to what rxe takes" runs lib/qa_hw_source_routes
check "nothing is left on the device" nothing_left
finish
