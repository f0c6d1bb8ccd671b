#!/usr/bin/env bash
# `edl replay`: the history of a real cluster as a trace beside what happened: the jobs are those that were, and the policy that ran
# comes near what was recorded; from the server and from saved files; and what is refused.
# Takes 13 s: jobs of 3 and 4 s run: the history that is replayed
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 1000m --max-load 0.97

job() { # NAME MIN MAX COMMAND...
    local name=$1 min=$2 max=$3
    shift 3
    jq -n --arg name "$name" --argjson min "$min" --argjson max "$max" '$ARGS.positional as $command |
        {metadata: {name: $name}, spec: {fault_tolerant: true, mode: "collective", trainer: {"min-instance": $min, "max-instance": $max,
        resources: {requests: {cpu: "100m"}}, command: $command}}}' --args "$@" >"$work/$name.json"
    edl submit "$work/$name.json" >/dev/null
}
status_of() { # EXPECTED COMMAND...: output in $work/out
    local expected=$1 status=0
    shift
    "$@" >"$work/out" 2>&1 || status=$?
    [ $status = "$expected" ] || fail "$*: exit status $status instead of $expected: $(cat "$work/out")"
}
says() { grep -q -e "$1" "$work/out" || fail "no \"$1\" in: $(cat "$work/out")"; }

status_of 2 edl replay
says 'no job of the record can be replayed'

printf '#!/bin/sh\nuntil [ -e "%s/enough" ]; do sleep 0.1; done\n' "$work" >"$work/lasts"
chmod +x "$work/lasts"
job grows 2 6 "$work/lasts"
await 120 'the elastic job has its maximum' at_least grows trainer 6
job fixed-1 4 4 sleep 4 # the first one shrinks
edl submit --name rigid --min 1 --cpu 100m -- sleep 3 >/dev/null
job endless 1 1 sleep 1000
for name in fixed-1 rigid; do edl wait $name --timeout 120 >/dev/null || fail "$name: $(job_field $name .reason)"; done
await 120 'the first one has grown again' at_least grows trainer 6
touch "$work/enough"
edl wait grows --timeout 120 >/dev/null || fail "grows: $(job_field grows .reason)"
await 120 'the last one runs' at_least endless trainer 1
edl kill endless >/dev/null
edl wait endless --timeout 120 >/dev/null || true
job goes-on 1 1 sleep 1000
await 120 'one goes on' at_least goes-on trainer 1
job never 60 60 sleep 1

edl replay --json >"$work/replay.json"
holds '.record | .jobs == 5 and .killed == 1 and .failed == 0 and .cut == 1 and .left_out_never_ran == 1 and .left_out_unseen == 0 and
    .policy == "goodput" and .max_load == 0.97 and .bounds_guessed == 0 and .speeds_assumed == 5 and .peak_instances >= 6 and .start_p50_s > 0' \
    <"$work/replay.json" || fail "the record: $(jq -c .record "$work/replay.json")"
holds '.nodes == 1 and .places_per_node == 10 and (.levels[0].policies | map(.policy) | .[0] == "recorded" and index("afs-l") and index("fifo"))' \
    <"$work/replay.json" || fail "places or policies: $(head -c 2000 "$work/replay.json")"
# what was recorded is what the list of jobs says
holds --argjson jobs "$(api GET '/jobs?state=all')" '
    ([$jobs.jobs[] | select(.ended_us > 0) | (.ended_us - .submitted_us) / 1e6] | add) as $ended |
    ((.record.end_us - ($jobs.jobs[] | select(.name == "goes-on") | .submitted_us)) / 1e6) as $cut |
    .levels[0].policies[0].mean.completion_avg_s as $recorded | ($ended + $cut) / 5 - $recorded | fabs < 0.01' <"$work/replay.json" ||
    fail 'the recorded completion is not that of the jobs'
# the policy that ran, in the laboratory, is near what it did
holds '.levels[0].policies | (.[] | select(.policy == "goodput-live").mean) as $f | .[0].mean as $r | ($f.completion_avg_s / $r.completion_avg_s) as $c |
    ($f.makespan_s / $r.makespan_s) as $m | $c > 0.6 and $c < 1.5 and $m > 0.6 and $m < 1.5' <"$work/replay.json" ||
    fail "goodput-live and the record: $(jq -c '.levels[0].policies[] | select(.policy == "goodput-live" or .policy == "recorded") | .mean' "$work/replay.json")"

# the trace has these jobs, with their bounds and their work
edl replay --export "$work/trace.json"
holds '.jobs | length == 5 and (map(.job) == ["grows", "fixed-1", "rigid", "endless", "goes-on"]) and
    (map([.min, .max]) == [[2, 6], [4, 4], [1, 1], [1, 1], [1, 1]]) and .[1].family == "fixed" and .[0].speed == "power:1" and
    all(.user != "")' <"$work/trace.json" || fail "the trace: $(cat "$work/trace.json")"
# its work is the time that its processes ran, those that were stopped as well
[ "$(api GET '/jobs/grows/processes?state=all' | jq '.processes | length')" -gt 6 ] || fail "nothing was stopped: $(edl show grows)"
for i in 0 1; do
    of=$(jq -r ".jobs[$i].job" "$work/trace.json")
    holds --argjson all "$(api GET "/jobs/$of/processes?state=all")" --argjson i $i '([$all.processes[] | (.ended_us - .started_us) / 1e6] | add) as $ran |
        .jobs[$i].work_steps / $ran - 1 | fabs < 0.15' <"$work/trace.json" ||
        fail "the work of $of: $(jq ".jobs[$i].work_steps" "$work/trace.json"), $(api GET "/jobs/$of/processes?state=all")"
done
status_of 0 edl simulate --trace "$work/trace.json" --nodes 1x10 --policy fulfilment

# people are told what was left out and what was assumed
status_of 0 edl replay --policy fulfilment,afs-l --against fulfilment
says '^record of 5 jobs, '
says '^  1 have no end: cut at the end of the record'
says '^  1 were killed'
says '^  5 never showed how fast they are with other sizes: taken to be linear'
says '^  1 left out: nothing of them ever ran'
says '^recorded - fulfilment '
status_of 0 edl replay --policy fifo --nodes 3x7 --since 1h --restart 0s
says '3 nodes with 7 places, restart 0 s'

# saved earlier: the same, without a server
edl kill goes-on never >/dev/null
edl wait goes-on --timeout 120 >/dev/null || true
edl wait never --timeout 120 >/dev/null || true
edl events --json >"$work/events"
edl ps --all --json >"$work/jobs"
edl replay --export "$work/trace.json"
offline() { env -u EDL_SERVER -u EDL_TOKEN_FILE HOME="$work" edl "$@"; }
offline replay --events "$work/events" --jobs "$work/jobs" --export "$work/saved.json"
[ "$(jq -S . "$work/trace.json")" = "$(jq -S . "$work/saved.json")" ] || fail "saved files are another trace: $(diff "$work/trace.json" "$work/saved.json")"
status_of 0 offline replay --events "$work/events" --nodes 1x10 --policy fulfilment
says '^  5 are in no list of jobs: bounds are the sizes that were seen'
first=$(jq -n 'first(inputs | select(.event == "job-queued" and .job_id == 2)) | .revision' "$work/events")
jq -c --argjson first "$first" 'select(.revision >= $first)' "$work/events" >"$work/late"
status_of 0 offline replay --events "$work/late" --nodes 1x10 --policy fulfilment
says '^  1 left out: the record begins after their submission'

# each way of being wrong is told with a remedy
status_of 2 edl replay --since yesterday
says '"yesterday" is no time'
says '24h before the end'
status_of 2 edl replay --since 2900-01-01T00:00:00Z
says 'an earlier --since'
status_of 2 edl replay --policy best
says 'no policy for traces is called "best"'
! grep -q '^record of' "$work/out" || fail 'tables although it was refused'
status_of 2 edl replay --against sia --policy fifo
says 'not among the policies'
status_of 2 edl replay --nodes 4y4
says 'NODESxINSTANCES'
status_of 2 edl replay --nodes 1x2
says 'fixed-1 needs 4 instances, the cluster has 2'
status_of 2 edl replay --restart soon
says '"soon" is no time'
status_of 2 edl replay --level learnt
says 'fixed, fixed-history, fixed-no-lengths'
status_of 2 edl replay --jobs "$work/jobs"
says '--jobs FILE goes with --events FILE'
status_of 2 offline replay --events "$work/events"
says '--nodes NODESxINSTANCES'
status_of 1 offline replay --events "$work/nowhere" --nodes 1x10
says 'nowhere: No such file'
{ head -n 2 "$work/events"; echo '{"revision": 3, "time_us": 1, "event": 5}'; } >"$work/bad"
status_of 2 offline replay --events "$work/bad" --nodes 1x10
says 'bad line 3: no event: event is missing'
{ head -n 2 "$work/events"; head -n 1 "$work/events"; } >"$work/bad"
status_of 2 offline replay --events "$work/bad" --nodes 1x10
says 'bad line 3: its revision does not rise'
echo 'job 1' >"$work/bad"
status_of 2 offline replay --events "$work/bad" --nodes 1x10
says 'bad line 1: '
says 'edl events --json'
status_of 2 offline replay --events "$work/events" --jobs "$work/bad" --nodes 1x10
says 'edl ps --all --json'
cluster_stop
