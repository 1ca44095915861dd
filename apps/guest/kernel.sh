# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by run.sh and apps/test.sh after common.sh: may the guest run here, and its kernel.
#
#   GUEST_CACHE   what may be used again: the kernel package, kernel and initrd made of it

GUEST_DIR=$RDMA_ROOT/apps/guest
GUEST_CACHE=$RDMA_BUILD_DIR/guest
RDMA_GUEST_PACKAGES="qemu-system-x86 busybox-static kmod zstd python3 ibverbs-providers
    ibverbs-utils rdmacm-utils perftest
    python3-pyverbs iproute2"

# guest_unsuited: why this machine can never run the guest
guest_unsuited() {
    if [ "$(uname -sm)" != "Linux x86_64" ]; then
        echo "the guest is an x86-64 Linux with this machine's files, and this is $(uname -sm)"
    elif ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        echo "the guest's kernel is a Debian or Ubuntu package, and this is neither"
    fi
}

# guest_lacks: why the guest cannot run here, as far as that shows without a network
guest_lacks() {
    local missing
    guest_unsuited | grep . && return
    # shellcheck disable=SC2086  # words on purpose
    missing=$(missing_packages $RDMA_GUEST_PACKAGES)
    [ -z "$missing" ] || echo "packages are missing; as root:" \
        "apt-get update && apt-get install --no-install-recommends -y $missing"
}

# depends_on PACKAGE PATTERN: the packages of that name that it depends on
depends_on() {
    apt-cache depends "$1" 2>/dev/null | sed -n "s/^ *Depends: \($2\)\$/\1/p" | sort -u
}

# kernel_packages: those that hold the kernel and its modules. Not Debian's cloud flavour, which
# has no rdma_rxe; on Ubuntu that module is among the extra ones.
kernel_packages() {
    local image
    image=$(depends_on linux-image-amd64 'linux-image-[0-9].*' | head -n 1)
    if [ -n "$image" ]; then
        echo "$image"
        return
    fi
    image=$(depends_on linux-image-generic 'linux-image-[0-9].*' | head -n 1)
    [ -z "$image" ] ||
        echo "$image ${image/image/modules} ${image/image/modules-extra}"
}

# unpack_kernel FOLDER DEB ...: into FOLDER, with the index of the modules' dependencies
unpack_kernel() {
    local folder=$1 deb modules
    shift
    for deb; do
        dpkg-deb -x "$deb" "$folder" || return 1
    done
    modules=$(find "$folder" -name modules.order -printf '%h\n')
    [ -n "$modules" ] || return 1
    # depmod wants them below /lib/modules, wherever the package has them.
    [ -d "$folder/lib/modules" ] || ln -s usr/lib "$folder/lib"
    /sbin/depmod -b "$folder" "$(basename "$modules")"
}

# guest_kernel: sees to GUEST_CACHE/kernel and initrd, made again when the archive's package or
# what packs it has changed. Without a network the package of an earlier run will do.
guest_kernel() (
    local packages uris key made work
    mkdir -p "$GUEST_CACHE"
    exec 8>"$GUEST_CACHE/lock"
    flock 8
    packages=$(kernel_packages)
    if [ -z "$packages" ]; then
        [ -s "$GUEST_CACHE/made-of" ] && return 0
        echo "no kernel package is known: apt-get update has not run, or found no network" >&2
        return 1
    fi
    # shellcheck disable=SC2086  # words on purpose
    uris=$(apt-cache policy $packages | grep -E '^[^ ]|Candidate')
    key=$(cat - "$GUEST_DIR/pack.py" "$GUEST_DIR/init.sh" <<<"$uris" | sha256sum)
    made=$(cat "$GUEST_CACHE/made-of" 2>/dev/null)
    [ "$key" != "$made" ] || return 0

    work=$(mktemp -d -p "$GUEST_CACHE")
    trap 'rm -rf "$work"' EXIT
    if [ "$uris" != "$(cat "$GUEST_CACHE/packages" 2>/dev/null)" ]; then
        echo "guest: fetching $packages" >&2
        # shellcheck disable=SC2086
        if ! (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download $packages) >&2; then
            [ -n "$made" ] && return 0
            echo "apt-get could not download $packages" >&2
            return 1
        fi
        rm -f "$GUEST_CACHE"/*.deb "$GUEST_CACHE/packages"
        mv "$work"/*.deb "$GUEST_CACHE"
        echo "$uris" >"$GUEST_CACHE/packages"
    fi
    rm -f "$GUEST_CACHE/made-of"
    mkdir "$work/files"
    if ! unpack_kernel "$work/files" "$GUEST_CACHE"/*.deb ||
        ! python3 "$GUEST_DIR/pack.py" "$work/files" "$(command -v busybox)" \
            "$GUEST_DIR/init.sh" "$work" >&2; then
        echo "the packages $packages gave no kernel to boot" >&2
        return 1
    fi
    mv "$work/kernel" "$work/initrd" "$GUEST_CACHE"
    echo "$key" >"$GUEST_CACHE/made-of"
)
