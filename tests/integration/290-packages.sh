#!/usr/bin/env bash
# The Debian packages: built out of a tarball of make dist, found without fault by lintian, each file in one of them and
# configuration only in /etc; the units have the sandbox that is promised. 291-packages-again.sh builds them a second time.
# Takes 8 s: reads every file of the packages
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packages_build
mkdir -p "$work/root" "$work/control"
lintian --pedantic --allow-root --fail-on error,warning,pedantic "$packages"/*.changes >"$work/lintian" 2>&1 || fail "lintian: $(cat "$work/lintian")"

for name in edl-scheduler edl-scheduler-postgresql edl-agent edl-client edl-slurm-words edl-trainer libedl0 libedl-dev python3-edl edl-doc; do
    dpkg-deb -x "$packages/$name"_*.deb "$work/root"
    dpkg-deb -e "$packages/$name"_*.deb "$work/control/$name"
done
[ "$(sort "$work"/control/*/conffiles | tr '\n' ' ')" = '/etc/edl/agent.conf /etc/edl/agent.conf.d/10-this-machine.conf /etc/edl/scheduler.conf ' ] ||
    fail "conffiles: $(cat "$work"/control/*/conffiles)"
version=$(dpkg-deb -f "$packages"/edl-client_*.deb Version)
while read -r program; do # every program of the build that is installed
    [ -x "$work/root/usr/bin/$program" ] || fail "no package has $program"
    find "$work/root/usr/share/man" -name "$program.[18].gz" | grep -q . || fail "no package has the manual of $program"
    said=$("$work/root/usr/bin/$program" --version 2>&1) || fail "$program --version ended with $?: $said"
    [ "$said" = "$program ${version%-*}" ] || fail "its package has the version $version, $program --version says: $said"
done <<END
$(make -s -C "$EDL_BUILD_DIR" list-programs)
END

# what a package says of shell completion is what the command knows
# shellcheck disable=SC1091
verbs=$(. "$work/root/usr/share/bash-completion/completions/edl" && PATH=$EDL_BUILD_DIR:$PATH && COMP_WORDS=(edl s) COMP_CWORD=1 && _edl && echo "${COMPREPLY[*]}")
[ "$verbs" = 'submit search show shell ssh-config scale services simulate' ] || fail "completion of s: $verbs"

# libpq is loaded late: only who wants PostgreSQL gets it
case $(dpkg-deb -f "$packages"/edl-scheduler_*.deb Depends) in *libpq*) fail 'edl-scheduler depends on libpq' ;; esac
depends=$(dpkg-deb -f "$packages"/edl-scheduler-postgresql_*.deb Depends)
[ "$depends" = "edl-scheduler (= $version), libpq5" ] || fail "edl-scheduler-postgresql depends on: $depends"
[ -e "$work/root/usr/share/doc/edl-scheduler-postgresql/replicated.md.gz" ] || fail 'the manual is missing'

exposure() { # UNIT
    systemd-analyze security --offline=true --no-pager "$work/root/lib/systemd/system/$1" 2>/dev/null | sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p'
}
slice=$work/root/lib/systemd/system/edl.slice
grep -q '^CPUWeight=idle$' "$slice" || fail "jobs do not go behind what else a machine does: $(cat "$slice")"
if command -v systemd-analyze >/dev/null; then
    # of the units of this machine that it comes upon it tells as well
    said=$(systemd-analyze verify --man=no "$slice" 2>&1) || true
    ! grep -F edl.slice <<<"$said" || fail "edl.slice: $said"
    awk "BEGIN { exit !($(exposure edl-scheduler.service) <= 2.0) }" || fail "edl-scheduler.service: $(exposure edl-scheduler.service)"
    # 0.3 of it are CAP_SETUID and CAP_SETGID: files of a process are read with the rights of its account, and never with root's
    awk "BEGIN { exit !($(exposure edl-agent.service) <= 3.6) }" || fail "edl-agent.service: $(exposure edl-agent.service)"
fi
[ "$(echo "$packages"/*cuda*.deb)" = "$packages/*cuda*.deb" ] || fail 'edl-trainer-cuda is made although nobody asked for it'
