#!/usr/bin/env bash
# An agent with --pin-cores: who is granted whole cores gets CPUs of its own, who is granted parts floats on all. The next agent
# knows whose they are, and they are another's when their process is seen gone.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
if [ "$(nproc)" -lt 2 ]; then
    echo 'this machine has one CPU'
    exit 77
fi
cluster_start --nodes 1
edl node cordon node-1
agent=''
agent_begin() {
    # shellcheck disable=SC2046
    EDL_DEV_TEST=$work edl-agent --node pins --scheduler "$EDL_SERVER" --join-token-file "$work/state/scheduler/join-token" \
        --state-dir "$work/pins" --conf '' --runtime direct --no-foreign --heartbeat 200ms --cpu 2 --pin-cores \
        $([ "$(id -u)" != 0 ] || echo --allow-root) >>"$work/pins.log" 2>&1 &
    agent=$!
}
# shellcheck disable=SC2154
trap 'status=$?; set +e; for job in one two three parts; do edl kill $job; done >/dev/null 2>&1; kill "$agent" 2>/dev/null; (exit $status); on_exit' EXIT
agent_begin
all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
start() { # JOB CPU
    edl submit --name "$1" --cpu "$2" -- sleep 1000 >/dev/null
    await 120 "$1 runs" job_is "$1" running
}
cpus_of() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$(pids "$1" trainer)/status"; }
is_one() { case $1 in '' | *[!0-9]*) false ;; esac; }

start parts 500m
[ "$(cpus_of parts)" = "$all" ] || fail "half a core is on $(cpus_of parts), not on $all"
start one 1
first=$(cpus_of one)
is_one "$first" || fail "a core is on $first"
# the next agent reads whose that is
kill -9 "$agent"
wait "$agent" 2>/dev/null || true
agent_begin
adopted() { grep -q '2.trainer.0.1 adopted' "$work/pins.log"; } # one; parts is job 1
await 120 'it is adopted' adopted
edl kill parts
edl wait parts --timeout 120 >/dev/null || true
start two 1
second=$(cpus_of two)
is_one "$second" && [ "$second" != "$first" ] || fail "one is on $first, two on $second"
# given back when it is gone
edl kill one
edl wait one --timeout 120 >/dev/null || true
start three 1
third=$(cpus_of three)
is_one "$third" && [ "$third" != "$second" ] || fail "two is on $second, three on $third"
edl kill two three
for job in two three; do edl wait $job --timeout 120 >/dev/null || true; done
kill "$agent"
wait "$agent" || true
cluster_stop
