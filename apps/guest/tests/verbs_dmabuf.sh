#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A dma-buf of the kernel's own (vgem, udmabuf) stands for a GPU's memory: rxe refuses it, the plan falls
# through and says why, and messages come in by the next route.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check "the device has a second address" second_address
check "rxe refuses a dma-buf and unpinnable memory, and the plan says so" \
    qa_hw program 150 lib/io/qa_hw_verbs_dmabuf --log_level=message
# With the imitation of a GPU, which takes the headers of CUDA to build.
[ ! -e "$RDMA_BUILD_DIR/lib/qa_hw_source_routes" ] ||
    check "rdma.source falls through to what rxe takes" \
        qa_hw program 150 lib/qa_hw_source_routes --log_level=message
check "nothing is left on the device" nothing_left
finish
