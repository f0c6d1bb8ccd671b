#!/usr/bin/env bash
# Runs at night: minutes of power cuts, and only where root may mount
# Power is cut under two schedulers: the disk of the database, of its copy, or of both at one moment with both schedulers killed, loses all
# that was not synced. No acknowledged submission is lost, and no slot runs twice. EDL_REPLICATED_TRIES of each.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "${EDL_TEST_NAMESPACE:-}" != yes ]; then
    if [ "$(id -u)" != 0 ] || ! unshare -nm ip link set lo up 2>/dev/null; then
        echo "no power can be cut here: root has to mount file systems (unshare -nm, ip)"
        exit 77
    fi
    EDL_TEST_NAMESPACE=yes exec unshare -nm "$BASH" "$0" "$@"
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
status=0
timeout 7200 "$python" "$EDL_SOURCE_DIR/tests/lib/two_schedulers.py" "$EDL_BUILD_DIR" "$work/two" --faults power-database,power-copy,power-all \
    --tries "${EDL_REPLICATED_TRIES:-10}" --json >"$work/figures" &
pids=$!
wait "$pids" || status=$?
[ $status != 77 ] || { cat "$work/figures"; exit 77; }
[ $status = 0 ] || fail 'something does not hold'
cat "$work/figures"
