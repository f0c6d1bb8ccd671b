#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A disk that takes a second to remove a file of a process, and control groups and /proc that take as long for the agent, while jobs fail one
# after the other. The node goes on to report, and a process of another user is answered over EDL_SOCKET.
# Takes 25 s: each removal of a file of a process takes a second, on purpose, and three jobs end
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
slow=$EDL_BUILD_DIR/tests/lib/slow_files.so
lib=$EDL_SOURCE_DIR/tests/lib
most_ms=5000 # a node is silent, or a call waits: what a busy machine keeps as well. One process alone would take 6,000 ms to remove.
fails=3

[ "$(id -u)" = 0 ] || { echo 'needs root: an agent that gives each user a number of their own'; exit 77; }
[ -e "$slow" ] || { echo "$slow is not built"; exit 77; }
ldd "$EDL_BUILD_DIR/edl-agent" | lacks libasan || { echo 'a sanitizer does not let others come first'; exit 77; }
chmod 755 "$work"
mkdir -m 1777 "$work/out"
mkdir "$work/lib"
install -m 644 "$lib"/*.py "$work/lib" # where accounts without a name may read them

begin scheduler policy edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --lease 30s
scheduler=$pid
address=$(cat "$work/state/address")
export EDL_SERVER=http://$address EDL_TOKEN_FILE=$work/state/admin-token
export EDL_TEST_SLOW_MS=1000
begin n1 "joined as n1" env LD_PRELOAD="$slow" "$EDL_BUILD_DIR/edl-agent" --conf '' --node n1 --scheduler "$EDL_SERVER" \
    --join-token-file "$work/state/join-token" --state-dir "$work/n1" --runtime direct --no-foreign --address 127.0.0.1 \
    --user-range 900000-900099 --cpu 8 --memory 16Gi --overcommit --stop-processes-on-exit --heartbeat 500ms
agent=$pid
edl user add ann --role user >"$work/err"
edl token create --user ann --ttl 1h >"$work/ann" 2>"$work/err"
call() { # PATH [CURL ARGUMENTS...]
    local path=$1
    shift
    curl -sS --fail-with-body --max-time 120 -H "Authorization: Bearer $(cat "$work/ann")" "$@" "$EDL_SERVER$path"
}
submit() { call /jobs -d "$1" >"$work/answer" || fail "$(cat "$work/answer")"; }
role() { # CPU MEMORY COMMAND...
    jq -cn --arg cpu "$1" --arg memory "$2" '[{role: "trainer", min: 1, max: 1, cpu: $cpu, memory: $memory, command: $ARGS.positional}]' --args -- "${@:3}"
}
works() { [ -s "$work/out/ann" ] && grep -q '"task"' "$work/out/ann"; }
ended() { [ "$(call /metrics | awk '$1 == "edl_jobs_ended_total{state=\"failed\"}" { n = $2 } END { print n + 0 }')" -ge $fails ]; }
no_folders() { silent find "$work/n1/processes" -mindepth 1 -maxdepth 1 -name '*.trainer.0.1' -newer "$work/begun"; }

submit "{\"name\":\"works\",\"fault_tolerant\":true,\"roles\":$(role 4 256Mi "$python" "$work/lib/siege.py" worker "$work/out/ann")}"
await 120 "a process is answered" works
nice_of() { ps -o ni= -p "$1" | tr -d ' '; }
if [ "$(nice)$(nice -n -1 nice)" = 0-1 ]; then # root of a container may not be allowed to; other values are somebody's wish
    [ "$(nice_of "$agent")" -lt 0 ] || fail "the agent has no precedence: nice $(nice_of "$agent")"
fi
[ "$(nice_of "$(pgrep -f "worker $work/out/ann" | head -n 1)")" = "$(nice)" ] || fail "a process of a job inherits the agent's precedence"
touch "$work/begun"
"$python" "$lib/report_gaps.py" "$EDL_SERVER" "$work/ann" n1 "$work/over" $scheduler $agent >"$work/gaps" &
looks=$!
submit "{\"name\":\"fails\",\"array\":\"0-$((fails - 1))\",\"roles\":$(role 1m 4Mi false)}"
await 300 "all jobs end" ended
await 300 "the folders of all processes are removed" no_folders # the jobs themselves may be over within one heartbeat
touch "$work/over"
wait $looks
echo "reports: $(cat "$work/gaps")"
holds --argjson most $most_ms '.reports > 1 and .longest_ms < $most' <"$work/gaps" || fail "the node was silent for too long"
longest_ms=$(jq -s '[.[] | select(.call and (.call | endswith("/dataset") | not)) | .ms] | max' "$work/out/ann") # but for 5,000 tasks at first
[ "$longest_ms" -lt $most_ms ] || fail "a call over EDL_SOCKET took $longest_ms ms"
echo "slow-disk: $(jq -s 'length' "$work/out/ann") lines of calls, the longest call $longest_ms ms: all good"
