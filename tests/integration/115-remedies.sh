#!/usr/bin/env bash
# What errors and help tell people to type is something that `edl` knows.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" "$EDL_SOURCE_DIR/tests/lib/remedies.py" "$EDL_BUILD_DIR/edl" "$EDL_SOURCE_DIR" || fail 'a remedy is not known'
