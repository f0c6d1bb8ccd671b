#!/usr/bin/env bash
# Runs at night: builds every package a second time
# The Debian packages once more, with each file compiled: they are the same bytes. Where there is a CUDA toolkit, its package is
# built with them, and changes no other.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
. "$EDL_SOURCE_DIR/tests/lib/fail.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packages_build
# what the cache gave is what the compiler gives
# shellcheck disable=SC2034
packages_cache=''
export CCACHE_DISABLE=1
nvcc=$(PATH=${CUDA_HOME:-/usr/local/cuda}/bin:$PATH command -v nvcc) || nvcc=''
if [ -n "$nvcc" ]; then
    CUDA_HOME=$(dirname "$(dirname "$nvcc")")
    export CUDA_HOME DEB_BUILD_PROFILES=pkg.edl.cuda
fi
packages_build_again "$work/again"
for package in "$packages"/*.deb; do
    cmp "$package" "$work/again/${package##*/}" || fail "${package##*/} is another one the second time"
done
[ -n "$nvcc" ] || { echo 'edl-trainer-cuda is not looked at: there is no nvcc' && exit 0; }
lintian --pedantic --allow-root --fail-on error,warning,pedantic "$work"/again/edl-trainer-cuda_*.deb >"$work/lintian" 2>&1 || fail "lintian: $(cat "$work/lintian")"
dpkg-deb -x "$work"/again/edl-trainer-cuda_*.deb "$work/cuda"
files=$(cd "$work/cuda" && find . -type f ! -path './usr/share/*')
[[ $files == ./usr/lib/*/edl/libedl-kernels-cuda.so ]] || fail "edl-trainer-cuda has $files"
dpkg-deb -x "$packages"/edl-trainer_*.deb "$work/root"
version=$(dpkg-deb -f "$packages"/edl-client_*.deb Version)
grep -aqF "/$(dirname "${files#./}")" "$work/root/usr/bin/edl-trainer" || fail "edl-trainer does not look where edl-trainer-cuda has its file: $files"
[[ $(dpkg-deb -f "$work"/again/edl-trainer-cuda_*.deb Depends) == *"edl-trainer (= $version)"* ]] || fail 'edl-trainer-cuda goes with any edl-trainer'
readelf -d "$work/cuda/$files" | lacks -E 'RPATH|RUNPATH' || fail 'edl-trainer-cuda names a folder of the machine that built it'
