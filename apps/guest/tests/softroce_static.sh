#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# softroce against rxe on static connections, by ib_send_bw.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=perftest.sh
. "$(dirname "${BASH_SOURCE[0]}")/perftest.sh"

check "RC from ib_send_bw, 64 packets a message" from_perftest rc 1024 65536 40
check "RC from ib_send_bw, messages below a packet" from_perftest rc 4096 256 40
check "UC from ib_send_bw" from_perftest uc 4096 65536 20
check "UD from ib_send_bw" from_perftest ud 4096 4096 40
check "RC to ib_send_bw" to_perftest rc 1024 65536 20
check "RC to ib_send_bw, messages below a packet" to_perftest rc 4096 256 40
check "UC to ib_send_bw" to_perftest uc 1024 65536 20
check "UD to ib_send_bw" to_perftest ud 4096 4096 20
finish
