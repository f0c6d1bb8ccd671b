#!/usr/bin/env bash
# Six jobs of one user (EDL_DATASET_JOBS) give datasets of as many tasks as there may be, at once: the loop goes on, the lease of nobody
# ends, and all tasks are there after a restart. More tasks, more bytes, and more of all jobs of a user are refused with what
# to do; the same dataset again costs nothing.
# Takes 30 s: six datasets of 100,000 tasks are sent twice, stored, and loaded again after a kill
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
jobs=${EDL_DATASET_JOBS:-6}
tasks=${EDL_DATASET_TASKS:-100000}
longest=${EDL_LONGEST_STOP_MS:-2500} # a quarter of the lease; a machine that does nothing else stays below a tenth, what else it does is left out

cat >"$work/scheduler.conf" <<END
state-dir: $work/scheduler
listen: [127.0.0.1:0]
lease: 10s
max-user-tasks: 0
max-user-datasets: 0
max-job-dataset: 8Mi
END
start() {
    begin scheduler "policy" edl-scheduler --conf "$work/scheduler.conf"
    scheduler=$pid
}
start
EDL_SERVER=http://$(cat "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
sed -i "s/127.0.0.1:0/${EDL_SERVER#http://}/" "$work/scheduler.conf" # the same after a restart
# shellcheck disable=SC2046
begin agent "joined as n1" $(edl node add --foreground n1 2>/dev/null) --state-dir "$work/node" --allow-root --no-foreign \
    --heartbeat 300ms --address 127.0.0.1

api() { # METHOD PATH [CURL ARGUMENTS...]
    local method=$1 path=$2
    shift 2
    curl -sS --max-time 60 -X "$method" -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$@" "$EDL_SERVER$path"
}
body() { # TASKS FILE
    "$python" - "$1" >"$work/$2" <<'END'
import sys
print('{"digest":"d1","tasks":[' + ",".join(
    '{"chunks":[{"path":"/data/part-%06d","offset":0,"records":9}]}' % i for i in range(int(sys.argv[1]))) + "]}")
END
}
body "$tasks" f
body $((tasks + 1)) m
body 1 s
printf '%9437184s' '' >"$work/l"

# Each gives what it is told to, once all are there: the status and the answer are its output. All at once are more than a node
# holds of bodies: a job that is answered 429 comes again when Retry-After says so, as the library does.
cat >"$work/give" <<END
#!/bin/bash
while read -r file; do
    curl -sS --max-time 100 --retry 60 --unix-socket "\$EDL_SOCKET" -X PUT --data-binary "@$work/\$file" -H 'Content-Type: application/json' \
        -H 'Expect:' -o "$work/answer.\$EDL_JOB" -w '%{http_code}\n' http://edl/jobs/self/dataset >"$work/status.\$EDL_JOB.\$file"
done <>"$work/orders.\$EDL_JOB"
END
chmod +x "$work/give"
order() { # FILE JOB...
    local file=$1 job
    shift
    for job in "$@"; do
        rm -f "$work/status.$job.$file"
        echo "$file" >"$work/orders.$job"
    done
}
submit() { # NAME
    mkfifo "$work/orders.$1"
    api POST /jobs --fail -o "$work/told" -d "{\"metadata\":{\"name\":\"$1\"},\"spec\":{\"fault_tolerant\":true,\"trainer\":{\"command\":[\"$work/give\"],
        \"min-instance\":1,\"max-instance\":1,\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}}}" || fail "$(cat "$work/told")"
}
running() { [ "$(api GET /jobs | jq '[.jobs[] | select(.state == "running")] | length')" -ge "$1" ]; }
given() { # JOB FILE STATUS
    [ "$(cat "$work/status.$1.$2" 2>/dev/null)" = "$3" ]
}
statuses() { # FILE: how many have been answered
    find "$work" -name "status.*.$1" -size +0 | wc -l
}
answered() { [ "$(statuses "$1")" -ge "$2" ]; }

# --- what is too much is refused, and says what to do
submit alone
await 120 "a job runs" running 1
order m alone
await 120 "too many tasks are answered" answered m 1
given alone m 422 || fail "$(cat "$work"/status.alone.m "$work/answer.alone")"
grep -q "put more chunks into each task" "$work/answer.alone" || fail "$(cat "$work/answer.alone")"
order l alone
await 120 "too many bytes are answered" answered l 1
given alone l 413 || fail "$(cat "$work"/status.alone.l "$work/answer.alone")"
api DELETE /jobs/alone >/dev/null

# --- as much as there may be, at once
for i in $(seq "$jobs"); do submit "j$i"; done
await 120 "$jobs jobs run" running "$jobs"
mkfifo "$work/ask"
"$python" "$EDL_SOURCE_DIR/tests/lib/loop_stops.py" "${EDL_SERVER#http://}" "$scheduler" <"$work/ask" >"$work/stops" 2>"$work/asker.log" &
asker=$!
exec 8>"$work/ask"
await 120 "the loop is asked" grep -q asking "$work/asker.log"
SECONDS=0
mapfile -t all < <(seq -f 'j%.0f' "$jobs")
order f "${all[@]}"
await 900 "all are answered" answered f "$jobs"
took=$SECONDS
# --- and once more, which nobody reads
order f "${all[@]}"
await 900 "all are answered again" answered f "$jobs"
exec 8>&-
wait $asker
stops=$(cat "$work/stops")
echo "$jobs datasets of $tasks tasks in $took s; longest answers in ms: $stops"
grep -hv '^200$' "$work"/status.j*.f && fail "$(cat "$work"/answer.j*)"
[ "$(cut -d' ' -f1 <<<"$stops")" -le "$longest" ] || fail "the loop stood for longer than $longest ms"
grep 'node-lost' "$work/scheduler.log" && fail "a lease ended"
echo "memory: $(grep -h 'VmHWM' "/proc/$scheduler/status")"

# --- all of them are there after a restart, and nothing of another
for i in $(seq "$jobs"); do
    [ "$(api GET "/jobs/j$i/dataset" | jq -c '[.digest, .tasks]')" = "[\"d1\",$tasks]" ] || fail "$(api GET "/jobs/j$i/dataset")"
done
kill -9 "$scheduler"
wait "$scheduler" || true
start
for i in $(seq "$jobs"); do
    [ "$(api GET "/jobs/j$i/dataset" | jq -c '[.digest, .tasks]')" = "[\"d1\",$tasks]" ] || fail "$(api GET "/jobs/j$i/dataset")"
done
# --- what all jobs of a user may have
echo "max-user-tasks: $((tasks * jobs))" >>"$work/scheduler.conf"
sed -i '/max-user-tasks: 0/d' "$work/scheduler.conf"
kill -HUP "$scheduler"
submit beyond
await 120 "another job runs" running $((jobs + 1))
order s beyond
await 120 "the job beyond is answered" answered s 1
given beyond s 422 || fail "$(cat "$work"/status.beyond.s "$work/answer.beyond")"
grep -q "tasks of jobs that are not over of" "$work/answer.beyond" || fail "$(cat "$work/answer.beyond")"
echo "datasets: all good"
