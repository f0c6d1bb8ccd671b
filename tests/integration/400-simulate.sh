#!/usr/bin/env bash
# `edl simulate`: seeds, scenarios and experiments, what is printed and what it exits with. No cluster is started.
# Takes 10 s: calls edl simulate some forty times
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status_of() { # EXPECTED COMMAND...: output in $work/out
    local expected=$1 status=0
    shift
    "$@" >"$work/out" 2>&1 || status=$?
    [ $status = "$expected" ] || fail "$*: exit status $status instead of $expected: $(cat "$work/out")"
}
says() { grep -q -e "$1" "$work/out" || fail "no \"$1\" in: $(cat "$work/out")"; }

# seeds: the same seed is the same history
status_of 0 edl simulate --faults mixed --seeds 3 --first-seed 5
says '^mixed: 3 seeds, .* 0 violations$'
edl simulate --faults mixed --seed 7 --history | grep -v '^mixed:' >"$work/one"
edl simulate --faults mixed --seed 7 --history | grep -v '^mixed:' >"$work/two"
[ -s "$work/one" ] || fail 'the trace is empty'
grep -q ' plan: run .* on ' "$work/one" || fail 'the trace has no act of a plan'
cmp -s "$work/one" "$work/two" || fail 'seed 7 has two histories'
edl simulate --faults mixed --seed 8 --history | grep -v '^mixed:' >"$work/two"
! cmp -s "$work/one" "$work/two" || fail 'seeds 7 and 8 have one history'

# some entries of its schedule only; all of them are the seed
status_of 2 edl simulate --seed 7 --only 1000000
says 'there is no entry 1000000'
n=$(sed -n 's/.*the schedule has \([0-9]*\)$/\1/p' "$work/out")
edl simulate --faults mixed --seed 7 --only "$(seq -s, 1 "$n")" --history | grep -v '^mixed:' >"$work/two"
cmp -s "$work/one" "$work/two" || fail 'every entry of seed 7 is another history'
edl simulate --faults mixed --seed 7 --only 1,2,3 --history | grep -v '^mixed:' >"$work/two"
[ "$(wc -l <"$work/two")" -lt "$(wc -l <"$work/one")" ] || fail 'three entries of seed 7 are as long as all of it'
status_of 0 edl simulate --faults mixed --seed 7 --only none
says ' 0 starts,'
edl simulate --faults none --seeds 2 --json >"$work/json"
holds '.seeds == 2 and .violations == 0 and .node_hours > 0 and .events > 0' <"$work/json" ||
    fail "json: $(cat "$work/json")"

# a night ends well at a signal
mkfifo "$work/night"
edl simulate --night >"$work/out" 2>"$work/night" &
night=$!
exec 3<"$work/night"
read -r -t 120 line <&3 || fail 'the night does not say that it began'
[ "$line" = 'mixed faults from seed 1 on; SIGINT or SIGTERM ends the night' ] || fail "the night began with: $line"
kill -TERM $night
wait $night || fail "the night ended with $?: $(cat "$work/out")"
says ' 0 violations$'

# whatever ends it tells the seed; a run that is stopped early tells its sums and is no success
edl simulate --faults none --seeds 1000000000 >"$work/out" 2>&1 &
run=$!
awaits_term() { # SIGTERM is signal 15
    local caught
    caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$run/status") && [ $((0x${caught:-0} >> 14 & 1)) = 1 ]
}
await 120 'it takes a signal' while_runs $run awaits_term
kill -TERM $run
status=0
wait $run || status=$?
[ $status = 1 ] || fail "a run that was stopped early ended with $status: $(cat "$work/out")"
says ' 0 violations$'
exec 3<&-
edl simulate --night >"$work/out" 2>"$work/night" &
night=$!
exec 3<"$work/night"
read -r -t 120 line <&3 || fail 'the second night does not say that it began'
( ulimit -c 0; kill -SEGV $night )
cat <&3 >"$work/out"
status=0
wait $night || status=$?
[ $status = 139 ] || fail "a crash ended with $status"
says '^replay: edl simulate --faults mixed --seed [0-9]* --history$'

# a scenario: table, JSON, plot data; the seed decides
scenario=$EDL_SOURCE_DIR/conf/examples/simulate.yaml
status_of 0 edl simulate "$scenario" --every 30s --plot "$work/plot.tsv"
says '^train-2 .*succeeded'
says '^waiting  .*mean'
says '^cores of others back'
says 'RUNNING-TRAINERS'
[ "$(head -n 1 "$work/plot.tsv" | cut -f 1,12,15)" = "seconds	train-0	hostname" ] || fail "plot: $(head -n 1 "$work/plot.tsv")"
[ "$(awk -F '\t' '{ print NF }' "$work/plot.tsv" | sort -u)" = 15 ] || fail 'plot: columns'
edl simulate "$scenario" --json >"$work/one"
edl simulate "$scenario" --json >"$work/two"
cmp -s "$work/one" "$work/two" || fail 'the same seed gave two results'
holds '[.rounds[0].jobs[].state] == ["succeeded", "succeeded", "succeeded", "succeeded"]' <"$work/one" ||
    fail "states: $(cat "$work/one")"
edl simulate "$scenario" --json --rounds 2 | holds '[.rounds[].seed] == [1, 2]' || fail 'rounds'
edl simulate --experiment tutorial --json >"$work/json"
holds '[.figures[] | select(.met != null) | .met] | length == 2 and all' <"$work/json" ||
    fail "tutorial: $(jq -c .figures "$work/json")"

# what --show prints is a scenario, the same one
edl simulate --experiment tutorial --show >"$work/tutorial.yaml"
edl simulate "$work/tutorial.yaml" --json | jq -S .rounds >"$work/one"
jq -S .rounds "$work/json" >"$work/two"
cmp -s "$work/one" "$work/two" || fail 'the shown experiment is another one'

# parameter servers: the number that jobs of a family come to ends them much sooner than one server, and about as soon as
# that number from the first on
family() { # PSERVERS-MIN PSERVERS-MAX STEP
    cat <<END
nodes: [{count: 4, cpu: 8, memory: 64Gi}]
jobs:
- {every: 400s, copies: 12, work: {tasks: 8000, task: 100ms, step: $3}, job: {name: train, fault_tolerant: true,
   trainer: {entrypoint: train, min-instance: 1, max-instance: 16, resources: {requests: {cpu: 1}}},
   pserver: {min-instance: $1, max-instance: $2, resources: {requests: {cpu: 1}}}}}
END
}
completion() { # PSERVERS-MIN PSERVERS-MAX: of the last six jobs, by which the family is known
    family "$1" "$2" '[0.125, 0.418, 0.421, 0.0074, 0]' >"$work/family.yaml"
    edl simulate "$work/family.yaml" --json | jq '[.rounds[0].jobs[6:][] | .ended_s - .submitted_s] | add / length'
}
one=$(completion 1 1) best=$(completion 8 8) ours=$(completion 1 16)
jq -en "$ours < 0.75 * $one and $ours < 1.4 * $best" >/dev/null || fail "with one server $one s, with 8 $best s, as chosen $ours s"

# wrong input
family 1 1 '[1, 2, 3]' >"$work/bad.yaml"
status_of 2 edl simulate "$work/bad.yaml"
says 'five numbers'
family 1 1 '[1, 2, 3, 4, -1]' >"$work/bad.yaml"
status_of 2 edl simulate "$work/bad.yaml"
says 'each of step is a number from 0'
status_of 2 edl simulate
status_of 2 edl simulate --faults rain
says 'there are none, network'
status_of 2 edl simulate --experiment case9
says 'one of case1'
status_of 2 edl simulate "$scenario" --faults mixed
status_of 2 edl simulate --seed 3 --seeds 4
status_of 2 edl simulate --only 1,2
says '--only needs --seed'
status_of 2 edl simulate --seed 1 --only 1,,2
says 'numbers such as 3,7,12'
status_of 2 edl simulate "$scenario" --only 1
status_of 2 edl simulate --seed 9223372036854775808
says 'larger than 9223372036854775807'
status_of 2 edl simulate "$scenario" --seed 9223372036854775808
status_of 2 edl simulate "$scenario" --json --every 30s
says 'leave it or --json out'
status_of 2 edl simulate --faults none --server http://localhost:1
says 'asks no server'
status_of 2 edl corpus build --out "$work/corpus" --token-file /dev/null
says 'leave --token-file out'
for verb in simulate corpus dev; do
    edl help $verb >"$work/out"
    ! grep -e '--server' "$work/out" || fail "edl help $verb lists --server"
done
edl help ps | grep -q -e '--server' || fail 'edl help ps lists no --server'
status_of 2 edl simulate "$work/none.yaml"
printf 'nodes: [{cpu: 1, memroy: 1Gi}]\n' >"$work/bad.yaml"
status_of 2 edl simulate "$work/bad.yaml"
says '/nodes/0/memroy'
says 'did you mean "memory"'
exit 0
