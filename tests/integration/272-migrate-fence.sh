#!/usr/bin/env bash
# A database that the state has left, PostgreSQL or SQLite, gets no leader by mistake: not a scheduler that starts, nor one that waits
# meanwhile. A move that was killed has done nothing, or is ended by typing the same again. Nodes go with the state, there, home and
# there again, and their processes never notice.
# Takes 12 s: makes a server of PostgreSQL, and moves four times
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
state=$work/scheduler port=0
export EDL_TOKEN_FILE=$state/admin-token EDL_SERVER
run_scheduler() { # PATTERN OPTION...: at the address of before
    begin scheduler "$1" edl-scheduler --conf '' --state-dir "$state" --listen "127.0.0.1:$port" --lease 20s --scheduler-name a "${@:2}"
    scheduler=$pid
    port=$(sed 's/.*://' "$state/address")
    EDL_SERVER=http://127.0.0.1:$port
}
migrate() { timeout 300 edl admin migrate --state-dir "$state" "$@" >"$work/out" 2>"$work/err"; }
refused() { # WORDS ARGUMENT...
    if migrate "${@:2}"; then fail "migrated: ${*:2}"; fi
    grep -qF -e "$1" "$work/err" || fail "the error does not say \"$1\": $(cat "$work/err")"
}
sql() { postgresql_sql a edl "$@"; }
hold() { # SQL: a session that has done it stands still until let_go
    sql "BEGIN; $1; SELECT pg_sleep(600); COMMIT" >/dev/null 2>&1 &
    await 120 "it holds: $1" holds_still 1
}
holds_still() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = "$1" ]; }
let_go() { sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null; }
waits() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1' AND wait_event_type = 'Lock'")" = 1 ]; }
gone() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('edl-migrate', 'edl-scheduler')")" = 0 ]; }
leads() { edl ps --json >/dev/null 2>&1; }
knows_term() { [ -e "$work/node/schedulers.json" ] && holds --argjson term "$1" '.term == $term' <"$work/node/schedulers.json"; }
runs() { [ "$(edl show one --json 2>/dev/null | jq -r .job.state)" = running ]; }
goes_with_it() { # WHERE TERM: the node is there, its process is the one of before
    await 120 "a report $1" knows_term "$2"
    await 120 "the job $1" runs
    [ "$(cat "$work/runs")" = started ] || fail "$1: it was started again"
}

run_scheduler policy
line=$(edl node add n1 --foreground 2>/dev/null)
# shellcheck disable=SC2046,SC2086
begin agent "joined as n1" $line --state-dir "$work/node" --conf '' --client-conf '' --runtime direct --no-foreign --heartbeat 200ms --address 127.0.0.1 \
    --cpu 2 --memory 1Gi --cut-off-kill 15m --stop-processes-on-exit $([ "$(id -u)" != 0 ] || echo --allow-root)
edl submit --name one --cpu 1 --memory 64Mi -- sh -c "echo started >>'$work/runs'; exec sleep 1000" >/dev/null
await 120 "the job" runs
end "$scheduler"
postgresql_start a
postgresql_database a edl
url=$(postgresql_url a edl)

# a database that nobody has reached has no state: without it the scheduler starts as before
begin tried 'waits for the database' edl-scheduler --conf '' --state-dir "$work/state-tried" --listen 127.0.0.1:0 --store postgresql://edl@127.0.0.1:1/edl
end "$pid"
begin tried policy edl-scheduler --conf '' --state-dir "$work/state-tried" --listen 127.0.0.1:0
end "$pid"

# broken off behind its commit, in front of the mark: the same again ends it
migrate --to "$url" || fail "not migrated: $(cat "$work/err")"
rm "$state/moved"
migrate --to "$url" --json || fail "it cannot be ended: $(cat "$work/err")"
holds '.replaced and .jobs == 1' <"$work/out" || fail "$(cat "$work/out")"
run_scheduler 'leads (term 1)' --store "$url"
goes_with_it 'in PostgreSQL' 1
rm "$state/moved"
refused 'a scheduler uses the database edl' --to "sqlite:$work/other" --from "$url"
[ ! -e "$work/other/edl.db" ] || fail 'there is a database of a move that was refused'
end "$scheduler"
refused 'holds this cluster already' --to "$url"
echo "$url" >"$state/moved"

# killed while it reads: nothing has happened
hold 'LOCK TABLE job'
edl admin migrate --state-dir "$state" --to "sqlite:$state" --from "$url" >"$work/out" 2>"$work/err" &
killed=$!
await 120 'it waits in the middle' waits edl-migrate
kill -9 $killed
wait $killed 2>/dev/null || true
let_go
await 120 'its session is gone' gone
[ "$(sql 'SELECT moved_wall_us FROM leader')" = 0 ] || fail 'a move that was killed left a mark'
[ -e "$state/moved" ] || fail 'a move that was killed gave the former file free'

# the last step, and a forgotten scheduler that waits for the lock meanwhile: it does not lead
hold 'SELECT 1 FROM leader FOR UPDATE'
timeout 300 edl admin migrate --state-dir "$state" --to "sqlite:$state" --from "$url" >"$work/out" 2>"$work/err" &
moving=$!
await 120 'it waits in its last step' waits edl-migrate
begin b 'listening' edl-scheduler --conf '' --state-dir "$work/state-b" --listen 127.0.0.1:0 --scheduler-name b --store "$url"
b=$pid
await 120 'b waits behind it' waits edl-scheduler
let_go
wait $moving || fail "not back: $(cat "$work/err")"
await 120 'b says why' grep -q "was moved to sqlite:$state on $(uname -n)" "$work/b.log"
curl -sS --max-time 20 "$(cat "$work/state-b/address")/healthz" | holds '.role == "standby"' || fail 'b leads over a database of the past'
end "$b"
if timeout 60 edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 --store "$url" 2>"$work/err"; then fail 'it leaves the state behind'; fi
grep -q 'has the state of a cluster' "$work/err" || fail "$(cat "$work/err")"
if timeout 60 edl-scheduler --conf '' --state-dir "$work/state-c" --listen 127.0.0.1:0 --store "$url" 2>"$work/err"; then fail 'it leads over a database of the past'; fi
grep -q "was moved to sqlite:.*edl admin begin-epoch" "$work/err" || fail "$(cat "$work/err")"
refused "was moved from there to sqlite:$state" --to "sqlite:$work/other" --from "$url"
run_scheduler policy
goes_with_it 'at home' 0
[ "$(sql 'SELECT term FROM leader')" = 1 ] || fail 'b took a term'
edl submit --name two --cpu 1 --memory 64Mi -- true >/dev/null
end "$scheduler"

# there again: rows of the past are replaced, and the term is a later one
migrate --to "$url" || fail "not there again: $(cat "$work/err")"
grep -q 'had were of the past: they are replaced' "$work/out" || fail "$(cat "$work/out")"
run_scheduler 'leads (term 2)' --store "$url"
goes_with_it 'in PostgreSQL again' 2
edl show two >/dev/null || fail 'a job of the time at home is not there'
end "$scheduler"

# broken off behind the mark: no scheduler goes on with either, and the same again ends it
sql "UPDATE leader SET moved_wall_us = 1, moved_to = 'sqlite:$state on $(uname -n)'" >/dev/null
sql "UPDATE clock SET boot_id = 'of another machine', boot_us = 1" >/dev/null # which led last
clock() { sqlite3 -readonly "$state/edl.db" "$1" 2>&1; }
if timeout 60 edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 2>"$work/err"; then fail 'it goes on with the file of the past'; fi
refused "or go back: edl admin migrate --to sqlite:$state" --to "$url" # the file would take the place of newer rows
migrate --to "sqlite:$state" --from "$url" || fail "it cannot be ended: $(cat "$work/err")"
[ ! -e "$state/moved" ] || fail 'it is called moved still'
[ "$(clock 'SELECT boot_id FROM clock')" = "$(cat /proc/sys/kernel/random/boot_id)" ] || fail "the uptime of this machine would count: $(clock 'SELECT * FROM clock')"
[ "$(clock 'SELECT abs(elapsed_us - real_us) < 3600000000 FROM clock')" = 1 ] || fail "the clock: $(clock 'SELECT * FROM clock')"

# the way to go on with the rows of then: what was given since is not given again
first=$(sql 'SELECT max(id) FROM job')
timeout 120 edl-scheduler --conf '' --state-dir "$work/state-b" --store "$url" --begin-epoch >"$work/out" 2>&1 || fail "no epoch: $(cat "$work/out")"
begin b 'leads (term' edl-scheduler --conf '' --state-dir "$work/state-b" --listen 127.0.0.1:0 --scheduler-name b --store "$url"
EDL_SERVER=http://$(sed 's,^http://,,' "$work/state-b/address") EDL_TOKEN_FILE=$work/state-b/admin-token edl submit --name three --json -- true >"$work/out"
[ "$(jq .id "$work/out")" -gt $((first + 100)) ] || fail "numbers may be given twice: $(cat "$work/out")"
