#!/usr/bin/env bash
# Two schedulers on PostgreSQL, while the leader is killed, and while no commit returns: no acknowledged submission is lost, no slot runs
# twice, no process ends, reports get their leases. First whether the checker sees what it is there for. 403-replicated-often.sh has the
# other faults.
# Takes 20 s: two databases and five daemons start, and what is killed and frozen comes back
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
"$python" "$EDL_SOURCE_DIR/tests/lib/two_checker_test.py"
timeout 600 "$python" "$EDL_SOURCE_DIR/tests/lib/two_schedulers.py" "$EDL_BUILD_DIR" "$work/two" --faults kill-leader,freeze-copy --json >"$work/figures" &
pids=$!
wait "$pids" || fail 'something does not hold'
cat "$work/figures"
