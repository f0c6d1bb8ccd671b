#!/usr/bin/env bash
# A machine of two cores, of which each of four nodes offers a half: the first command that a reader types runs there, though it
# asks for a whole core by default.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 4 --cpu 2000m --default-cpu 1
timeout 120 edl submit --follow --name first -- sh -c 'echo it ran' >"$work/said" 2>"$work/told" || fail "$(cat "$work/said" "$work/told")"
grep -q 'it ran$' "$work/said" || fail "it said: $(cat "$work/said")"
grep -q 'asks for cpu 0.5 memory' "$work/told" || fail "told was: $(cat "$work/told")"

# nobody knows how much the processes of a job use that does not say: two go to two idle nodes, and others together
nodes_of() { api GET "/jobs/$1/processes" | jq "[.processes[].node] | unique | length"; }
edl kill first >/dev/null 2>&1 || true
for job in silent says; do
    words=()
    [ $job = silent ] || words=(--cpu 100m)
    edl submit --name $job --min 2 "${words[@]}" -- sleep 1000 >/dev/null
    await 120 "$job runs" at_least $job trainer 2
    [ "$(nodes_of $job)" = "$([ $job = silent ] && echo 2 || echo 1)" ] || fail "$job: $(edl ps)"
    edl kill $job >/dev/null
    await 120 "$job is killed" job_is $job killed
done
cluster_stop
