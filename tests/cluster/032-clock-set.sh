#!/usr/bin/env bash
# Runs at night, and for scheduler/ shared/: its machine is an emulated one
# The wall clock of a machine is set for real, one and two hours on and back again, beneath a scheduler and an agent: both live, a job
# that runs goes on, what has ended is still there with its output, and a job that is sent afterwards runs.
# Takes 94 s: an emulated machine boots and runs a whole cluster, on an emulated processor
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/virtual.sh"
set -eu
virtual_libraries await fail conditions daemons
cat >"$own/check" <<'END'
. /src/tests/lib/daemons.sh
# the machine ends with the test, whatever still runs on it
trap 'echo "the test ended with $?" && echo o >/proc/sysrq-trigger && read -r' EXIT
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s --keep-days 1
scheduler=$pid
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
(umask 022 && cp "$work/scheduler/join-token" "$work/join-token")
begin agent "adopted" edl-agent --node here --scheduler "$EDL_SERVER" --join-token-file "$work/join-token" --state-dir "$work/agent" \
    --conf '' --runtime direct --no-foreign --allow-root --heartbeat 1s --cpu 2
agent=$pid
steps_told() { grep -c "wall clock of this machine was set $1 by" "$work/scheduler.log" || true; }
ended=()
runs_and_stays() { # NAME: it runs, and all that ended before it is still there
    local job
    edl submit --name "$1" --cpu 100m -- echo "the output of $1" >/dev/null || fail "$1 is not taken"
    await 120 "$1 succeeds" job_is "$1" succeeded
    ended+=("$1")
    for job in "${ended[@]}"; do
        job_is "$job" succeeded || fail "$job is not there after $1"
        edl logs "$job" | grep -q "the output of $job\$" || fail "the output of $job is not there after $1"
    done
    job_is long running || fail "the job that runs is no longer running after $1"
    [ "$(edl show long --json | jq -r '.processes[0].pid')" = "$long" ] || fail "its process is another one after $1"
    for job in $scheduler $agent $long; do kill -0 "$job" || fail "process $job has ended after $1"; done
}
clock_goes() { # forward|back SECONDS NAME
    local before
    before=$(steps_told "$1")
    date -s "@$(($(date +%s) + $2))" || fail "the clock cannot be set"
    runs_and_stays "$3" # the scheduler looks at its clocks when it stores something
    [ "$(steps_told "$1")" -gt "$before" ] || fail "nothing tells that the clock went $1 by $2 s"
}
edl submit --name long --cpu 100m -- sleep 100000 >/dev/null
await 120 'a job runs' job_is long running
long=$(edl show long --json | jq -r '.processes[0].pid')
runs_and_stays before
clock_goes forward 3600 one-hour-on
clock_goes forward 7200 two-hours-on
clock_goes back -10800 back-again
clock_goes forward $((91 * 86400)) days-on
clock_goes back $((-91 * 86400)) days-back
edl kill long >/dev/null
await 120 'the job that ran through it all ends' job_is long killed
kill $scheduler
wait $scheduler || fail "the scheduler ended with $?"
END
cat >"$own/init" <<'END'
#!/bin/bash
export PATH=/opt/edl/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root EDL_SOURCE_DIR=/src EDL_BUILD_DIR=/opt/edl/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir /dev/shm
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
ip link set lo up
exec bash /check
END
chmod +x "$own/init"
virtual_run
