#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The contract of every endpoint, for verbs on the kernel's rxe, between two addresses of one device.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check "the device has a second address" second_address
check "verbs on rxe keeps the contract of every endpoint" \
    qa_hw contract 220 lib/io/qa_hw_verbs "--run_test=!churn"
check "nothing is left on the device" nothing_left
finish
