#!/usr/bin/env bash
# A parameter server and a trainer on each node of a list, in one folder of the node: the job waits for the last node and says so,
# starts when it is there, and goes on when a node was gone and is back. The folder is unpacked once, stays, and has to have a place.
# Takes 20 s: waits until a node is lost, after a lease of 12 s
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
begin scheduler policy edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 12s
EDL_SERVER=http://$(cat "$work/scheduler/address")
export EDL_SERVER EDL_TOKEN_FILE=$work/scheduler/admin-token

node() { # NAME: sets $pid
    # shellcheck disable=SC2046
    begin "$1" "${2:-joined as}" edl-agent --node "$1" --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --conf '' \
        --state-dir "$work/$1" --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --cpu 2 --memory 2Gi \
        $([ "$(id -u)" != 0 ] || echo --allow-root)
}
node n1
node n2
second=$pid

# what is unpacked is seen by all of a node; here all nodes are one machine, so by all
mkdir "$work/code" "$work/root"
cat >"$work/code/run.sh" <<'END'
set -eu
[ "$PWD" = "$EDL_WORKSPACE" ]
[ "$PWD" = "$TRAINER_PACKAGE" ]
echo "$EDL_NODE" >>"$EDL_ROLE-$EDL_INDEX"
until [ -e "$EDL_ROLE-may-end" ]; do read -r -t 0.2 <> <(:) || true; done
END
archive=$(edl workspace add "$work/code")
folder=$work/root/JOB20261126120000
job() { # NAME FOLDER: a document
    jq -n --arg name "$1" --arg folder "$2" --arg archive "$archive" '{metadata: {name: $name}, spec: {fault_tolerant: true,
        "workspace-folder": $folder, restart: {max: 20, backoff: "100ms"}, grace: "2s",
        pserver: {entrypoint: "exec bash run.sh", workspace: $archive, nodes: ["n1", "n2", "n3"]},
        trainer: {entrypoint: "exec bash run.sh", workspace: $archive, nodes: ["n1", "n2", "n3"]}}}'
}
state_of() { edl show "$1" --json | jq -r .job.state; }
job_is() { # NAME STATE...
    local name=$1 now
    now=$(state_of "$name")
    shift
    case " $* " in *" $now "*) ;; *) return 1 ;; esac
}
says_why() { edl why "$1" | grep -q "$2"; }

# the whole job waits for the node that is not there
job run "$folder" >"$work/run.json"
edl submit "$work/run.json" >"$work/submitted" 2>&1 || fail "$(cat "$work/submitted")"
await 120 'it says which node it waits for' says_why run 'instance 2 of .* runs on n3, which is not a member (edl nodes) \[waits-for-node\]'
says_why run 'what would start it: a node called n3 (edl node add)' || fail "$(edl why run)"
[ ! -e "$folder" ] || fail 'something of it runs'
edl show run --json | holds '.job.spec.roles[1].nodes == ["n1", "n2", "n3"] and (.job.spec | .["workspace-folder"] != null)' ||
    fail "$(edl show run --json)"

edl show run >"$work/shown"
for line in 'nodes      trainer: n1, n2, n3' "folder     $folder"; do
    grep -qxF "$line" "$work/shown" || fail "$(cat "$work/shown")"
done

# it is there: each on its own, in the one folder
node n3
await 120 'it runs' job_is run running
places() { curl -sS -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER/jobs/run/processes" | jq -c '[.processes[] | select(.state == "running") | "\(.role)-\(.index)@\(.node)"] | sort'; }
all='["pserver-0@n1","pserver-1@n2","pserver-2@n3","trainer-0@n1","trainer-1@n2","trainer-2@n3"]'
places_are() { [ "$(places)" = "$1" ]; }
await 120 'each is on its node' places_are "$all"
written() { [ "$(cat "$folder"/{pserver,trainer}-[0-2] | sort | uniq -c | tr -s ' \n' ' ')" = "$1" ]; }
await 120 'each has written its node' written ' 2 n1 2 n2 2 n3 '
[ "$(find "$work/root" -mindepth 1 -maxdepth 1)" = "$folder" ] || fail "beside it lies $(ls -A "$work/root")"
copies() { find "$work" -path '*/workspaces/copies/*' -prune 2>/dev/null || true; } # what agents write comes and goes meanwhile, which find minds
silent copies || fail 'there are copies'
echo kept >"$folder/mark"

# a node goes: the others go on, its two wait for it alone; it is back, and so are they, in what they left
kill -9 "$second"
wait "$second" || true
await 120 'two are lost' places_are '["pserver-0@n1","pserver-2@n3","trainer-0@n1","trainer-2@n3"]'
await 120 'it says what it waits for' says_why run 'instance 1 of .* runs on n2, which is lost'
node n2 'edl-agent'
await 120 'all are back' places_are "$all"
await 120 'they have written again' written ' 2 n1 4 n2 2 n3 '
[ "$(cat "$folder/mark")" = kept ] || fail 'it was unpacked again'

# the names are as many as there can be
if edl scale run 4 --role trainer 2>"$work/err"; then fail 'it grows beyond its nodes'; fi
grep -q 'max is 4 but trainer names 3 nodes' "$work/err" || fail "$(cat "$work/err")"
jq '.spec.trainer["min-instance"] = 4' "$work/run.json" >"$work/bad.json"
if edl submit "$work/bad.json" 2>"$work/err"; then fail 'more instances than nodes are taken'; fi
grep -q 'trainer has 3 nodes for 4 instances' "$work/err" || fail "$(cat "$work/err")"

# it ends, and what it wrote stays
touch "$folder/trainer-may-end"
await 120 'it succeeded' job_is run succeeded failed
job_is run succeeded || fail "$(edl show run)"
[ "$(cat "$folder/mark")" = kept ] || fail 'the folder went with the job'

# the folder above is not made: what is to be done is said
job nowhere "$work/root/none/JOB" | jq 'del(.spec.trainer.nodes, .spec.pserver.nodes)' >"$work/nowhere.json"
edl submit "$work/nowhere.json" >/dev/null
await 120 'it failed' job_is nowhere failed
edl show nowhere --json | jq -r .job.reason >"$work/reason"
grep -q 'none, where it belongs, is not there' "$work/reason" || fail "$(cat "$work/reason")"
[ ! -e "$work/root/none" ] || fail 'it was made'
