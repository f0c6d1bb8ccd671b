#!/usr/bin/env bash
# History is bounded: old events are compacted and said to be (410, and where to go on), jobs that are over are forgotten
# with all that belongs to them, and a restart brings nothing of it back.
# Takes 6 s: 36 jobs are submitted and killed, a program for each call, and the scheduler begins three times
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
pid=''
trap '[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" || true; }; rm -rf "$work"' EXIT

start() { # OPTION...: until it says that it listens
    rm -f "$work/log"
    mkfifo "$work/log"
    edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port" "$@" 2>"$work/log" &
    pid=$!
    exec 7<"$work/log"
    while read -r -t 120 line <&7; do
        case $line in *"listening on"*) break ;; esac
    done
    case ${line:-} in *"listening on"*) ;; *) fail "the scheduler did not start: $line" ;; esac
    cat <&7 >/dev/null &
    EDL_SERVER=http://$(cat "$work/port") EDL_TOKEN_FILE=$work/state/admin-token
    export EDL_SERVER EDL_TOKEN_FILE
}

stop() {
    kill "$1" "$pid"
    wait "$pid" 2>/dev/null || true
    pid=''
}

api() { # PATH
    curl -sS --max-time 40 -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER$1"
}

come_and_go() { # FIRST LAST: jobs that are submitted and killed
    local i
    for i in $(seq "$1" "$2"); do
        edl submit --name "job-$i" -- true >/dev/null
        edl kill "job-$i" >/dev/null
    done
}

jobs() {
    api '/jobs?state=all' | jq -r '[.jobs[].name] | join(" ")'
}

check() {
    [ "$(jobs)" = "$1" ] || fail "jobs are $(jobs), not $1"
    api /events >"$work/events"
    holds '.newest - .oldest < 15 and [.events[].revision] == [range(.oldest; .newest + 1)]' <"$work/events" ||
        fail "the events are not the newest, without a gap: $(jq -c '[.oldest, .newest, [.events[].revision]]' "$work/events")"
    gone=$(api '/events?after=0')
    [ "$(jq '.status' <<<"$gone")" = 410 ] || fail "events from the first on: $gone"
    [ "$(jq '.after' <<<"$gone")" = "$(($(jq .oldest "$work/events") - 1))" ] || fail "where to go on: $gone"
    api "/events?after=$(jq .after <<<"$gone")" | holds '.events | length > 0' || fail 'cannot go on there'
    # as a stream the answer is the same
    [ "$(curl -sS -o "$work/out" -w '%{http_code}' -H 'Accept: text/event-stream' -H 'Last-Event-ID: 0' \
        -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER/events")" = 410 ] || fail 'a stream from the first event on'
    [ "$(api /jobs/1 | jq .status)" = 404 ] || fail 'a job that was forgotten is there'
    edl logs job-1 2>/dev/null && fail 'logs of a job that was forgotten'
    return 0
}

start
come_and_go 1 30
[ "$(jobs | wc -w)" = 30 ] || fail 'everything is kept by default'
stop -TERM
start --keep-events 10 --keep-jobs 3
come_and_go 31 34
check 'job-32 job-33 job-34'
stop -KILL
start --keep-events 10 --keep-jobs 3
check 'job-32 job-33 job-34'
come_and_go 35 36
check 'job-34 job-35 job-36'
stop -TERM
[ "$(state_sql 'SELECT count(*) FROM job')" -le 4 ] || fail 'rows of job are left'
for table in process queue task log_tail forgotten; do
    [ "$(state_sql "SELECT count(*) FROM $table")" = 0 ] || fail "rows of $table are left"
done
