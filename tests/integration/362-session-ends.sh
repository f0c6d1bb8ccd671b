#!/usr/bin/env bash
# Nothing of a session is left when any party is killed: the person's end, edl-session (either of its two processes, and both), the
# agent, agent and session at once, the scheduler, the program of the process; and the job notices none but the last. What is left is looked for by what the
# session's program is called, in whatever session, group or daemon it went.
# Takes 40 s: eight ends, EDL_ROUNDS times (2), each with a grace of two seconds, and three with a new start of something
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
rounds=${EDL_ROUNDS:-2}
mark=17$((RANDOM % 9000 + 1000)) role=w$mark # of this test's programs: sleep MARK; of its groups: other tests run beside
cat >"$work/job.json" <<END
{"name": "j", "fault_tolerant": true, "restart": {"max": 1000, "backoff": "100ms"}, "roles": [{"role": "$role", "command": ["sleep", "100000"], "min": 1, "max": 1, "cpu": "200m", "memory": "96Mi"}]}
END
# anew in each round: a job whose program is killed again and again waits ever longer
begin_job() {
    edl submit "$work/job.json" >/dev/null
    await 120 'it runs' runs
}
runs() { [ "$(pids j $role | wc -w)" = 1 ]; }
begin_job
left() { pgrep -f "sleep $mark" || cluster_sessions | grep . || find /sys/fs/cgroup -path "*/edl-*.$role.*/session-*" 2>/dev/null | grep . || true; }
session() { timeout 300 "$python" "$EDL_SOURCE_DIR/tests/lib/session_driver.py" j "$@"; }
hold() {
    : >"$work/err"
    # a child, one in the background, one in a session of its own, a daemon: each is to be found
    session --hold --then ready --pty 24x80 -- bash -c "sleep $mark & setsid sleep $mark & (setsid nohup sleep $mark >/dev/null 2>&1 &); trap '' HUP TERM; while :; do sleep $mark; done" >"$work/out" 2>"$work/err" &
    holder=$!
    await 120 'the session is there' grep -q ready "$work/err"
    await 120 'all of it' eval '[ "$(pgrep -fc "^sleep $mark")" -ge 4 ]'
}
driver_of() { pgrep -P "$(pgrep -P "$1")"; }
both() { cluster_sessions; }
daemon() { pgrep -o -f -- "$1 .*$work"; }
nodes_ready() { api GET /nodes | holds '.nodes | all(.state == "ready")'; }
# the scheduler first answers, then has heard its node
works() { scheduler_answers && nodes_ready && runs && [ "$(session -- echo it-works 2>/dev/null)" = it-works ]; }

end_driver() { kill -9 "$(driver_of $holder)"; }
end_keeper() { kill -9 "$(both | head -n 1)"; }
end_session() { kill -9 "$(both | tail -n 1)"; }
end_both() { kill -9 $(both); }
end_agent() { kill -9 "$(daemon edl-agent)"; }
end_scheduler() { kill -9 "$(daemon edl-scheduler)"; }
end_all() { kill -9 "$(daemon edl-agent)" $(both); } # as a control group that is killed as a whole
end_program() { kill -9 "$(pids j $role)"; }

for ((round = 1; round <= rounds; round++)); do
    [ $round = 1 ] || {
        edl kill j >/dev/null
        await 120 'it is over' job_is j killed
        begin_job
    }
    for end in driver keeper session both agent all scheduler program; do
        await 120 'a session can be had' works
        before=$(pids j $role)
        hold
        end_$end
        await 120 "nothing is left, round $round, of a session whose $end was killed" silent left
        status=0
        wait $holder || status=$?
        [ $end = driver ] || [ $status = 255 ] || fail "the person sees $status when the $end was killed: $(cat "$work/err")"
        [ $end = program ] || lives "$before" || fail "the job noticed that the $end was killed"
    done
done
await 120 'a session can be had' works
edl kill j >/dev/null
await 120 'it is over' job_is j killed
await 120 'nothing is left' silent left
cluster_stop
