#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# usage, in the guest: tests.sh NAME ...
# Runs tests/NAME.sh (or .py) one after the other, each for 240 s at most. Exit code: the number that failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failed=()
for name; do
    begin=$SECONDS
    echo "== $name"
    status=0
    timeout -k 5 240 bash "$here/tests/$name.sh" || status=$?
    if [ "$status" -ne 0 ]; then
        failed+=("$name")
        [ "$status" -ne 124 ] || echo "FAIL: $name did not end within 240 s"
    fi
    echo "== $name: exit status $status, $((SECONDS - begin)) s"
done
[ ${#failed[@]} -eq 0 ] || {
    echo "failed: ${failed[*]}"
    echo "the kernel's last words:"
    dmesg | tail -n 20
}
exit ${#failed[@]}
