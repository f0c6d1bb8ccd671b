#!/usr/bin/env bash
# A workspace that was sent: packed and sent by `edl submit --upload`, run by two nodes, each process in a copy of its own;
# what is missing, damaged or not one's own; nothing is left when the job is over.
# Takes 14 s: agents are restarted, and copies of workspaces end with their jobs
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --keep-outputs 0

put() { # FILE: its name as a workspace
    local hex
    hex=$(sha256sum "$1" | cut -d' ' -f1)
    api PUT "/workspaces/$hex" -H 'Content-Type: application/octet-stream' --data-binary "@$1" | holds .workspace ||
        fail "$1 is not taken"
    echo "sha256:$hex"
}

job() { # NAME WORKSPACE COMMAND [MEMBERS]: a document
    jq -n --arg name "$1" --arg workspace "$2" --arg entrypoint "$3" '{metadata: {name: $name}, spec: {fault_tolerant: ('"${RESTARTS:-0}"' > 0),
        restart: {max: '"${RESTARTS:-0}"', backoff: "100ms"},
        trainer: {entrypoint: $entrypoint, workspace: $workspace, "min-instance": 2, "max-instance": 2,
        resources: {requests: {cpu: "'"${CPU:-100m}"'"}}}}}'
}

submit() { job "$@" >"$work/job.json"; edl submit "$work/job.json" >/dev/null; }

reason() { # JOB: why its processes ended
    api GET "/jobs/$1/processes?state=all" | jq -r '.processes[].reason'
}

copies() { find "$work/state" -path '*/workspaces/copies/*' -prune 2>/dev/null; }
no_copies() { silent copies; }

mkdir -p "$work/code/lib"
echo 'echo "it says $(cat lib/text)"; echo mine >lib/text; [ "$PWD" = "$EDL_WORKSPACE" ] && [ "$PWD" = "$TRAINER_PACKAGE" ]' >"$work/code/main.sh"
echo hello >"$work/code/lib/text"

# both nodes, each process in a copy: what one writes the other does not see, nor does the next job
code=$(edl workspace add "$work/code")
[ "$(edl workspace add "$work/code")" = "$code" ] || fail 'the same folder has another name'
[ "$(edl workspace list | grep -c "^$code ")" = 1 ] || fail "$(edl workspace list)"
half=$(api GET /nodes | jq '[.nodes[].cpu_millicores] | min / 2 + 100 | floor')
for name in first second; do
    CPU=${half}m submit $name "$code" 'sh main.sh'
    await 120 'it succeeded' job_is $name succeeded failed
    job_is $name succeeded || fail "$name: $(reason $name)"
    [ "$(api GET "/jobs/$name/processes?state=all" | jq -r '[.processes[].node] | unique | length')" = 2 ] || fail 'not on both nodes'
    [ "$(edl logs $name | grep -c 'it says hello')" = 2 ] || fail "a process sees what another wrote: $(edl logs $name)"
done
# the same from a command line; and a larger one, which is sent once
edl submit --name third --upload "$work/code" -- sh -c '[ "$(cat lib/text)" = hello ] && [ "$PWD" = "$EDL_WORKSPACE" ]' >/dev/null
await 120 'it succeeded' job_is third succeeded failed
job_is third succeeded || fail "third: $(reason third)"
mkdir "$work/large"
head -c 20000000 /dev/urandom >"$work/large/data"
sum=$(sha256sum <"$work/large/data")
for name in fourth fifth; do
    edl submit --name $name --upload "$work/large" -- sh -c '[ "$(sha256sum <data)" = "'"$sum"'" ]' >/dev/null
    await 120 'it succeeded' job_is $name succeeded failed
    job_is $name succeeded || fail "$name: $(reason $name)"
done
[ "$(grep -c 'info edl-scheduler: workspace .* 2000.... bytes' "$work"/state/scheduler.log)" = 1 ] || fail 'it was not sent once'
ln -s /etc/passwd "$work/large/link"
if edl submit --upload "$work/large" -- true 2>"$work/err"; then fail 'a link that leads out is packed'; fi
grep -q 'link is a link to /etc/passwd, which is outside' "$work/err" || fail "$(cat "$work/err")"
await 120 'the copies are gone' no_copies
[ "$(find "$work/state" -path "*/workspaces/archives/${code#sha256:}" | wc -l)" = 2 ] || fail 'each node keeps the archive'

# one that is not there, one that is no archive, one that leads out
if submit missing "sha256:$(printf '0%.0s' {1..64})" true 2>"$work/err"; then fail 'a job without its workspace is taken'; fi
grep -q 'there is no workspace' "$work/err" || fail "$(cat "$work/err")"
echo 'no archive' >"$work/text"
submit text "$(put "$work/text")" true
await 120 'it failed' job_is text failed
reason text | grep -q 'cannot unpack the workspace' || fail "$(reason text)"
tar -P --transform='s|^|../../|' -C "$work" -cf "$work/out.tar" text
submit out "$(put "$work/out.tar")" true
await 120 'it failed' job_is out failed
reason out | grep -q 'a path that leads out of it' || fail "$(reason out)"

# an archive that somebody spoiled on a node is noticed, never run, and fetched anew by the next process
find "$work/state" -path "*/workspaces/archives/${code#sha256:}" | while read -r file; do echo x >>"$file"; done
RESTARTS=5 submit spoiled "$code" 'sh main.sh'
await 120 'it succeeded' job_is spoiled succeeded failed
job_is spoiled succeeded || fail "spoiled: $(reason spoiled)"
reason spoiled | grep -q 'the archive is damaged' || fail "$(reason spoiled)"

# agents that are killed while they fetch and while their processes unpack: no half workspace is ever run, nothing is left
agents() { pgrep -f -- "^$EDL_BUILD_DIR/edl-agent .*$work" || true; }
agents_are_there() { [ -n "$(agents)" ]; }
round=0
for late in 0 0.03 0.06 0.1 0.15 0.2 0.3; do # whatever the machine is busy with, some hit the one and some the other
    round=$((round + 1))
    echo "round $round" >"$work/large/link.txt"
    rm -f "$work/large/link"
    large=$(edl workspace add "$work/large")
    RESTARTS=20 submit torn-$round "$large" "grep -q 'round $round' link.txt && [ \"\$(sha256sum <data)\" = '$sum' ]"
    read -r -t "$late" <> <(:) || true
    await 120 "agents are there" agents_are_there
    # shellcheck disable=SC2046
    kill -9 $(agents)
    echo "killed with $(find "$work/state" -path '*/workspaces/archives/*.new' | wc -l) fetches and $(copies | wc -l) copies"
    await 120 'it succeeded' job_is torn-$round succeeded failed
    job_is torn-$round succeeded || fail "torn-$round: $(reason torn-$round)"
    reason torn-$round | lacks 'exit code 1$' || fail "half a workspace was run: $(reason torn-$round)"
done
await 120 'the copies are gone' no_copies
cut_off() { find "$work/state" -path '*/workspaces/archives/*.new' 2>/dev/null || true; } # folders of processes go meanwhile, which find minds
silent cut_off || fail 'a fetch that was cut off left something'

# one that the scheduler has lost is told, and so is one that is not what its name says
find "$work/state" -path '*/workspaces/archives/*' -type f -delete
lost=$(find "$work/state" -path "*scheduler/workspaces/${code#sha256:}")
mv "$lost" "$work/lost"
submit lost "$code" 'sh main.sh'
await 120 'it failed' job_is lost failed
reason lost | grep -q "workspace ${code:0:15}" || fail "$(reason lost)"
await 120 'the copies are gone' no_copies

cluster_stop
