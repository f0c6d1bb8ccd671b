#!/usr/bin/env bash
# Runs at night: compiles all of the archive and runs all unit tests, six minutes of a core
# `make distcheck`: the archive builds in a folder of its own while its sources cannot be written, its tests pass, and what it installs
# it removes again.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
work=$(mktemp -d "$(cd "$EDL_BUILD_DIR" && pwd)/distcheck.XXXXXX")
end() { # what could not be written cannot be removed
    chmod -R u+w "$work"
    rm -rf "$work"
}
trap end EXIT
cd "$work"
"$EDL_SOURCE_DIR/configure" --enable-werror >configure.log || { cat configure.log && exit 1; }
nice -n 19 make -j"${EDL_JOBS:-$(nproc)}" distcheck
