#!/usr/bin/env bash
# A machine of two cores, of which each of four nodes offers a half: the first command that a reader types runs there, though it
# asks for a whole core by default.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 4 --cpu 2000m --default-cpu 1
timeout 120 edl submit --follow --name first -- sh -c 'echo it ran' >"$work/said" 2>"$work/told" || fail "$(cat "$work/said" "$work/told")"
grep -q 'it ran$' "$work/said" || fail "it said: $(cat "$work/said")"
grep -q 'asks for cpu 0.5 memory' "$work/told" || fail "told was: $(cat "$work/told")"
cluster_stop
