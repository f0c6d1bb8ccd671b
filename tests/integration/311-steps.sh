#!/usr/bin/env bash
# A job of Python processes that train together and have no task queue tells of its steps: in the API, in `edl show` and `edl ps`, in the
# figures; a restart of the scheduler or of an agent loses no more than it must. What a program makes up is refused where it says it.
# Takes 21 s: waits for what two processes tell with their reports, over restarts
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 2000m
jq -n --arg python "$python" --arg file "$EDL_SOURCE_DIR/examples/steps.py" --arg path "$EDL_SOURCE_DIR/python" '{name: "fits", mode: "collective",
    fault_tolerant: true, env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"},
    roles: [{role: "trainer", min: 2, max: 2, cpu: "200m", command: [$python, $file, "1000000000"]}]}' | edl submit - >/dev/null
shown() { edl show fits --json 2>/dev/null | holds "$1"; }
told='([.processes[] | select(.steps.step > 0 and .steps.samples_per_s > 0 and .steps.compute_us > 0)] | length) == 2'
await 120 'both tell' while_job fits shown "$told"
# the waits of the two make a step of all as long; samples are those of the steps
await 120 'somebody waits' while_job fits shown '[.processes[].steps.wait_us] | add > 0'
await 120 'they are the sums of what was done' while_job fits shown '.job.steps.samples == .job.steps.steps * 256 and .job.steps.steps >= .job.steps.step and
    .job.steps.samples_per_s > 0 and .job.dataset == false'
edl show fits >"$work/shown"
grep -q '^steps      step [0-9]*, .* samples/s, computes [0-9]* %, waits [0-9]* %$' "$work/shown" || fail "edl show: $(cat "$work/shown")"
grep -Eq '^  trainer-1  step [0-9]+, .* samples/s, computes [0-9]+ %, waits [0-9]+ %' "$work/shown" || fail "edl show: $(cat "$work/shown")"
edl ps | grep -q 'fits .*step [0-9]* [0-9.e+k]*/s' || fail "edl ps: $(edl ps)"
figure() { api GET /metrics | awk -v name="$1" '$1 == name { print int($2) }'; }
[ "$(figure edl_steps_total)" -gt 0 ] && [ "$(figure edl_step_samples_total)" -ge 256 ] || fail "$(api GET /metrics | grep edl_step)"
api GET /metrics | grep -q '^edl_step_seconds_total{part="compute"} [0-9.]*[1-9]' || fail "$(api GET /metrics | grep edl_step)"
step() { edl show fits --json | jq '.job.steps.step // 0'; }

# an agent that is killed begins its sums anew, those who train notice nothing, and what was known stays
before=$(edl show fits --json | jq '.job.steps.samples')
kill -9 "$(pgrep -f -- "edl-agent .*$work" | head -n 1)"
at=$(step)
goes_on() { [ "$(step)" -gt $((at + 200)) ] && shown "$told and .job.steps.samples > $before"; }
await 120 'they go on and tell' while_job fits goes_on
# the same of the scheduler, which reads it from the next reports
kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
at=$((at + 200))
await 120 'they go on and tell' while_job fits goes_on
[ "$(api GET '/jobs/fits/processes?state=all' | jq '[.processes[] | select(.incarnation > 2)] | length')" = 0 ] || fail 'a process was disturbed'
edl kill fits >/dev/null
edl wait fits --timeout 120 || true

# who makes numbers up is told, and harms nobody: the largest that can be said is shown as it is
cat >"$work/lies.sh" <<'END'
tell() { curl -sS -o /dev/null -w '%{http_code} ' --unix-socket "$EDL_SOCKET" --data-binary "$1" http://agent/processes/self/steps; }
tell '{"steps": -1}'
tell '{"steps": 1.5}'
tell '{"samples": 9007199254740992}'
tell '{"compute_us": 1e300}'
tell '[1]'
tell '{"step": NaN}'
for i in 1 2 3; do tell '{"step": 9007199254740991, "steps": 9007199254740991, "samples": 9007199254740991, "compute_us": 9007199254740991}'; done
[ "$#" = 0 ] || read -r <"$1" # the calls before and those after it are not in one report
tell '{"steps": 1, "from": "tomorrow"}'
echo told
exec sleep 1000
END
# the step is the last one told, whether a report came between the calls or one report has them all
mkfifo "$work/gate"
edl submit --name lies --cpu 100m -- bash "$work/lies.sh" "$work/gate" >/dev/null
edl submit --name at-once --cpu 100m -- bash "$work/lies.sh" >/dev/null
lied() { edl show "$1" --json 2>/dev/null | holds --argjson step "$2" '.job.steps | .samples == 9007199254740991 and .step == $step and .samples_per_s >= 0'; }
await 120 'sums end at the largest number, which is shown' while_job lies lied lies 9007199254740991
echo >"$work/gate"
says() { edl logs "$1" | grep -q '400 400 400 400 400 400 204 204 204 204 told$'; }
for job in lies at-once; do
    await 120 "each call of $job has its answer" says $job
    await 120 "the step of $job is the last one told" lied $job 0
    await 120 'the cluster goes on' job_is $job running
done
cluster_stop
