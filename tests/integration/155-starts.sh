#!/usr/bin/env bash
# Starts that fail on real agents, and whose fault that is: jobs that no node can start blame none, however many; a node that can
# start nothing costs no job, and is quarantined; nothing is sent to a node whose disk is full.
# Takes 7 s: a dozen jobs one after another, which fail or run

if [ -z "${EDL_TEST_IN_NAMESPACE:-}" ]; then
    export EDL_TEST_IN_NAMESPACE=yes
    for as in -m -Urm; do
        unshare "$as" true 2>/dev/null && exec unshare "$as" --propagation private bash "$0"
    done
    echo 'no mount namespace of its own can be made here (unshare -m)'
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
export EDL_SERVER EDL_TOKEN_FILE=$work/scheduler/admin-token
agent() { # NODE
    # shellcheck disable=SC2046
    begin "$1" "joined" edl-agent --node "$1" --address 127.0.0.1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" \
        --state-dir "$work/$1" --conf '' --runtime direct --no-foreign --heartbeat 300ms --cpu 1 --memory 1Gi --stop-processes-on-exit \
        $([ "$(id -u)" != 0 ] || echo --allow-root)
}
job() { edl show "$1" --json | jq -r ".job$2"; }                                          # JOB EXPRESSION
node_is() { [ "$(edl nodes --json | jq -r '.nodes[] | select(.name == "'"$1"'") | .state')" = "$2" ]; } # NODE STATE
node_says() { edl nodes --json | jq -r '.nodes[] | select(.name == "'"$1"'") | .reason' | grep -q "$2"; } # NODE WORDS
ran_on() { edl show "$1" --all --json | jq -r '[.processes[] | select(.state == "exited" or .state == "running") | .node] | join(" ")'; } # JOB

# a1 keeps its state on a disk of its own, of which the test can take the room
mkdir "$work/a1"
mount -t tmpfs -o size=8m,mode=0700 none "$work/a1" || { echo 'no tmpfs can be mounted here'; exit 77; }
trap 'status=$?; umount -l "$work/a1"; (exit $status); on_exit' EXIT
agent a1
a1=$pid
agent n1
await 120 'two nodes' sh -c '[ "$(edl nodes --json | jq "[.nodes[] | select(.state == \"ready\")] | length")" = 2 ]'

# --- the job's fault: a path that no node can have
long=/$(printf 'x%.0s' {1..300})
for i in 1 2 3 4 5 6; do
    edl submit --name "typo-$i" --workspace "$long" -- true >/dev/null 2>&1
    await 120 "typo-$i fails" job_is "typo-$i" failed
    case $(job "typo-$i" .reason) in
    *"no node can start trainer-0, for its job's request: "*'cannot enter the workspace '*) ;;
    *) fail "typo-$i: $(job "typo-$i" .reason)" ;;
    esac
done
node_is a1 ready && node_is n1 ready || fail "a node is blamed for a bad job: $(edl nodes)"

# --- a full disk: nothing starts there, what would have is started elsewhere, and who can go nowhere is told
head -c 20m /dev/zero >"$work/a1/fill" 2>/dev/null || true
await 120 'a1 says that its disk is full' node_says a1 'its disk is full'
for i in 1 2 3; do
    edl submit --name "room-$i" --workspace private --cpu 300m -- true >/dev/null
    edl wait "room-$i" --timeout 300 >/dev/null || fail "room-$i: $(edl why "room-$i")"
    [ "$(ran_on "room-$i")" = n1 ] || fail "room-$i ran on $(ran_on "room-$i")"
    [ "$(edl show "room-$i" --all --json | jq '.processes | length')" = 1 ] || fail "room-$i was tried on the full disk"
done
node_is a1 ready || fail "a full disk is no sign of a broken node: $(edl nodes)"
edl node cordon n1 >/dev/null
edl submit --name waits --workspace private -- true >/dev/null
await 120 'waits is told' sh -c 'edl why waits | grep -q "a1: its disk is full"'
rm "$work/a1/fill"
edl wait waits --timeout 300 >/dev/null || fail "waits: $(edl why waits)"
[ "$(ran_on waits)" = a1 ] || fail "waits ran on $(ran_on waits)"
edl node uncordon n1 >/dev/null

# --- the node's fault: it can make no log; three jobs find out, and none is lost
rm -rf "$work/a1/logs"
touch "$work/a1/logs"
tried() { # N: starts on a1 that came to nothing
    [ "$(edl events --json | jq -r 'select(.event == "process-lost" and .node == "a1") | .text' | grep -c 'cannot make the folder')" -ge "$1" ]
}
for i in 1 2 3; do # of two empty nodes the one whose name comes first is tried first
    edl submit --name "ill-$i" --workspace private --cpu 300m -- true >/dev/null
    edl wait "ill-$i" --timeout 300 >/dev/null || fail "ill-$i: $(edl why "ill-$i")"
    [ "$(ran_on "ill-$i")" = n1 ] || fail "ill-$i ran on $(ran_on "ill-$i")"
    tried "$i" || fail "a1 was not tried: $(edl events)"
done
await 120 'a1 is quarantined' node_is a1 quarantined
end "$a1"
echo "starts: all good"
