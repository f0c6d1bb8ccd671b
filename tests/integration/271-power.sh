#!/usr/bin/env bash
# The power goes at every call that changes a file: a first start, tokens, an archive, a join, a backup, a restore, a corpus.
# Whatever was answered before is there afterwards, and every program starts again. Names count from when their folder was synced.
# Of many calls a quarter is taken; EDL_POWER_STRIDE=1 takes all.
# Takes 21 s: hundreds of programs start again after a loss of power
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
timeout 1500 "$python" "$EDL_SOURCE_DIR/tests/lib/power_cuts.py" "$work" &
pids=$!
wait "$pids" || fail 'something was lost'
