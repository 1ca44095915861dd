#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source-path=SCRIPTDIR source=guest/kernel.sh
. "$RDMA_ROOT/apps/guest/kernel.sh"

usage() {
    cat <<'TEXT'
usage: apps/test.sh [TIER ...] [-v] [-- CTEST_ARGUMENT ...]
       apps/test.sh guest --shell

Installs what is missing, builds, and runs the tests of the tiers named:
  unit       no device, no network
  loopback   RoCEv2 over 127.0.0.0/8, flowgraphs, the program, the installed package
  guest      real libibverbs and rdma_rxe in a virtual machine
  gpu        needs an NVIDIA GPU
With no tier named: all that can run on this machine; the others are listed with the reason.
  -v         show the output of passing tests too
  --shell    builds, then gives a shell in the virtual machine

RDMA_REQUIRE=gpu,guest (a list of tiers) makes it a failure when one of them cannot run.
Exit code: 0 all passed; 1 a test failed or a required tier did not run; 2 usage; 77 nothing
ran, because no tier that was named can run here.
TEXT
}

tiers=()
shell=""
verbose=()
extra=()
while [ $# -gt 0 ]; do
    case $1 in
        unit | loopback | guest | gpu) tiers+=("$1") ;;
        -v | --verbose) verbose=(--verbose) ;;
        --shell) shell=yes ;;
        -h | --help) usage; exit 0 ;;
        --) shift; extra=("$@"); break ;;
        *) echo "error: '$1' is no tier; they are unit, loopback, guest and gpu" >&2
            usage >&2
            exit 2 ;;
    esac
    shift
done
if [ -n "$shell" ] && [ "${tiers[*]}" != guest ]; then
    echo "error: --shell goes with the tier guest alone" >&2
    exit 2
fi
named=${tiers[*]}
[ ${#tiers[@]} -gt 0 ] || tiers=(unit loopback guest gpu)

required() { case ",${RDMA_REQUIRE:-}," in *",$1,"*) ;; *) return 1 ;; esac; }
label_tests() {
    ctest --test-dir "$RDMA_BUILD_DIR" -N -L "^$1\$" | sed -n 's/^Total Tests: //p'
}

# why_no_guest: installs and fetches what is missing, where the tier was named or nobody has to be
# asked for a password; prints why the guest still cannot run
why_no_guest() {
    local why
    why=$(guest_unsuited)
    if [ -z "$why" ]; then
        if may_install || { [ -n "$named" ] && [ -t 0 ]; }; then
            # shellcheck disable=SC2086  # words on purpose
            (install_packages $RDMA_GUEST_PACKAGES) >&2 || true
        fi
        why=$(guest_lacks)
    fi
    if [ -z "$why" ] && ! guest_kernel; then why="no kernel for it; the reason is above"; fi
    echo "$why"
}

# why_not TIER: prints why the tier cannot run here, nothing if it can
why_not() {
    if [ "$1" = gpu ] && ! ls /proc/driver/nvidia/gpus/* >/dev/null 2>&1 &&
        ! nvidia-smi -L >/dev/null 2>&1; then
        echo "no NVIDIA GPU on this machine"
    elif [ "$1" = gpu ] && ! grep -q "^RDMA_BUILT_WITH_CUDA:INTERNAL=ON" "$RDMA_BUILD_DIR/CMakeCache.txt"; then
        echo "built without CUDA; the reason: grep CUDA $RDMA_BUILD_DIR/configure.log"
    elif [ "$1" = guest ]; then
        why_no_guest
    elif [ "$(label_tests "$1")" = 0 ]; then
        echo "no tests in this tier yet"
    fi
}

setup
configure_and_build
if [ -n "$shell" ]; then
    why=$(why_no_guest)
    [ -z "$why" ] || die "no guest: $why"
    exec bash "$RDMA_ROOT/apps/guest/run.sh" --shell
fi

run=()
missing=""
for tier in "${tiers[@]}"; do
    why=$(why_not "$tier")
    if [ -z "$why" ]; then
        run+=("$tier")
        continue
    fi
    echo "tier $tier: not run: $why"
    # A tree whose basic tiers are empty is broken, not limited.
    if required "$tier" || [ "$tier" = unit ] || [ "$tier" = loopback ]; then
        missing+=" $tier"
    fi
done
[ -z "$missing" ] || die "these tiers must run and cannot:$missing"
if [ ${#run[@]} -eq 0 ]; then
    echo "Nothing was tested."
    exit 77
fi

echo "tiers: ${run[*]}"
junit=$RDMA_BUILD_DIR/tests.xml
rm -f "$junit"
closing=$(mktemp)
trap 'rm -f "$closing"' EXIT
pattern="^($(IFS='|' && echo "${run[*]}"))\$"
status=0
# ctest's closing lines are held back so that the skip reasons stand above them.
ctest --test-dir "$RDMA_BUILD_DIR" -L "$pattern" --no-tests=error -j "$(nproc)" \
    --output-on-failure --output-junit "$junit" "${verbose[@]}" "${extra[@]}" </dev/null 2>&1 |
    awk -v closing="$closing" '
        /^[0-9]+% tests passed/ { held = 1 }
        held { print > closing; next }
        { print; fflush() }' || status=1
[ ! -e "$junit" ] || print_skips "$junit"
cat "$closing"
exit "$status"
