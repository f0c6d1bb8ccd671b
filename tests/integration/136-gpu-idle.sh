#!/usr/bin/env bash
# A device that was granted and does nothing is told, and goes to who wants it, while its job has more than its minimum.
# Takes 9 s: a device does nothing for 2 s before that is told, and then goes to another job
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
export EDL_NVML_LIBRARY=$EDL_BUILD_DIR/tests/lib/libnvidia-ml.so.1 EDL_TEST_NVML=$work/gpus
use_is() { # PERCENT-OF-A PERCENT-OF-B
    printf 'gpu 00000000:3B:00.0 GPU-a 40000 0 %s\ngpu 00000000:AF:00.0 GPU-b 40000 0 %s\n' "$1" "$2" >"$EDL_TEST_NVML.new"
    mv "$EDL_TEST_NVML.new" "$EDL_TEST_NVML"
}
use_is 50 50
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin scheduler 'listening' edl-scheduler --state-dir "$work/state" --listen "$EDL_SERVER" --lease 60s
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
begin agent 'joined as n1' edl-agent --conf '' --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" --state-dir "$work/n1" --runtime direct \
    --heartbeat 500ms --gpu-idle 2s --no-foreign --stop-processes-on-exit $as_root
submit() { # NAME MAX
    edl submit --name "$1" --max "$2" --cpu 100m --memory 16Mi --gpus 1 --workspace private -- bash -c 'trap "exit 0" TERM; while :; do read -t 60 <> <(:); done' >/dev/null
}
has() { # JOB DEVICES...: of its running processes, in their order
    local job=$1
    shift
    [ "$(edl show "$job" --json | jq -r '[.processes[] | select(.state == "running") | .gpus[]] | sort | map(tostring) | join(" ")')" = "$*" ]
}
submit one 2
await 120 'one has both' while_job one has one 0 1
idle_is() { # DEVICES as JSON
    [ "$(edl nodes n1 --json | jq -c .gpus_idle)" = "$1" ]
}
use_is 0 50
await 120 'the first is told' idle_is '[0]'
edl nodes n1 | grep -q 'GPU-a .* job one, idle$' || fail "it is not shown: $(edl nodes n1)"
edl nodes n1 | grep -q 'GPU-b .* job one$' || fail "the other one is: $(edl nodes n1)"
curl -sf --unix-socket "$work/socket" -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" http://localhost/metrics | grep -qx 'edl_gpus_idle 1' || fail 'it does not count'
edl events --json | grep -q '"gpu-idle"' || fail "no event: $(edl events)"
has one 0 1 || fail 'it was taken away although nobody wants it'
submit two 1
await 120 'who wants it has it' while_job two has two 0
has one 1 || fail "one has $(edl show one)"
