#!/usr/bin/env bash
# One wish to stop, sent to a whole process group, is one: timeout(1) sends it to its child and to the group, `kill -- -PGID` to all in
# it, a closed terminal to its shell and to what that runs. The job is killed each time. EDL_TRIES (1): each way so many times.
# Runs at night, and for client/: starts a dozen jobs one after the other
# Takes 15 s: eight jobs begin one after another, and each is ended by signals
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
tries=${EDL_TRIES:-1}
cluster_start --nodes 1
cd "$work"
follow=(edl submit --follow --kill-on-interrupt --cpu 100m --memory 32Mi)

n=0
begin_by() { # COMMAND...: follows a job by it, and waits until the job runs
    n=$((n + 1))
    name=group-$n
    : >out
    "$@" "${follow[@]}" --name "$name" -- sh -c 'echo begun; exec sleep 600' >out 2>err &
    pid=$!
    await 120 "$name runs" while_runs "$pid" grep -q begun out
}
is_killed() { # HOW
    wait "$pid" || true
    await 120 "$name is killed ($1)" job_is "$name" killed
    if grep -q 'let go of' err; then fail "$1: once was taken for twice: $(cat err)"; fi
}
by_terminal() { # COMMAND...: in a shell on a terminal, which is closed once the job runs; what it prints goes to files
    python3 - "$@" <<'END'
import os, pty, sys, time
words = " ".join("'" + w.replace("'", "'\\''") + "'" for w in sys.argv[1:])
pid, master = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "-i", "-c", words + " >out 2>err; true"])
while "begun" not in (open("out").read() if os.path.exists("out") else ""):
    time.sleep(0.02)
os.close(master)
os.waitpid(pid, 0)
END
}
for ((i = 0; i < tries; i++)); do
    for signal in TERM INT HUP; do
        begin_by timeout 600
        kill -$signal "$pid"
        is_killed "timeout, $signal"
        begin_by setsid
        group=$(ps -o pgid= -p "$pid" | tr -d ' ')
        [ "$group" = "$pid" ] || fail "setsid made no group: $group"
        kill -$signal -- "-$group"
        is_killed "group, $signal"
    done
    n=$((n + 1)) name=group-$n
    rm -f out
    by_terminal "${follow[@]}" --name "$name" -- sh -c 'echo begun; exec sleep 600' || true
    await 120 "$name is killed (a closed terminal)" job_is "$name" killed
done

# twice is twice, a second later: it is let go, and the job was asked to end before
begin_by env
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
kill -STOP "$scheduler"
kill -INT "$pid"
ends() { kill -INT "$pid" 2>/dev/null && sleep 0.1; ! kill -0 "$pid" 2>/dev/null; }
(unset EDL_SERVER && await 120 'it lets go' ends)
wait "$pid" && status=0 || status=$?
kill -CONT "$scheduler"
[ "$status" = 130 ] || fail "it ends with $status: $(cat err)"
grep -q 'has not answered yet, so the job may still run' err || fail "it does not tell what became of the job: $(cat err)"
await 120 "$name is killed all the same" job_is "$name" killed
echo "group signals: all good"
