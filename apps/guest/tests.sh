#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# usage, in the guest: tests.sh NAME ...
# Runs tests/NAME.sh (or .py) one after the other, each for 400 s at most. Exit code: the number that failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GR_RDMA=$RDMA_BUILD_DIR/apps/gr-rdma PYTHONDONTWRITEBYTECODE=1
# The distribution's, which has GNU Radio and pyverbs, whatever stands first in PATH.
export RDMA_PYTHON=/usr/bin/python3
export PYTHONPATH=$RDMA_BUILD_DIR/test_modules:$RDMA_ROOT/python/rdma
export PYTHONWARNINGS=ignore::FutureWarning GR_CONF_LOG_LOG_LEVEL=warn
failed=()
for name; do
    begin=$SECONDS
    echo "== $name"
    status=0
    program=(bash "$here/tests/$name.sh")
    [ -e "${program[1]}" ] || program=("$RDMA_PYTHON" "$here/tests/$name.py")
    timeout -k 5 400 "${program[@]}" || status=$?
    if [ "$status" -ne 0 ]; then
        failed+=("$name")
        [ "$status" -ne 124 ] || echo "FAIL: $name did not end within 400 s"
    fi
    echo "== $name: exit status $status, $((SECONDS - begin)) s"
done
[ ${#failed[@]} -eq 0 ] || {
    echo "failed: ${failed[*]}"
    echo "the kernel's last words:"
    dmesg | tail -n 20
}
exit ${#failed[@]}
