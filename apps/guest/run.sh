#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source-path=SCRIPTDIR source=kernel.sh
. "$RDMA_ROOT/apps/guest/kernel.sh"

usage() {
    cat <<'TEXT'
usage: apps/guest/run.sh [--limit SECONDS] [--out FOLDER] COMMAND [ARGUMENT ...]
       apps/guest/run.sh --shell
       apps/guest/run.sh --check

Boots the distribution's own kernel in QEMU with this machine's files under an overlay: what the
command writes is gone afterwards, but for what it puts into /run/guest/out with --out. Inside
there are two networks joined by a veth pair, see start.sh: rxe0, the kernel's RDMA device, has
10.0.0.1; "soft COMMAND" runs a command in the other, 10.0.0.2.

  --limit SECONDS   end the guest after that time (default 300)
  --out FOLDER      copy the files of /run/guest/out there
  --shell           a shell on the guest's console; exit ends it, Ctrl-A X kills the guest
  --check           see to the kernel and say nothing, or say why the guest cannot run

Variables named RDMA_... are passed on. Exit code: that of the command; 77 the guest cannot run here (1 with RDMA_REQUIRE=guest);
124 the limit; 125 the guest ended on its own (a panic), or lost its console.
TEXT
}

limit=300
out=""
shell=""
check=""
while [ $# -gt 0 ]; do
    case $1 in
        --limit)
            [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || {
                echo "error: --limit takes seconds, a whole number above 0, not '${2:-}'" >&2
                exit 2
            }
            limit=$2
            shift ;;
        --out)
            [ -d "${2:-}" ] || {
                echo "error: --out takes a folder, not '${2:-}'" >&2
                exit 2
            }
            out=$2
            shift ;;
        --shell) shell=yes ;;
        --check) check=yes ;;
        -h | --help) usage; exit 0 ;;
        --) shift; break ;;
        -*) echo "error: unknown option '$1'" >&2; usage >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
if [ -z "$shell$check" ] && [ $# -eq 0 ]; then
    echo "error: no command; --shell gives a shell" >&2
    usage >&2
    exit 2
fi

cannot() {
    echo "SKIP: $*"
    case ",${RDMA_REQUIRE:-}," in *,guest,*) exit 1 ;; esac
    exit 77
}

why=$(guest_lacks)
[ -z "$why" ] || cannot "$why"
guest_kernel >&2 || cannot "there is no kernel for the guest; the reason is above"
[ -z "$check" ] || exit 0

base=(-machine q35 -nodefaults -no-user-config -display none -no-reboot -m 2048
    -kernel "$GUEST_CACHE/kernel" -initrd "$GUEST_CACHE/initrd")
# no_timer_check: on a busy machine an emulated timer may miss the few ticks that Linux tests.
words="console=ttyS0 quiet panic=-1 oops=panic mitigations=off random.trust_cpu=on no_timer_check"

# kvm_works: a /dev/kvm that opens may still not run a guest, so one is booted, once for each
# boot of this machine.
kvm_works() {
    local boot known=$GUEST_CACHE/kvm answer=no
    [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
    boot=$(cat /proc/sys/kernel/random/boot_id)
    if ! grep -qs "^$boot " "$known"; then
        timeout -k 1 10 qemu-system-x86_64 "${base[@]}" -accel kvm -cpu host -serial stdio \
            -append "$words guest.probe" </dev/null 2>/dev/null |
            grep -q "guest: alive" && answer=yes
        echo "$boot $answer" >"$known"
    fi
    grep -q " yes\$" "$known"
}

if kvm_works; then
    accel=(-accel kvm -cpu host)
else
    accel=(-accel "tcg,thread=multi" -cpu max)
fi
cpus=$(nproc)
[ "$cpus" -le 4 ] || cpus=4
[ "$cpus" -ge 2 ] || cpus=2

run=$(mktemp -d -p "$GUEST_CACHE" run.XXXXXX)
trap 'rm -rf "$run"' EXIT
mkdir "$run/out"
{
    echo "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    echo "export HOME=/run/home LC_ALL=C.UTF-8 TERM=$(printf %q "${TERM:-dumb}")"
    echo "export RDMA_ROOT=$(printf %q "$RDMA_ROOT") RDMA_BUILD_DIR=$(printf %q "$RDMA_BUILD_DIR")"
    declare -px | grep "^declare -x RDMA_" || true
    echo "cd $(printf %q "$PWD")"
    [ -z "$shell" ] || echo "stty $(stty size </dev/tty | sed 's/\(.*\) /rows \1 cols /') || true"
    echo ". $(printf %q "$GUEST_DIR/start.sh")"
    if [ -n "$shell" ]; then echo "guest_shell"; else echo "guest_command$(printf ' %q' "$@")"; fi
} >"$run/start"

comma() { echo "${1//,/,,}"; } # as QEMU wants them in a value
shares=(-virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
    -virtfs "local,path=$(comma "$run"),mount_tag=run,security_model=none")
machine=(qemu-system-x86_64 "${base[@]}" "${accel[@]}" -smp "$cpus" "${shares[@]}" -append "$words")

status=0
if [ -n "$shell" ]; then
    "${machine[@]}" -serial mon:stdio || status=$?
else
    timeout -k 5 "$limit" "${machine[@]}" -serial chardev:console \
        -chardev "stdio,id=console,signal=off,logfile=$(comma "$run/console")" </dev/null &
    trap 'kill "$!" 2>/dev/null; wait; exit 143' INT TERM
    wait "$!" || status=$?
    trap - INT TERM
fi
[ -z "$out" ] || cp -r "$run/out/." "$out"

if [ "$status" -ge 124 ] && [ "$status" -le 137 ]; then
    echo "error: the guest did not end within $limit s and was killed" >&2
    exit 124
fi
[ "$status" -eq 0 ] || die "QEMU failed with status $status"
if [ ! -s "$run/status" ]; then
    echo "error: the guest ended without an exit status: a panic, or its command ended it" >&2
    exit 125
fi
status=$(cat "$run/status")
if [ -z "$shell" ] && ! grep -q "^guest: exit status $status"$'\r*$' "$run/console"; then
    echo "error: the guest's console was lost before the end; its exit status was $status" >&2
    exit 125
fi
exit "$status"
