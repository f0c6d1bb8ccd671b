#!/usr/bin/env bash
# Runs at night: every fault again and again, for hours
# What 401-replicated.sh looks at, with every fault that lib/two_faults.py knows: EDL_REPLICATED_TRIES of each (200 in an own run, 10 each
# night), one behind the other in an order of the seed.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
timeout 36000 "$python" "$EDL_SOURCE_DIR/tests/lib/two_schedulers.py" "$EDL_BUILD_DIR" "$work/two" --tries "${EDL_REPLICATED_TRIES:-10}" --json >"$work/figures" &
pids=$!
wait "$pids" || fail 'something does not hold'
cat "$work/figures"
