#!/usr/bin/env bash
# packaging/repo with an address prints one line that has the key: typed on another machine, apt takes the packages from a web server,
# and none of a repository that another key has signed. What is no such address is refused before anything is made.
# Takes 3 s: makes two keys
set -eu
: "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/fail.sh"
. "$EDL_SOURCE_DIR/tests/lib/await.sh"
for tool in gpg apt-ftparchive apt-get dpkg-deb python3; do
    command -v $tool >/dev/null || {
        echo "$tool is not here"
        exit 77
    }
done
work=$(mktemp -d)
web=''
# shellcheck disable=SC2317
on_exit() {
    [ -z "$web" ] || kill "$web" || true
    rm -rf "$work"
}
trap on_exit EXIT

# a package as small as one can be
mkdir -p "$work/tree/DEBIAN" "$work/packages"
printf '%s\n' 'Package: edl-tried' 'Version: 1.0' 'Architecture: all' 'Maintainer: Nobody <nobody@example.org>' 'Description: nothing' >"$work/tree/DEBIAN/control"
dpkg-deb --root-owner-group --build "$work/tree" "$work/packages/edl-tried_1.0_all.deb" >/dev/null

refused() { # WHAT ARGUMENT...
    local what=$1
    shift
    if "$EDL_SOURCE_DIR/packaging/repo" "$@" >"$work/out" 2>"$work/err"; then fail "packaging/repo $* was taken"; fi
    grep -qF "$what" "$work/err" || fail "packaging/repo $*: $(cat "$work/err")"
    [ ! -e "$work/packages/Packages" ] || fail "packaging/repo $*: something was made"
}
refused 'no address of a web server' "$work/packages" ftp://example.org/
refused 'write it as %XX' "$work/packages" "http://example.org/a'b"
refused 'usage:' "$work/nowhere" http://example.org/

python3 -u -m http.server --bind 127.0.0.1 --directory "$work/packages" 0 >"$work/web.out" 2>"$work/web.log" &
web=$!
port() { sed -n 's/.*port \([0-9]*\).*/\1/p' "$work/web.out"; }
listens() { [ -n "$(port)" ]; }
await 120 'the web server listens' listens
"$EDL_SOURCE_DIR/packaging/repo" "$work/packages" "http://127.0.0.1:$(port)" >"$work/line"
[ "$(wc -l <"$work/line")" = 1 ] || fail "not one line: $(cat "$work/line")"

# the other machine: folders of apt's own, as no test changes those of the machine that runs it
mkdir -p "$work"/etc/apt/{keyrings,sources.list.d,preferences.d,apt.conf.d} "$work"/var/lib/apt/lists/partial "$work"/var/cache/apt/archives/partial
: >"$work/status"
cat >"$work/apt" <<END
#!/bin/sh
exec apt-get -o Dir='$work' -o Dir::State::status='$work/status' -o APT::Sandbox::User="\$(id -un)" -o Acquire::Languages=none \\
    -o Dir::Bin::methods=/usr/lib/apt/methods -o Acquire::http::Proxy=DIRECT "\$@"
END
chmod +x "$work/apt"
type_line() { sh -c "$(sed "s|/etc/apt/|$work&|g; s|&& apt update|\&\& $work/apt update|" "$work/line")" >"$work/apt.out" 2>&1; }
type_line || fail "apt does not take it: $(cat "$work/apt.out")"
if grep -q '^[WE]:' "$work/apt.out"; then fail "apt warns: $(cat "$work/apt.out")"; fi
(cd "$work" && "$work/apt" -qq download edl-tried) || fail 'the package does not come'
cmp "$work/edl-tried_1.0_all.deb" "$work/packages/edl-tried_1.0_all.deb"

# somebody else's key: the machine that has the line takes nothing
rm -rf "$work/packages.key"
"$EDL_SOURCE_DIR/packaging/repo" "$work/packages" >/dev/null
touch -d 'now + 1 minute' "$work/packages/InRelease" # apt asks for what is newer by a second
"$work/apt" update >"$work/apt.out" 2>&1 || true
grep -q 'NO_PUBKEY\|not signed\|invalid' "$work/apt.out" || fail "another key is believed: $(cat "$work/apt.out")"
