#!/usr/bin/env bash
# Two schedulers on PostgreSQL, while the leader and the database are killed and stopped: no acknowledged submission is lost, no slot runs
# twice, no process ends. First whether the checker sees what it is there for.
# Takes 15 s: what is killed and stopped has to come back
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
"$python" "$EDL_SOURCE_DIR/tests/lib/two_checker_test.py"
timeout 600 "$python" "$EDL_SOURCE_DIR/tests/lib/two_schedulers.py" "$EDL_BUILD_DIR" "$work/two" --engine sqlite --faults kill-leader,stop-leader --json >"$work/figures" &
pids=$!
wait "$pids" || fail 'something does not hold'
cat "$work/figures"
