#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The rig itself: what a command says and how it ends comes out, and a guest that goes wrong is a
# failure, in each way that it can.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# guest WANTED_STATUS TEXT WHAT ARGUMENT ...: run.sh with these arguments
guest() {
    local wanted=$1 text=$2 what=$3 status=0 begin=$SECONDS
    shift 3
    bash "$here/run.sh" "$@" >"$work/said" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 77 ]; then
        cat "$work/said"
        exit 77
    fi
    if [ "$status" -eq "$wanted" ] && grep -q -- "$text" "$work/said"; then
        echo "ok: $what ($((SECONDS - begin)) s)"
    else
        echo "FAIL: $what: exit status $status, not $wanted, or no '$text' in:"
        sed 's/^/    | /' "$work/said"
        failed=1
    fi
}

mkdir "$work/out"
# shellcheck disable=SC2016  # for the guest's shell
guest 7 "^seen: two  words, 'quoted'\$" "output, exit status, files; the host's stay as they are" \
    --limit 60 --out "$work/out" bash -c \
    'echo "seen: $2" && cp "$0" "$1" && echo no >"$0" && cp "$1" /run/guest/out && exit 7' \
    "$here/qa_rig.sh" "$work/copy" "two  words, 'quoted'"
cmp -s "$here/qa_rig.sh" "$work/out/copy" || {
    echo "FAIL: a file did not come out as it was"
    failed=1
}
[ ! -e "$work/copy" ] && grep -q "^# The rig itself" "$here/qa_rig.sh" || {
    echo "FAIL: the guest has written to the host"
    failed=1
}
guest 125 "Kernel panic" "a panic" --limit 60 bash -c 'echo c >/proc/sysrq-trigger; sleep 60'
guest 125 "without an exit status" "a guest that is turned off" --limit 60 \
    bash -c 'echo o >/proc/sysrq-trigger; sleep 60'
# The port's loop-back bit: nothing that is written leaves it.
# shellcheck disable=SC2016
guest 125 "console was lost" "a lost console" --limit 60 \
    bash -c 'printf "\20" | dd of=/dev/port bs=1 seek="$((0x3fc))" conv=notrunc 2>/dev/null'
guest 124 "did not end within 8 s" "a guest that hangs" --limit 8 sleep 1000

guest 2 "whole number above 0, not 'soon'" "a limit that is none" --limit soon true
guest 2 "no command" "no command"
exit $failed
