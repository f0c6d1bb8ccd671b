#!/usr/bin/env bash
# `edl simulate --trace` and `--generate`: tables, JSON, pictures, export, and what is refused. No cluster is started.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}"
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

# the same seed is the same result; the decisions' times are the only figures that may differ
figures() { jq 'del(.. | .decision_p50_s?, .decision_p99_s?, .decision_max_s?)' "$1"; }
edl simulate --generate poisson --jobs 60 --seed 3 --nodes 4x4 --json >"$work/one.json"
edl simulate --generate poisson --jobs 60 --seed 3 --nodes 4x4 --json >"$work/two.json"
[ "$(figures "$work/one.json")" = "$(figures "$work/two.json")" ] || fail 'seed 3 has two results'
edl simulate --generate poisson --jobs 60 --seed 4 --nodes 4x4 --json >"$work/two.json"
differs "$(figures "$work/one.json")" "$(figures "$work/two.json")" || fail 'seeds 3 and 4 have one result'
holds '.levels[0].policies | map(.policy) | index("afs-l") and index("fifo") and length >= 7' <"$work/one.json" ||
    fail "policies: $(cat "$work/one.json")"
# nobody beats the bounds
holds '.levels[0] | .traces[0].bounds as $b | .policies | all(.[].traces[0];
    .completion_avg_s >= $b.completion_alone_avg_s and .completion_avg_s >= $b.completion_srpt_avg_s and
    .makespan_s >= $b.makespan_s and .allocated <= 1 and .effective <= .allocated)' <"$work/one.json" ||
    fail "bounds: $(cat "$work/one.json")"

# what was exported is the same trace, in both forms
for form in csv json; do
    edl simulate --generate poisson --jobs 60 --seed 3 --export "$work/trace.$form"
    edl simulate --trace "$work/trace.$form" --nodes 4x4 --json >"$work/two.json"
    [ "$(figures "$work/one.json" | jq '.levels[].policies[].traces')" = "$(figures "$work/two.json" | jq '.levels[].policies[].traces')" ] ||
        fail "$form is another trace"
done

# several traces, differences, a picture
status_of 0 edl simulate --generate diurnal --jobs 40 --rounds 3 --nodes 2x4 --policy fulfilment,afs-l --against afs-l --plot "$work/plot.svg"
says '^level fixed: fixed batch, speeds true, lengths known'
says '^diurnal-3 '
says '^fulfilment - afs-l '
[ "$(grep -c '<polyline' "$work/plot.svg")" = 2 ] || fail 'the picture has not two curves'
"$python" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/plot.svg" || fail 'the picture is no XML'
status_of 0 edl simulate --trace "$work/trace.csv" "$work/trace.json" --nodes 4x4 --policy sia,srtf --level fixed-no-lengths
says 'srtf uses what the level fixed-no-lengths does not offer: left out'
! grep -q '^srtf ' "$work/out" || fail 'srtf ran without lengths'

# a policy that leaves what was measured has no row, and the others have theirs: one instance on each of two nodes is unknown
mkdir -p "$work/apps/x"
for batch in 8 32; do
    printf 'progress,iteration,metric,grad_sqr,grad_var\n100,100,0,1,0\n' >"$work/apps/x/validation-$batch.csv"
done
{ echo placement,local_bsz,step_time,sync_time; printf '%s,1,0\n' {1,2}',4' {1,2}',8' {1,2}',16'; } >"$work/apps/x/placements.csv"
printf 'num_nodes,num_replicas,local_bsz,step_time,sync_time\n4,8,4,3,1\n4,8,16,5,1\n' >"$work/apps/x/scalability.csv"
printf 'job,submit_s,model,speed,batch,instances,max\na,0,x,pollux:%s,8,1,1\nb,0,x,pollux:%s,8,1,1\nc,50,x,pollux:%s,32,2,2\n' \
    "$work"/apps{,,} >"$work/apart.csv"
status_of 2 edl simulate --trace "$work/apart.csv" --nodes 2x2 --policy tiresias,afs-l
says '^afs-l '
! grep -q '^tiresias  ' "$work/out" || fail 'tiresias has a row'
says 'tiresias has no row at level fixed'
says 'tiresias, job c of apart.csv: .*/x: nothing was measured around 2 instances on 2 nodes (11) with a batch of 16 each'
says '^try: .*--policy without tiresias'
edl simulate --trace "$work/apart.csv" --nodes 2x2 --policy tiresias,afs-l --json >"$work/two.json" 2>"$work/out" && fail 'tiresias did not fail'
holds '.levels[0] | (.policies | map(.policy) == ["afs-l"]) and (.failed[0] | .policy == "tiresias" and (.error | test("job c")))' \
    <"$work/two.json" || fail "failed: $(cat "$work/two.json")"
status_of 2 edl simulate --trace "$work/apart.csv" --nodes 2x2 --policy tiresias
says '^edl: tiresias, job c of apart.csv'
# what was not measured on full nodes nobody can choose, and who asked for it is counted
sed 's/,32,2,2$/,32,5,8/' "$work/apart.csv" >"$work/many.csv"
status_of 0 edl simulate --trace "$work/many.csv" --nodes 1x8
says 'many.csv: jobs that ask for more than was measured on nodes with 8 places: 1 of 3'
! grep -q 'has no row' "$work/out" || fail "a policy has no row: $(cat "$work/out")"

# each way of being wrong is told with a remedy
printf 'submit_s,speed\n1,fast\n' >"$work/bad.csv"
status_of 2 edl simulate --trace "$work/bad.csv"
says 'bad.csv line 2, speed: "fast" is no speed'
says 'power:P'
printf 'submit_s,speed,submit_s\n1,power:1,2\n' >"$work/bad.csv"
status_of 2 edl simulate --trace "$work/bad.csv"
says 'bad.csv line 1: columns 1 and 3 are both called "submit_s"'
status_of 2 edl simulate --trace "$work/trace.csv" --nodes 4y4
says 'NODESxINSTANCES'
status_of 2 edl simulate --trace "$work/trace.csv" --policy best
says 'no policy for traces is called "best"'
status_of 2 edl simulate --trace "$work/trace.csv" --against afs-l --policy sia
says 'not among the policies'
status_of 2 edl simulate --trace "$work/trace.csv" --policy srtf --level fixed,adaptive-no-lengths --plot "$work/none.svg"
says 'no policy that was named can run at level adaptive-no-lengths'
status_of 2 edl simulate --trace "$work/trace.csv" --restart soon
says '"soon" is no time'
status_of 2 edl simulate --trace "$work/trace.csv" --faults mixed
says 'does not go with --trace'
status_of 2 edl simulate --faults none --seeds 1 --restart 5s
says 'goes with --trace FILE or --generate KIND'
status_of 2 edl simulate --generate poisson --jobs 5 --trace "$work/trace.csv"
says 'not both'
status_of 2 edl simulate --trace "$work/trace.csv" --import other=/x
says 'pollux=DIR'
