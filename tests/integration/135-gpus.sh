#!/usr/bin/env bash
# GPUs as the driver's library tells of them: offered by themselves, named when somebody else is on one, not granted then, and
# proven empty before each start.
# Takes 28 s: waits for what agents tell of devices with their reports, a dozen times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
export EDL_NVML_LIBRARY=$EDL_BUILD_DIR/tests/lib/libnvidia-ml.so.1 EDL_TEST_NVML=$work/gpus
two='gpu 00000000:AF:00.0 GPU-b 80000 500 0
gpu 00000000:3B:00.0 GPU-a 40000 0 7'
machine_is() { # LINE...: what is on the devices
    printf '%s\n' "$two" "$@" >"$EDL_TEST_NVML.new" && mv "$EDL_TEST_NVML.new" "$EDL_TEST_NVML"
}
machine_is
cluster_start --nodes 1
node=$(edl nodes --json | jq -r '.nodes[0].name')
device() { # NUMBER FILTER
    edl nodes "$node" --json | holds ".devices[$1] | $2"
}
figure_is() { # SERIES VALUE
    api GET /metrics >"$work/metrics"
    grep -qxF "$1 $2" "$work/metrics"
}
submit() { # NAME GPUS
    edl submit --name "$1" --cpu 100m --memory 16Mi --gpus "$2" -- bash -c 'echo "sees $CUDA_VISIBLE_DEVICES"; trap "exit 0" TERM; while :; do read -t 60 <> <(:); done' >/dev/null
}
sees() { # JOB GPUS
    [ "$(edl logs "$1" | grep -c "sees $2\$")" = 1 ]
}

# --- both are there, in the order of the bus ---
await 120 'both are offered' device 1 '.uuid == "GPU-b" and .memory_used_bytes == 500 and .strangers == []'
device 0 '.uuid == "GPU-a" and .pci_bus_id == "00000000:3B:00.0" and .utilisation_ppm == 70000' || fail "$(edl nodes "$node" --json)"
edl nodes "$node" >"$work/one"
grep -q '^0 .*GPU-a' "$work/one" || fail "$(cat "$work/one")"
# what they are called is their type, which the policy tells apart
edl nodes "$node" --json | holds '.labels["gpu-type"] == "Test-GPU"' || fail "$(edl nodes "$node" --json)"

# --- somebody else is on one: it is named, not granted, and said why ---
sleep 1000 &
stranger=$!
machine_is "process GPU-a $stranger 300"
await 120 'it is seen' device 0 ".strangers[0].pid == $stranger and .strangers[0].user == \"$(id -un)\" and .strangers[0].memory_bytes == 300"
await 120 'it counts' figure_is 'edl_gpus{state="foreign"}' 1
figure_is 'edl_gpus{state="free"}' 1 || fail 'the other one is not free'
edl nodes >"$work/all"
grep -q "^node $node GPU 0 is held by pid $stranger of $(id -un)" "$work/all" || fail "$(cat "$work/all")"
submit one 1
await 120 'it runs on the other' job_is one running
await 120 'it sees that one' while_job one sees one GPU-b
submit two 1
await 120 'it waits' job_is two queued
edl why two >"$work/why"
grep -q "GPU 0 is held by pid $stranger of $(id -un)" "$work/why" || fail "$(cat "$work/why")"
kill "$stranger"
machine_is
await 120 'it runs now that the other has left' job_is two running
await 120 'it is on that device' while_job two sees two GPU-a

# --- ours is no stranger on what it was granted, and is one elsewhere ---
pid=$(edl show two --json | jq -r '.processes[0].pid')
machine_is "process GPU-a $pid 100"
await 300 'what it uses is told' device 0 '.strangers == []'
machine_is "process GPU-a $pid 100" "process GPU-b $pid 100"
await 120 'it is on a device of another' device 1 ".strangers[0].pid == $pid"
machine_is
# a session is where its process is: it sees the same devices, and is no stranger on them
edl exec two -- sh -c 'echo "sees $CUDA_VISIBLE_DEVICES"; echo $$ >"$0"; exec sleep 1000' "$work/pid" >"$work/session" &
session=$!
await 120 'the session runs' test -s "$work/pid"
pid=$(<"$work/pid")
machine_is "process GPU-a $pid 100" "process GPU-b $pid 100"
await 120 'it is on a device of another' device 1 ".strangers[0].pid == $pid"
session_sees() { [ "$(cat "$work/session")" = "$1" ]; }
await 120 'the session sees the same device' while_runs $session session_sees 'sees GPU-a'
if differs "$(sed -n 's/^0:://p' "/proc/$pid/cgroup")" "$(sed -n 's/^0:://p' /proc/self/cgroup)"; then
    device 0 '.strangers == []' || fail "a session is a stranger on a device of its process: $(edl nodes "$node" --json)"
fi
machine_is
kill $session
wait $session || true
edl kill one two
await 120 'both are killed' job_is two killed

# --- between two looks somebody took it: the agent asks before each start, and no job is blamed ---
machine_is
await 120 'both are free' figure_is 'edl_gpus{state="free"}' 2
sleep 1001 &
stranger=$!
machine_is "process GPU-a $stranger 300" "process GPU-b $stranger 300"
refused() { # JOB: its process was never started, for what is on its device
    edl show "$1" --all --json | holds '.processes | all(.started_us == 0) and any(.reason | startswith("GPU 0 is held by pid "))'
}
submit three 2
await 120 'its start is refused' refused three
machine_is
kill "$stranger"
await 120 'it runs when the stranger is gone' job_is three running
edl kill three
await 120 'it is killed' job_is three killed

# --- a dead process that the device still lists is waited for ---
machine_is "process GPU-a 4194303 300"
submit four 2
machine_is
await 120 'it runs' job_is four running
edl kill four
await 120 'it is killed' job_is four killed

# --- the driver hangs: nothing is granted, and the agent goes on ---
machine_is hang
await 120 'nothing of it is free' figure_is 'edl_gpus{state="foreign"}' 2
machine_is
await 120 'it answers again' figure_is 'edl_gpus{state="free"}' 2
cluster_stop
