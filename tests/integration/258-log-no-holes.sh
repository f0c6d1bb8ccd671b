#!/usr/bin/env bash
# A file system that cannot give back the beginning of a file: logs grow, nothing of them is lost, and the agent says so once.
# Takes 14 s: three jobs of 2 s run one after another, as an agent looks at logs each 2 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
mkdir "$work/ram"
if ! unshare -m mount -t ramfs none "$work/ram" 2>/dev/null; then
    echo 'no ramfs can be mounted here'
    exit 77
fi
cluster_start --nodes 1
edl node cordon node-1
# shellcheck disable=SC2016
EDL_DEV_TEST=$work unshare -m bash -c 'mount -t ramfs none "$1" && exec edl-agent --node ram --scheduler "$EDL_SERVER" \
    --join-token-file "$2/state/scheduler/join-token" --state-dir "$1/agent" --output-dir "$2/output" --conf "" --runtime direct \
    --no-foreign --heartbeat 200ms --stop-processes-on-exit --allow-root --log-max 256Ki' bash "$work/ram" "$work" >"$work/ram.log" 2>&1 &
agent=$!
# shellcheck disable=SC2154
trap 'status=$?; set +e; kill "$agent" 2>/dev/null; wait "$agent"; (exit $status); on_exit' EXIT
mkfifo "$work/gate"
# kept open, also for writing: a reader that came while a writer was about to leave would see the end
edl submit --name talk -- bash -c "exec 9<>$work/gate; while read -r line <&9; do seq -f 'line %06.0f of this one' 1 20000; done" >/dev/null
await 120 'it runs' job_is talk running
told() { grep -q 'cannot give back the oldest part of a log' "$work/ram.log"; }
echo more >"$work/gate"
await 120 'it is said' told
kill -0 "$agent" || fail 'the agent has ended'
# longer again, and looked at again (every 2 s)
for i in 1 2 3; do
    echo more >"$work/gate"
    edl submit --name "tick-$i" -- sleep 2 >/dev/null
    edl wait "tick-$i" --timeout 120 || fail "tick-$i: $(job_field "tick-$i" .reason)"
done
[ "$(grep -c 'cannot give back' "$work/ram.log")" = 1 ] || fail "it is said $(grep -c 'cannot give back' "$work/ram.log") times"
its_end() { [ "$(edl logs talk | tail -n 1)" = '[trainer-0] line 020000 of this one' ]; }
await 120 'its end is there' while_job talk its_end
kill "$agent"
wait "$agent" || true
cluster_stop
