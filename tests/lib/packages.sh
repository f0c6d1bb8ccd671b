# shellcheck shell=bash
# packages.sh - the Debian packages of this tree, built once for all tests of a build folder
#
#   . "$EDL_SOURCE_DIR/tests/lib/packages.sh"     # skips with the reason where they cannot be built
#   packages_build                                # $packages: an apt repository with them
#   packages_build_again DIR                      # the same once more
#   packages_build_next                           # $packages.next: a repository with those of a daemon, as of the next version
#   packages_cache=                               # before that: the compiler's cache is not used
#   packages_needed='make xz'                     # before that: a test that asks for less
#   packages_dist                                 # $packages_archive: what `make dist` makes, as of the files of now
packages=${EDL_BUILD_DIR:?the folder of the built programs}/packages
packages_needed=${packages_needed-dpkg-buildpackage dh dh_python3 apt-ftparchive lintian}

for packages_tool in $packages_needed; do
    command -v "$packages_tool" >/dev/null || {
        echo "no packages can be built here: $packages_tool is missing"
        exit 77
    }
done

packages_build() {
    (
        flock 9
        packages_archive_now
        sum=$(cat "$packages.archive")
        [ "$sum" = "$(cat "$packages.built" 2>/dev/null)" ] && exit 0
        rm -rf "$packages" "$packages.built"
        packages_build_again "$packages" || exit 1
        "${EDL_SOURCE_DIR:?the checkout}/packaging/repo" "$packages" >"$packages.source" || exit 1
        echo "$sum" >"$packages.built"
    ) 9>"$packages.lock" || exit 1
}

packages_dist() {
    (flock 9 && packages_archive_now) 9>"$packages.lock" || exit 1
    # shellcheck disable=SC2034
    packages_archive=$(echo "$EDL_BUILD_DIR"/edl-*.tar.xz)
}

# under the lock: the archive and the sum of what is in it. A checkout of git says which files `make dist` may take; while those
# are as they were, so is the archive. Of any other tree it is made each time.
packages_archive_now() {
    local files=''
    [ ! -e "${EDL_SOURCE_DIR:?the checkout}/.git" ] || files=$(
        set -o pipefail
        git -C "$EDL_SOURCE_DIR" ls-files -z --cached --others --exclude-standard | sort -z |
            (cd "$EDL_SOURCE_DIR" && xargs -0 stat -c '%n %s %.9Y %a') | sha256sum
    ) || files=''
    [ -n "$files" ] && [ "$files" = "$(cat "$packages.files" 2>/dev/null)" ] && [ -s "$packages.archive" ] &&
        [ -s "$(echo "$EDL_BUILD_DIR"/edl-*.tar.xz)" ] && return 0
    rm -f "$packages.files" "$EDL_BUILD_DIR"/edl-*.tar.xz
    # nobody carries it anywhere: how small it is does not matter
    XZ_OPT=-1 make -s -C "$EDL_BUILD_DIR" dist >"$packages.log" 2>&1 || { cat "$packages.log" && exit 1; }
    tar -xJOf "$(echo "$EDL_BUILD_DIR"/edl-*.tar.xz)" | sha256sum >"$packages.archive"
    echo "$files" >"$packages.files"
}

# without the unit tests, which have been run, and without packages for debuggers, which nobody installs here
packages_build_again() { # DIR
    (
        packages_use_cache
        DEB_BUILD_OPTIONS="nocheck noautodbgsym" "$EDL_SOURCE_DIR/packaging/build" "$1" "$(echo "$EDL_BUILD_DIR"/edl-*.tar.xz)" >"$packages.log" 2>&1
    ) || {
        tail -n 60 "$packages.log"
        return 1
    }
}

# the compiler's cache, where there is one. debhelper gives the build a home of its own, so it is told where the cache is and how
# much it may hold. Neither the folder of this build nor its name makes an object another one: dpkg-buildflags maps it away. So the
# objects of ./check's plain build, which has the same flags, are taken as they are.
packages_use_cache() {
    local cache=${packages_cache-/usr/lib/ccache}
    [ -n "$cache" ] && [ -x "$cache/gcc" ] && command -v ccache >/dev/null || return 0
    CCACHE_DIR=$(ccache --get-config cache_dir) CCACHE_MAXSIZE=$(ccache --get-config max_size) || return 0
    export EDL_CONFIGURE="--enable-werror --enable-dependency-tracking" CCACHE_DEPEND=1
    export CCACHE_DIR CCACHE_MAXSIZE CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${TMPDIR:-/tmp} PATH=$cache:$PATH
}

# the same files under a higher number: to apt, and to what the packages run, an upgrade
packages_build_next() {
    (
        flock 9
        cmp -s "$packages.built" "$packages.next.built" && exit 0
        rm -rf "$packages.next" "$packages.next.built"
        mkdir "$packages.next"
        for deb in "$packages"/edl-{scheduler,scheduler-postgresql,agent,client}_*.deb; do
            tree=$packages.next/tree
            dpkg-deb -R "$deb" "$tree" || exit 1
            sed -i "s/^Version: .*/&+next/; s/(= [^)]*/&+next/g" "$tree/DEBIAN/control"
            dpkg-deb --root-owner-group -Zgzip -z1 -b "$tree" "$packages.next" >"$packages.log" || exit 1
            rm -rf "$tree"
        done
        "$EDL_SOURCE_DIR/packaging/repo" "$packages.next" >"$packages.next.source" || exit 1
        cp "$packages.built" "$packages.next.built"
    ) 9>"$packages.lock" || exit 1
}
