#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The parts of common.sh and test.sh that a wrong machine would meet, on doctored commands.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
failed=0

expect() { # expect WHAT ACTUAL PATTERN: a shell pattern
    # shellcheck disable=SC2053
    if [[ $2 != $3 ]]; then
        echo "$1: got '$2', expected '$3'"
        failed=1
    fi
}
fake() { # fake NAME BODY: a command in front of the real one
    printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
common() { # common COMMAND: in a shell that has sourced common.sh; output and exit code
    local status=0
    PATH=$work/bin:$PATH bash -c "set -euo pipefail; . '$here/common.sh'; $1" \
        </dev/null 2>&1 || status=$?
    echo "exit $status"
}

fake dpkg-query 'printf "installed g++ c++-compiler\ninstalled pkgconf pkg-config (= 1.8)\n"
printf "not-installed cmake \ninstalled liba-dev liba2-dev, libother (= 2)\n"'
expect "nothing is missing" "$(common 'missing_packages g++ pkg-config liba2-dev')" $'\nexit 0'
expect "a removed package is missing" "$(common 'missing_packages cmake g++')" $'cmake\nexit 0'
expect "a part of a name is no match" "$(common 'missing_packages lib')" $'lib\nexit 0'

fake apt-get 'echo "apt-get $*" >>"'"$work"'/apt"'
fake id 'echo 1000'
fake sudo 'exit 1'
expect "no root, no sudo: the line to run, exit 1" "$(common 'install_packages g++ cmake')" \
    $'*apt-get update && apt-get install --no-install-recommends -y cmake\nexit 1'
expect "nothing was installed then" "$(ls "$work")" "bin"
fake sudo '[ "$*" = "-n true" ] || "$@"'
expect "sudo without a prompt installs" "$(common 'install_packages g++ cmake')" $'*cmake\nexit 0'
expect "update first, then what is missing" "$(tr '\n' '|' <"$work/apt")" \
    "*update|*install -y --no-install-recommends cmake|"
rm "$work/apt"
fake id 'echo 0'
expect "nothing missing: apt is not called" "$(common 'install_packages g++'; ls "$work")" \
    $'exit 0\nbin'
fake apt-get 'case $* in *install*) exit 100 ;; esac'
expect "apt fails" "$(common 'install_packages cmake')" $'*error: apt-get could not install: cmake\nexit 1'

# A configuration that failed is none, though its cache is there.
fake cmake 'echo "$*" >>"'"$work"'/cmake"
while [ "$1" != -B ]; do shift; done
grep -h CMAKE_HOME "'"$work"'/cache" >"$2/CMakeCache.txt"
exit $(cat "'"$work"'/code")'
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(cd "$here/.." && pwd)" >"$work/cache"
configured() { # configured CODE WORDS: what cmake was called with
    echo "$1" >"$work/code"
    : >"$work/cmake"
    RDMA_BUILD_DIR=$work/build RDMA_CMAKE_ARGS=$2 common configure >/dev/null
    wc -l <"$work/cmake"
}
expect "a first configuration" "$(configured 1 "")" 1
expect "again after one that failed" "$(configured 0 "")" 1
expect "not again when nothing changed" "$(configured 0 "")" 0
expect "again with other words" "$(configured 1 "-DENABLE_CUDA=OFF")" 1
expect "and again when these failed" "$(configured 0 "-DENABLE_CUDA=OFF")" 1
# A word that is not said any more is not in the cache any more, whether it went well or not.
expect "fewer words, from scratch" "$(configured 1 ""; cat "$work/cmake")" "1*-B $work/build -G Ninja"
expect "the same that failed: not from scratch" "$(configured 1 ""; cat "$work/cmake")" \
    "1*-B $work/build"
expect "others than failed, from scratch" "$(configured 0 "-DA=B"; cat "$work/cmake")" "1*-G Ninja -DA=B"
rm "$work/build/configured-with"
expect "a cache of the user's own is kept" "$(configured 0 "-DC=D"; cat "$work/cmake")" \
    "1*-B $work/build -DC=D"
: >"$work/file"
expect "a build folder that is none" "$(RDMA_BUILD_DIR=$work/file common configure_and_build)" \
    "error: RDMA_BUILD_DIR=$work/file is no folder*may write to"$'\nexit 1'
if [ "$(id -u)" -ne 0 ]; then # root may write to all
    chmod 555 "$work/build"
    expect "another user's build folder" "$(RDMA_BUILD_DIR=$work/build common configure_and_build)" \
        "error: * may not write to $work/build*RDMA_BUILD_DIR"$'\nexit 1'
    chmod 755 "$work/build"
fi
rm "$work/bin/cmake"

expect "an unknown tier" "$(bash "$here/test.sh" everything 2>&1 || echo "exit $?")" \
    $'error: \'everything\' is no tier*exit 2'

# The virtual machine, where it cannot run.
guest() { common ". '$here/guest/kernel.sh'; $1"; }
check_guest() { RDMA_BUILD_DIR=$work/guest PATH=$work/bin:$PATH bash "$here/guest/run.sh" --check; }
fake uname 'echo "Linux aarch64"'
expect "another processor" "$(guest guest_lacks)" "the guest is an x86-64*aarch64"$'\nexit 0'
expect "run.sh skips itself" "$(RDMA_REQUIRE='' check_guest || echo "exit $?")" "SKIP: the guest is *"$'\nexit 77'
expect "unless it is required" \
    "$(RDMA_REQUIRE=gpu,guest check_guest || echo "exit $?")" "SKIP: the guest is *"$'\nexit 1'
fake uname 'echo "Linux x86_64"'
expect "packages that are missing, in one line" "$(guest guest_lacks)" \
    "packages are missing; as root: apt-get update && apt-get install *qemu-system-x86*"$'\nexit 0'
fake apt-cache 'case $2 in linux-image-amd64)
    printf "%s\n  Depends: linux-image-6.1.0-57-amd64\n" "$2" ;; esac'
expect "Debian's kernel" "$(guest kernel_packages)" $'linux-image-6.1.0-57-amd64\nexit 0'
fake apt-cache 'case $2 in linux-image-generic) printf "  Depends: %s\n" \
    linux-image-6.8.0-31-generic linux-modules-extra-6.8.0-31-generic linux-firmware ;; esac'
expect "Ubuntu's kernel" "$(guest kernel_packages)" \
    $'linux-image-6.8.0-31-generic linux-modules-6.8.0-31-generic linux-modules-extra-6.8.0-31-generic\nexit 0'
fake apt-cache ':'
expect "no network, no kernel of an earlier run" "$(RDMA_BUILD_DIR=$work/guest guest guest_kernel)" \
    $'no kernel package is known: *\nexit 1'
echo key >"$work/guest/guest/made-of"
expect "no network, but a kernel of an earlier run" \
    "$(RDMA_BUILD_DIR=$work/guest guest guest_kernel)" "exit 0"

cat >"$work/tests.xml" <<'XML'
<testsuite>
  <testcase name="qa_a" status="run"><system-out>SKIP: not this one</system-out></testcase>
  <testcase name="qa_b" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>Running
SKIP (gpu): no &apos;CUDA&apos; device
</system-out></testcase>
  <testcase name="qa_c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
    <system-out></system-out></testcase>
</testsuite>
XML
expect "skips with their reasons" "$(common "print_skips '$work/tests.xml'")" \
    $'skipped: qa_b: SKIP (gpu): no \'CUDA\' device\nskipped: qa_c: no reason given\nexit 0'

# The manual names the packages that the scripts install.
words() { tr -s ' \\\n' '\n' | grep . | sort; }
expect "packages in docs/user/install.md" \
    "$(sed -n '/apt-get install/,/[^\\]$/p' "$here/../docs/user/install.md" |
        sed 's/.*--no-install-recommends//' | words)" \
    "$(bash -c ". '$here/common.sh'; echo \$RDMA_PACKAGES" | words)"
exit $failed
