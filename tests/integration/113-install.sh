#!/usr/bin/env bash
# Packages that cannot be installed: ./quickstart and ./check tell a lock from a mirror that does not answer and from a package that is not
# there. An apt-get of the test's own says what that of Debian 12 says. /run/lock need not be there.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
set -eu
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
    echo 'only root can have a /run of its own (unshare -m)'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
cat >"$work/bin/apt-get" <<'END_OF_APT'
#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
case $SAYS-$1 in
mirror-update)
    echo "W: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease  Temporary failure resolving 'deb.debian.org'"
    echo 'W: Some index files failed to download. They have been ignored, or old ones used instead.' ;;
locked-install)
    echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (apt-get)'
    echo 'E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?'
    exit 100 ;;
mirror-install | unknown-install) echo "E: Unable to locate package edl-is-no-package" && exit 100 ;;
fetch-install)
    echo "E: Failed to fetch http://proxy.example/pool/main/j/jq/jq_1.6-2.1_amd64.deb  403  Forbidden [IP: 192.0.2.1 80]"
    exit 100 ;;
withdrawn-install) echo "E: Package 'edl-is-no-package' has no installation candidate" && exit 100 ;;
half-update) echo "W: Failed to fetch http://other.example/debian/dists/bookworm/InRelease  404  Not Found" && exit 100 ;;
esac
echo "$@" >>"$CALLS"
END_OF_APT
chmod +x "$work/bin/apt-get"
export CALLS=$work/calls
try() { # SAYS [LOCK-S]: in a /run without anything
    # shellcheck disable=SC2016
    SAYS=$1 unshare -m bash -c 'mount -t tmpfs none /run && . "$EDL_SOURCE_DIR/tests/lib/install.sh" && PATH=$1:$PATH && install_lock_s=${2:-900} && shift &&
        install_packages --yes edl-is-no-package' bash "$work/bin" "${2:-}" >"$work/said" 2>&1
}
says() { # SAYS TEXT
    if try "$1"; then fail "$1: it succeeds: $(cat "$work/said")"; fi
    grep -qF -- "$2" "$work/said" || fail "$1: not said: $2; but: $(cat "$work/said")"
    grep -qF 'run this again: apt-get install edl-is-no-package' "$work/said" || fail "$1: no remedy: $(cat "$work/said")"
    [ "$(grep -cE '^(apt|Another)' "$work/said")" = 2 ] || fail "$1: more than one reason: $(cat "$work/said")"
}
says locked 'Another program holds /var/lib/dpkg/lock-frontend, and did not let go of it within 900 s'
says mirror 'apt cannot reach http://deb.debian.org. Look at the network'
says fetch 'apt cannot reach http://proxy.example.'
says unknown 'apt knows no package edl-is-no-package.'
says withdrawn 'apt knows no package edl-is-no-package.'
: >"$CALLS"
try ok || fail "it fails: $(cat "$work/said")"
grep -q '^install .*edl-is-no-package$' "$CALLS" || fail "not installed: $(cat "$CALLS")"
try half || fail "one mirror of many keeps it from installing: $(cat "$work/said")"
