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

expect "an unknown tier" "$(bash "$here/test.sh" everything 2>&1 || echo "exit $?")" \
    $'error: \'everything\' is no tier*exit 2'

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
