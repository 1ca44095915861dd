#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Connections by the hundred on rxe: memory, descriptors and the device's objects stay level.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check "the device has a second address" second_address
check "500 connections leave nothing in the process" \
    qa_hw churn 220 lib/io/qa_hw_verbs --run_test=churn
check "500 connections leave nothing on the device" nothing_left
finish
