#!/usr/bin/env bash
# edl search: trials as jobs, each value in its command; a search that is killed again and again, and two of one search at once, try what
# an undisturbed one tries; a failing program ends it, as does one that tells no metric; other jobs get room; what is typed wrongly is told.
# Takes 25 s: five searches, whose every trial is a job
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/search.sh"
cluster_start --nodes 2 --cpu 2000m
cd "$work"
kills=6 n=14
trials $n >space.yaml

# there is none yet
refused() { # TEXT COMMAND...
    local text=$1
    shift
    ! timeout 300 "$@" >refused 2>&1 || fail "not refused: $*"
    grep -q -e "$text" refused && grep -q '^try: ' refused || fail "$*: $(cat refused)"
}
for verb in show resume stop best 'show nobody'; do
    # shellcheck disable=SC2086 # why: some are two words
    refused 'you have no search' edl search $verb
    grep -q '^try: begin one: edl search run SPACE.yaml' refused || fail "$verb: $(cat refused)"
done

# undisturbed
gate 1000000
search_run calm space.yaml >run 2>&1 || fail "it failed: $(cat run)"
grep -q '^best: trial [0-9]*, score ' run || fail "it does not tell the best: $(cat run)"
[ "$(jobs_of calm)" = $n ] || fail "there are $(jobs_of calm) jobs"
tried calm >calm.json
holds 'length == 14 and all(.[]; .state == "done" and .result != null)' <calm.json || fail "not all trials are done: $(cat calm.json)"
edl search show calm >table
edl search show | cmp - table || fail 'the only one is not shown without its name'
[ "$(sed -n '2p' table | awk '{print $1}')" = "$(edl search show calm --json | jq .best)" ] || fail "the best is not the first: $(cat table)"
edl search show calm --csv | head -n 1 | grep -qx 'trial,state,score,x,kind,rung,core_seconds,job,error' || fail "$(edl search show calm --csv)"
edl search show calm --svg picture.svg
[ "$(grep -c '<polyline' picture.svg)" = $n ] || fail "the picture has not each trial: $(cat picture.svg)"
python3 -c 'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' picture.svg || fail 'the picture is no SVG'
edl search best calm | grep -q "^command: python3 -S -E $work/trial.py $work 'x=0\.[0-9]*' 'kind=b'$" || fail "$(edl search best calm)"
edl search list | grep -q '^calm  *14  *0  *evolution  *score ' || fail "$(edl search list)"
edl search resume calm >run 2>&1 || fail "one that is over cannot be resumed: $(cat run)"
[ "$(jobs_of calm)" = $n ] || fail 'a search that is over submits'

# killed, and two at once
search_with_kills again space.yaml $kills $n
tried again | cmp - calm.json || fail "it tried something else: $(tried again)"
[ "$(jobs_of again)" = $n ] || fail "a trial was submitted twice: $(jobs_of again) jobs"
gate 0
search_run twice space.yaml >run 2>&1 &
first=$!
await 120 'a trial is there' while_runs $first has_jobs twice 1
edl search resume twice >second 2>&1 &
second=$!
await 120 'the second one is there' while_runs $second grep -q 'goes on' second
gate 1000000
wait $first || fail "the first one: $(cat run)"
wait $second || fail "the second one: $(cat second)"
tried twice | cmp - calm.json || fail "two tried something else: $(tried twice)"
[ "$(jobs_of twice)" = $n ] || fail "two submitted a trial twice: $(jobs_of twice) jobs"

# Ctrl-C ends it, and no trial
gate 0
search_run paused space.yaml >run 2>&1 &
first=$!
await 120 'trials are there' while_runs $first has_jobs paused 2
kill -INT $first
status=0
wait $first || status=$?
[ $status = 130 ] && grep -q 'edl search resume paused' run || fail "Ctrl-C: $status, $(cat run)"
edl search show paused --json | holds 'all(.trials[]; .state | IN("runs", "waits"))' || fail "a trial was ended: $(edl search show paused)"
edl search stop paused >stopped

# what others write into EDL_TRIAL harms nobody
deep=$(printf '%.0s[' {1..2000})
for told in "$deep" '{}' '{"search": "calm", "trial": 1, "parameters": {"x": [1]}}' '{"search": "calm", "trial": 1, "parameters": {}, "more": {"a": 1}}'; do
    edl submit --name odd --no-upload --memory 64Mi --cpu 100m --env EDL_TRIAL="$told" -- true >/dev/null
    api GET '/jobs/odd' | holds '.trial == null' || fail "it is shown: $told"
    edl wait odd --timeout 300 >/dev/null
done
edl submit --name calm-1 --no-upload --memory 64Mi --cpu 100m --env EDL_TRIAL='{"search": "calm", "trial": 99999999, "parameters": {}}' -- true >/dev/null
edl wait calm-1 --timeout 300 >/dev/null
tried calm | cmp - calm.json || fail "a foreign job is of the search: $(tried calm)"

edl submit --name foreign-1 --no-upload --memory 64Mi --cpu 100m --env EDL_TRIAL='{"search": "foreign", "trial": 1, "parameters": {}}' -- true >/dev/null
edl search list 2>listed | grep -q '^calm ' && grep -q 'EDL_SEARCH' listed || fail "one that cannot be read hides the others: $(cat listed)"

# stopped, and gone on with: what was stopped begins again, and nothing counts as failed
gate 0
search_run halt space.yaml >run 2>&1 &
first=$!
await 120 'trials are there' while_runs $first has_jobs halt 3
edl search stop halt >stopped || fail "it cannot be stopped: $(cat stopped)"
! wait $first || fail 'the search went on'
grep -q 'search halt was stopped' run || fail "it does not say who stopped it: $(cat run)"
edl search show halt --json | holds 'all(.trials[]; .state == "stopped")' || fail "$(edl search show halt)"
gate 6
edl search resume halt >run 2>&1 &
first=$!
await 120 'it goes on' while_runs $first has_jobs halt 10
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1) # edl dev starts another one
kill -9 "$scheduler"
gate 1000000
wait $first || fail "it does not go on: $(cat run)"
tried halt | cmp - calm.json || fail "it tried something else: $(tried halt)"

# other jobs get room: each trial has four instances where there is room, and one where there is none
gate 0
search_run wide space.yaml --cpu 200m --min 1 --max 4 >run 2>&1 &
first=$!
instances() { [ "$(api GET '/jobs?name=wide-' | jq '[.jobs[].roles[0].running] | add // 0')" -ge 8 ]; }
await 120 'the trials fill the cluster' while_runs $first instances
edl submit --name other --no-upload --memory 64Mi --cpu 200m --min 2 -- true >/dev/null
edl wait other --timeout 300 >/dev/null || fail "the other job: $(edl why other)"
! edl search show wide --json | holds 'any(.trials[]; .state == "failed")' || fail "$(edl search show wide)"
edl search stop wide >/dev/null
! wait $first || fail 'the search went on'
gate 1000000

# a program that fails ends the search, with its traceback
sed 's/^seed.*/failures: 3/' space.yaml >short.yaml
! edl search run short.yaml --name bad --no-upload --memory 64Mi --cpu 500m -- python3 -S -E -c 'raise ValueError("of {x} and {kind}")' >run 2>&1 || fail 'it failed and is well'
grep -q 'ValueError: of ' run && grep -q 'Traceback' run && grep -q '^edl: search bad ends: ' run || fail "it does not tell why: $(cat run)"
[ "$(jobs_of bad)" -le 8 ] || fail "it went on for long: $(jobs_of bad) jobs"
edl search show bad | grep -q failed || fail "$(edl search show bad)"

# one that tells no metric
sed 's/"score": score/"scores": score/' trial.py >mute.py
! edl search run space.yaml --name silent --no-upload --memory 64Mi --cpu 500m -- python3 -S -E "$work/mute.py" "$work" x={x} kind={kind} >run 2>&1 || fail 'it told nothing and is well'
grep -q 'told no "score"; it told \(epoch, scores\|scores, epoch\)$' run && grep -q 'edl.progress({"score"' run || fail "it does not tell what was told: $(cat run)"

# what is typed wrongly
refused 'there is a search calm, with 14 jobs' edl search run space.yaml --name calm -- true '{x}' '{kind}'
refused 'which is no parameter' edl search run space.yaml -- true '{y}'
refused 'you have no search nobody' edl search show nobody
refused 'you have several searches' edl search stop
refused 'no absolute path' edl search run space.yaml --checkpoint here -- true '{x}'
refused 'the command is missing' edl search run space.yaml
refused 'does not know "go"' edl search go calm
cluster_stop
