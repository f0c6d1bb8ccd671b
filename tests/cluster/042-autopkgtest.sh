#!/usr/bin/env bash
# The packages' own test (DEP-8, packaging/debian/tests) by the tool with which Debian runs such tests: autopkgtest, which
# installs what the test depends on by apt, and judges what comes out, on a machine that is thrown away afterwards.
# Takes 28 s: a machine boots, and autopkgtest installs the packages by apt and tests them
machine_has=autopkgtest,dpkg-dev
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
# as what built it: the machine's root is looked for only where there is something to install
[ -n "${EDL_TEST_MACHINES:-}" ] || packages_build
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
set -u
in_machine() { machine_in n1 env -i -C /root HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
on_fail() {
    cat "$machines/report"
    in_machine sh -c 'cat /tmp/out/summary; systemctl --failed --no-legend --no-pager; journalctl --no-pager -o cat -n 40'
}

machine_boot n1
source=$(sed "s|[^=]*edl\\.gpg|/opt/edl/bin/packages/edl.gpg|; s|file:[^ ]*|file:/opt/edl/bin/packages|" "$packages.source")
case $source in *signed-by=*) source=${source/\[*\]/[signed-by=/opt/edl/bin/packages/edl.gpg]} ;; esac
# shellcheck disable=SC2016
in_machine sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* && echo "$1" >/etc/apt/sources.list.d/local.list && apt-get -qq update' sh "$source" \
    >"$machines/report" 2>&1 || fail 'the repository cannot be used'
# the source package as far as the test needs it: nothing is built
tar -C "$EDL_SOURCE_DIR/packaging" -c debian | in_machine sh -c 'mkdir /tmp/source && tar -x --no-same-owner -C /tmp/source' || fail 'there is no source'

# isolation-machine: this is one, of which the runner for "here" (null) does not know
autopkgtest() { in_machine timeout 400 autopkgtest --no-built-binaries --ignore-restrictions=isolation-machine --output-dir "/tmp/$1" "/tmp/$2" -- null >"$machines/report" 2>&1; }
began=$EPOCHREALTIME
autopkgtest out source || fail "autopkgtest ends with $?"
in_machine cat /tmp/out/summary | grep -qE '^one-machine +PASS' || fail 'the test has not passed'
echo "the packages' test by autopkgtest: $(awk "BEGIN { print $EPOCHREALTIME - $began }") s"
