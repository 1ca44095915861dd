#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The program on rxe by verbs against the program on softroce, both ways, bit for bit.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=pairs.sh
. "$(dirname "${BASH_SOURCE[0]}")/pairs.sh"

check "RC by rdma_cm, rxe listens and receives" by_cm rxe receive rc
check "RC by rdma_cm, rxe listens and sends" by_cm rxe send rc
check "RC by rdma_cm, softroce listens and receives" by_cm soft receive rc
check "RC by rdma_cm, softroce listens and sends" by_cm soft send rc
check "RC, static, rxe receives" static_to_rxe rc
check "UC, static, rxe receives" static_to_rxe uc
check "UD, static, rxe receives" static_to_rxe ud
check "RC, static, rxe sends" static_from_rxe rc
check "UC, static, rxe sends" static_from_rxe uc
check "UD, static, rxe sends" static_from_rxe ud
finish
