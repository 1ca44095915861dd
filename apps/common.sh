# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by demo.sh, test.sh and .ci/run: install what the build needs, configure, build.
#
#   RDMA_BUILD_DIR    build folder, default build/ in the tree
#   RDMA_CMAKE_ARGS   more words for cmake; others than last time configure from scratch

RDMA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RDMA_BUILD_DIR=$(realpath -m "${RDMA_BUILD_DIR:-$RDMA_ROOT/build}")

# Debian 12 and 13, Ubuntu 24.04. gnuradio-dev brings Boost, VOLK, FFTW, spdlog and pybind11.
RDMA_PACKAGES="g++ cmake ninja-build pkg-config
    gnuradio gnuradio-dev libboost-program-options-dev libboost-test-dev pybind11-dev
    python3-dev python3-numpy python3-scipy libfftw3-dev libdeflate-dev libibverbs-dev
    librdmacm-dev libpng-dev libcairo2-dev nlohmann-json3-dev
    iproute2"

die() {
    echo "error: $*" >&2
    exit 1
}

# missing_packages NAME ...: those that dpkg does not have, on one line
missing_packages() {
    local have name missing=""
    have=" $(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null |
        awk '$1 == "installed" { $1 = ""; gsub(/,|\([^)]*\)/, " "); print }' | tr -s '\n ' ' ') "
    for name; do
        case $have in
            *" $name "*) ;;
            *) missing+=" $name" ;;
        esac
    done
    echo "${missing# }"
}

# may_install: without asking anybody for a password?
may_install() {
    [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

# install_packages NAME ...: with apt where something is missing; says the line where it may not
install_packages() {
    local missing apt
    if ! command -v dpkg-query >/dev/null; then
        echo "Not a Debian or Ubuntu: CMake will name what is missing. Packages there: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300"
    if [ "$(id -u)" -ne 0 ]; then
        if may_install || { command -v sudo >/dev/null && [ -t 0 ]; }; then
            apt="sudo $apt"
        else
            echo "Packages are missing, and this user may not install them. Run as root:" >&2
            echo "    apt-get update && apt-get install --no-install-recommends -y $missing" >&2
            exit 1
        fi
    fi
    echo "Installing with apt: $missing"
    # An update that fails (one dead mirror of many) still lets an install succeed.
    $apt update </dev/null || echo "warning: apt-get update failed; trying with the old lists" >&2
    # shellcheck disable=SC2086  # words on purpose
    $apt install -y --no-install-recommends $missing </dev/null >/dev/null ||
        die "apt-get could not install: $missing"
}

setup() {
    # shellcheck disable=SC2086
    install_packages $RDMA_PACKAGES
}

# As many compilers as there are processors, and a gigabyte of free memory for each.
build_jobs() {
    local cpus memory
    cpus=$(nproc)
    memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
    [ "${memory:-1}" -ge 1 ] || memory=1
    echo $((cpus < memory ? cpus : memory))
}

# build_folder: there, and ours to write to
build_folder() {
    local file
    mkdir -p "$RDMA_BUILD_DIR" 2>/dev/null || true
    [ -d "$RDMA_BUILD_DIR" ] || die "RDMA_BUILD_DIR=$RDMA_BUILD_DIR is no folder, and none can be" \
        "made there; name one that $(id -un) may write to"
    for file in "$RDMA_BUILD_DIR" "$RDMA_BUILD_DIR"/{lock,CMakeCache.txt,configure.log}; do
        [ ! -e "$file" ] || [ -w "$file" ] || die "$(id -un) may not write to $file: remove what" \
            "another user has built there, or name another folder in RDMA_BUILD_DIR"
    done
}

# Again only when the words changed; ninja itself sees changed CMake files.
configure() {
    local words="${RDMA_CMAKE_ARGS:-}" cache=$RDMA_BUILD_DIR/CMakeCache.txt generator=() file
    local made=$RDMA_BUILD_DIR/configured-with tried=$RDMA_BUILD_DIR/configuring-with
    build_folder
    if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$RDMA_ROOT" "$cache"; then
        rm -rf "$cache" "$RDMA_BUILD_DIR/CMakeFiles" # a copied tree
    fi
    if [ -e "$cache" ] && [ -e "$made" ] && [ "$words" = "$(cat "$made")" ]; then
        return 0
    fi
    # A word that is not said any more would live on in the cache.
    for file in "$made" "$tried"; do
        [ ! -e "$file" ] || [ "$words" = "$(cat "$file")" ] ||
            rm -rf "$cache" "$RDMA_BUILD_DIR/CMakeFiles"
    done
    [ -e "$cache" ] || generator=(-G Ninja)
    rm -f "$made"
    echo "$words" >"$tried"
    # shellcheck disable=SC2086  # RDMA_CMAKE_ARGS is words on purpose
    if ! cmake -S "$RDMA_ROOT" -B "$RDMA_BUILD_DIR" "${generator[@]}" ${RDMA_CMAKE_ARGS:-} \
        >"$RDMA_BUILD_DIR/configure.log" 2>&1; then
        tail -n 40 "$RDMA_BUILD_DIR/configure.log" >&2
        die "cmake failed; all of its output: $RDMA_BUILD_DIR/configure.log"
    fi
    grep -E '^-- (Python: |CUDA compiler: )' "$RDMA_BUILD_DIR/configure.log" || true
    mv "$tried" "$made"
}

# configure_and_build [TARGET ...]: one script at a time in one build folder
configure_and_build() {
    local targets=()
    [ $# -eq 0 ] || targets=(--target "$@")
    build_folder
    exec 9>"$RDMA_BUILD_DIR/lock"
    flock 9
    configure
    cmake --build "$RDMA_BUILD_DIR" -j "$(build_jobs)" "${targets[@]}" ||
        die "the build failed; see above"
    exec 9>&-
}

# print_skips JUNIT_FILE: tests that skipped themselves, with the reason they gave
print_skips() {
    awk -v RS='<testcase ' '/<skipped/ {
        name = $0; sub(/^name="/, "", name); sub(/".*/, "", name)
        why = "no reason given"
        if (match($0, /SKIP(PED)?( \([a-z]+\))?: [^\n<]*/)) why = substr($0, RSTART, RLENGTH)
        print "skipped: " name ": " why }' "$1" |
        sed "s/&apos;/'/g; s/&quot;/\"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g"
}
