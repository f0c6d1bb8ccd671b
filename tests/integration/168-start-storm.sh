#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One user submits an array of 1,000 jobs of up to four processes each that fail at once, all on one node, and then an array of jobs
# that succeed at once. The node goes on to report, its other processes are answered over EDL_SOCKET, and none of another user's ends.
# EDL_STORM_S: how long the failures last (8); EDL_STORM_SWEEP: how many jobs succeed (100)
# Takes 13 s: starts fail for 8 s
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
seconds=${EDL_STORM_S:-8}
sweep=${EDL_STORM_SWEEP:-100}
lib=$EDL_SOURCE_DIR/tests/lib
# What a busy machine keeps as well: a process is told to end after two thirds of the lease, which is 10 s.
gap_ms=5000
call_ms=10000
[ "$(id -u)" = 0 ] || { echo 'needs root: an agent that gives each user a number of their own'; exit 77; }
chmod 755 "$work"
mkdir -m 1777 "$work/out"
mkdir "$work/lib"
install -m 644 "$lib"/*.py "$work/lib" # where accounts without a name may read them

begin scheduler policy edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --lease 10s
scheduler=$pid
address=$(cat "$work/state/address")
export EDL_SERVER=http://$address EDL_TOKEN_FILE=$work/state/admin-token
begin n1 "joined as n1" edl-agent --conf '' --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" \
    --state-dir "$work/n1" --runtime direct --no-foreign --address 127.0.0.1 --user-range 900000-900099 --cpu 8 --memory 16Gi \
    --overcommit --stop-processes-on-exit
agent=$pid
for name in ann mallory; do
    edl user add $name --role user
    edl token create --user $name --ttl 1h >"$work/$name" 2>"$work/err"
done
call() { # USER PATH [CURL ARGUMENTS...]
    local user=$1 path=$2
    shift 2
    curl -sS --fail-with-body --max-time 120 -H "Authorization: Bearer $(cat "$work/$user")" "$@" "$EDL_SERVER$path"
}
submit() { # USER DOCUMENT
    call "$1" /jobs -d "$2" >"$work/answer" || fail "$(cat "$work/answer")"
}
processes() { # of ann's jobs
    for job in stays works; do call ann /jobs/$job/processes | jq -c '[.processes[] | {state, incarnation, pid}]'; done
}
all_run() { processes | jq -s 'map(.[0])' | holds 'length == 2 and all(.[]; .state == "running" and .pid > 0)'; }
works() { [ -s "$work/out/ann" ] && grep -q '"task"' "$work/out/ann"; }
succeeded() { call ann /metrics | awk '$1 == "edl_jobs_ended_total{state=\"succeeded\"}" { print $2 }'; }
all_succeeded() { [ "$(succeeded)" -ge "$sweep" ]; }
role() { # CPU MEMORY MAX COMMAND...: how much of the cores a process gets beside others follows from what it asks for
    jq -cn --arg cpu "$1" --arg memory "$2" --argjson max "$3" '[{role: "trainer", min: 1, max: $max, cpu: $cpu, memory: $memory, command: $ARGS.positional}]' --args -- "${@:4}"
}

submit ann "{\"name\":\"stays\",\"fault_tolerant\":true,\"roles\":$(role 1m 4Mi 1 sleep 600)}"
submit ann "{\"name\":\"works\",\"fault_tolerant\":true,\"roles\":$(role 4 256Mi 1 "$python" "$work/lib/siege.py" worker "$work/out/ann")}"
await 120 "another user's processes run" all_run
await 120 "one of them is answered" works
before=$(processes)

watch_reports() { # NAME: until that is there
    "$python" "$lib/report_gaps.py" "$EDL_SERVER" "$work/ann" n1 "$work/$1.over" $scheduler $agent >"$work/$1.gaps" &
    looks=$!
}
over() { # NAME
    touch "$work/$1.over"
    wait $looks
    echo "$1: $(cat "$work/$1.gaps"), the agent's CPU so far: $(awk '{ print ($14 + $15) / 100 }' /proc/$agent/stat) s"
    holds --argjson most $gap_ms '.reports > 1 and .longest_ms < $most' <"$work/$1.gaps" || fail "the node was silent for too long"
    after=$(processes)
    [ "$before" = "$after" ] || fail "another user's processes: $before, and now $after"
}

# --- failures
watch_reports failures
submit mallory "{\"name\":\"storm\",\"array\":\"0-999\",\"fault_tolerant\":true,\"roles\":$(role 1m 4Mi 4 false)}"
timeout "$seconds" edl events --follow >"$work/events" 2>"$work/err" || true
over failures
failed=$(grep -c 'process [0-9.a-z-]* exited: code 1' "$work/n1.log" || true)
[ "$failed" -gt 20 ] || fail "$failed starts are no storm"
call mallory /arrays/storm -X DELETE >"$work/answer" || fail "$(cat "$work/answer")"

# --- successes
watch_reports successes
began=$(date +%s%N)
submit mallory "{\"name\":\"sweep\",\"array\":\"0-$((sweep - 1))\",\"roles\":$(role 1m 4Mi 1 true)}"
await 300 "all $sweep jobs succeed" all_succeeded
took_ms=$((($(date +%s%N) - began) / 1000000))
over successes

"$python" "$lib/siege.py" worked "$work/out/ann" >"$work/worked"
longest_ms=$(jq -s '[.[] | select(.call and (.call | endswith("/dataset") | not)) | .ms] | max' "$work/out/ann") # but for 5,000 tasks at first
echo "$failed failures in $seconds s; $sweep jobs in $took_ms ms, $((sweep * 1000 / took_ms)) a second; $(jq .calls "$work/worked") calls over EDL_SOCKET, the longest $longest_ms ms"
holds --argjson most $call_ms --argjson longest "$longest_ms" '.failed == [] and .began == 1 and .finished > 0 and $longest < $most' <"$work/worked" ||
    fail "calls over EDL_SOCKET: $(cat "$work/worked")"
[ "$(call ann /metrics | awk '$1 == "edl_nodes_lost_total" { print $2 }')" = 0 ] || fail 'a lease ended'
echo "start-storm: all good"
