#!/usr/bin/env bash
# The archive of `make dist` has each file that git has, but for those named here, and no other than autoconf and automake make.
# 295-distcheck.sh builds out of it, at night.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ ! -e "$EDL_SOURCE_DIR/.git" ] || ! git -C "$EDL_SOURCE_DIR" rev-parse HEAD >/dev/null; then
    echo 'git does not know this tree'
    exit 77
fi
packages_needed='make xz'
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
. "$EDL_SOURCE_DIR/tests/lib/fail.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

# for those who work with git, and of no use without it
cat >"$work/left-out" <<'END'
.ci/run
.gitignore
END
packages_dist
tar -tJf "$packages_archive" >"$work/names"
sed 's|^[^/]*/||' "$work/names" | grep -v '/$' | grep . | sort >"$work/archive"
git -C "$EDL_SOURCE_DIR" ls-files | sort >"$work/known"
git -C "$EDL_SOURCE_DIR" ls-files --deleted | sort >"$work/deleted"
comm -23 "$work/known" "$work/deleted" >"$work/there"

left_out=$(comm -23 "$work/there" "$work/archive" | comm -3 - "$work/left-out")
[ -z "$left_out" ] || fail "the archive lacks files, or has some that it is to leave out (the second column): EXTRA_DIST of a Makefile.inc names them. $left_out"
unknown=$(comm -13 "$work/there" "$work/archive" | grep -vxE 'aclocal\.m4|configure|Makefile\.in|build-aux/(ar-lib|compile|config\.guess|config\.sub|depcomp|install-sh|missing|py-compile|test-driver)' || true)
[ -z "$unknown" ] || fail "the archive has files that git does not know: add or remove them. $unknown"
echo "$(wc -l <"$work/archive") files, $(wc -l <"$work/left-out") left out"
