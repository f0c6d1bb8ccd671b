#!/usr/bin/env bash
# The state goes from SQLite to PostgreSQL and back: numbers, rights and rows stay what they were, the source is not changed, and
# a kill in the middle leaves nothing. Targets that are not fit are refused with a remedy.
# Takes 10 s: makes a server of PostgreSQL, and migrates some ten times
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
state=$work/scheduler
export EDL_TOKEN_FILE=$state/admin-token

run_scheduler() {
    begin scheduler "policy" edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0
    export EDL_SERVER
    EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
}
migrate() { edl admin migrate --state-dir "$state" "$@" >"$work/out" 2>"$work/err"; }
refused() { # WORDS REMEDY ARGUMENT...: both are in the error
    local words=$1 remedy=$2
    shift 2
    if migrate "$@"; then fail "migrated: $*"; fi
    grep -qF -e "$words" "$work/err" || fail "the error does not say \"$words\": $(cat "$work/err")"
    grep -qF -e "$remedy" "$work/err" || fail "the remedy does not say \"$remedy\": $(cat "$work/err")"
}
# hold SQL: a session that has done it stands still until let_go
hold() {
    postgresql_sql a edl "BEGIN; $1; SELECT pg_sleep(600); COMMIT" >/dev/null 2>&1 &
    await 120 "it holds: $1" holds_still 1
}
holds_still() { [ "$(postgresql_sql a edl "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = "$1" ]; }
let_go() {
    postgresql_sql a edl "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null
    await 120 'it is gone' holds_still 0
}
digest() { sha256sum "$state/edl.db" | cut -d ' ' -f 1; }

run_scheduler
edl user add ann --role user >/dev/null
removed=$(edl token create --user ann --note old --json | jq -r .id)
edl token create --user ann --note laptop --json | jq -r .token >"$work/token"
edl token remove "$removed" >/dev/null
edl submit --name first -- true >/dev/null
edl submit --name odd -- sh -c $'echo "\t\\N\n\\\\"' >/dev/null
n_jobs=$(edl ps --json | jq '.jobs | length')
postgresql_start a
postgresql_database a edl
url=$(postgresql_url a edl)

refused 'another edl-scheduler uses' 'stop it' --to "$url"
end "$pid"
before=$(digest)
refused 'neither postgresql://... nor sqlite:DIR' 'for example' --to mysql://x/y
refused 'no database is named' '--from' --to "sqlite:$work/other"
refused '"nowhere" does not exist' '' --to "$(postgresql_url a nowhere)"
postgresql_sql a postgres "CREATE ROLE poor LOGIN" "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'" >/dev/null
refused 'permission denied' '' --to "${url/postgres@/poor@}"
refused 'encoding' 'createdb --template=template0' --to "$(postgresql_url a latin)"
refused '' '' --to 'postgresql://edl:geheim@127.0.0.1:1/edl'
! grep -q geheim "$work/err" "$work/out" || fail "the password is told: $(cat "$work/err")"
refused '--from goes with' 'goes to PostgreSQL' --to "$url" --from "$url"
refused 'No such file' 'give the folder' --to "$url" --state-dir "$work/none"
[ ! -e "$work/none" ] || fail 'a folder was made of a typing error'
between() { # HOW WORDS REMEDY: what stands there says so of the server
    local port
    coproc there { exec "$python" "$EDL_SOURCE_DIR/tests/lib/postgresql_between.py" "$postgresql_dir/a/.s.PGSQL.5432" "$1"; }
    read -r -t 120 port <&"${there[0]}" || fail "it does not listen: $1"
    refused "$2" "$3" --to "postgresql://postgres@127.0.0.1:$port/edl?sslmode=disable"
    kill "$there_PID"
    wait "$there_PID" || true
}
between pooler 'a pooler' 'servers themselves'
between old 'is PostgreSQL 13' '14 or newer'

# a scheduler that is told of the other database too early, or is made a standby of another cluster
left_behind() { # WHAT OPTION...
    if timeout 120 edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 "${@:2}" >"$work/err" 2>&1; then fail "$1"; fi
    grep -q 'has the state of a cluster.*edl admin migrate' "$work/err" || fail "$(cat "$work/err")"
}
left_behind 'its state was left behind' --store "$url"
left_behind 'it became a standby' --join-standby http://127.0.0.1:1 --token none
[ "$(digest)" = "$before" ] || fail 'the source was changed'

empty() { # nothing of a cluster is in the target
    local table
    for table in job event '"user"' token audit; do
        [ "$(postgresql_sql a edl "SELECT count(*) FROM $table")" = 0 ] || fail "$1 left a part of it: $table"
    done
    [ ! -e "$state/moved" ] || fail "$1: it is called moved"
}

# an error at the end of it all
cp -r "$state" "$work/bad"
sqlite3 "$work/bad/edl.db" "INSERT INTO log_tail (job_id, role, idx, incarnation, sequence, text) VALUES (77, 't', 0, 1, 1, '')"
refused 'foreign key' '' --to "$url" --state-dir "$work/bad"
empty 'an error'

# a scheduler that waits for the database, or leads on it
hold 'SELECT pg_advisory_lock(4711)'
refused 'a scheduler uses the database edl' 'systemctl stop' --to "$url"
let_go

# killed in the middle: it waits for a row of one of the last tables, and the first ones are written
hold "INSERT INTO \"user\" (name, role, created_wall_us) VALUES ('ann', 'user', 1)"
edl admin migrate --state-dir "$state" --to "$url" >"$work/out" 2>"$work/err" &
killed=$!
waits() { [ "$(postgresql_sql a edl "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'edl-migrate' AND wait_event_type = 'Lock'")" = 1 ]; }
await 120 'it waits in the middle' waits
kill -9 "$killed"
wait "$killed" || true
let_go
gone() { [ "$(postgresql_sql a edl "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'edl-migrate'")" = 0 ]; }
await 120 'its session is gone' gone
empty 'a kill'

migrate --to "$url" --json || fail "not migrated: $(cat "$work/err")"
[ "$(jq .jobs "$work/out")" = "$n_jobs" ] || fail "$(cat "$work/out")"
[ "$(jq -r .conf "$work/out")" = "store: $url" ] || fail "$(cat "$work/out")"
[ "$(jq -r '.tables[] | select(.table == "job") | .rows' "$work/out")" = "$n_jobs" ] || fail "$(cat "$work/out")"
[ "$(digest)" = "$before" ] || fail 'the source was changed'
[ ! -e "$state/edl.db-wal" ] || fail 'there is a log beside the source'
[ "$(postgresql_sql a edl "SELECT count(*) FROM job WHERE name = 'first'")" = 1 ] || fail 'the job is not there'

# what was moved is of the past
if timeout 60 edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 >"$work/err" 2>&1; then fail 'it started with the state of then'; fi
grep -q "is in postgresql://" "$work/err" || fail "$(cat "$work/err")"
refused ' is in postgresql' "write \`store: " --to "$url"
mv "$state/moved" "$work/moved"
postgresql_sql a edl 'UPDATE leader SET led = 1' >/dev/null # a scheduler has
refused 'holds this cluster already' createdb --to "$url"
sqlite3 "$state/edl.db" 'UPDATE schema_migration SET applied_us = 1 WHERE version = 1'
refused 'holds another cluster already' createdb --to "$url"
mv "$work/moved" "$state/moved"

# of a newer program
postgresql_sql a postgres "CREATE DATABASE newer TEMPLATE edl" >/dev/null
postgresql_sql a newer "INSERT INTO schema_migration VALUES (9999, 'of a year on', 1)" >/dev/null
refused 'schema 9999' 'newer edl-scheduler' --to "sqlite:$work/other" --from "$(postgresql_url a newer)"
[ ! -e "$work/other/edl.db" ] || fail 'a database was made of it'
postgresql_sql a newer "DELETE FROM schema_migration WHERE version > 49" >/dev/null
refused 'has schema 49' 'start this edl-scheduler' --to "sqlite:$work/other" --from "$(postgresql_url a newer)"

postgresql_sql a edl 'UPDATE leader SET term = 7' >/dev/null
migrate --to "sqlite:$state" --from "$url" || fail "not back: $(cat "$work/err")"
grep -q 'the database of before is' "$work/out" || fail "$(cat "$work/out")"
[ ! -e "$state/moved" ] || fail 'it is called moved still'
refused 'is there already, and the state came to it from there' 'store: sqlite' --to "sqlite:$state" --from "$url"
mkdir -m 700 "$work/used"
touch "$work/used/edl.db"
refused 'is there already' 'give another folder' --to "sqlite:$work/used" --from "$url"
[ "$(cat "$state/term")" = 7 ] || fail "the term is not kept: $(cat "$state/term")"
if [ "$(id -u)" = 0 ]; then # root does it as the account of the folder, and nodes hear of no lower term
    chmod 711 "$work"
    cp -r "$state" "$work/others"
    chown -R nobody "$work/others"
    postgresql_database a other
    edl admin migrate --state-dir "$work/others" --to "$(postgresql_url a other)" >/dev/null || fail 'not migrated for another account'
    [ "$(stat -c %U "$work/others/moved")" = nobody ] || fail "it was done as $(stat -c %U "$work/others/moved")"
    [ "$(postgresql_sql a other 'SELECT term FROM leader')" = 7 ] || fail 'the term begins anew'
fi
run_scheduler
[ "$(edl ps --json | jq '.jobs | length')" = "$n_jobs" ] || fail 'jobs are missing'
[ "$(edl submit --name next --json -- true | jq .id)" = $((n_jobs + 1)) ] || fail 'numbers do not go on'
[ "$(edl token create --user ann --json | jq -r .id)" -gt $((removed + 1)) ] || fail 'the number of a token is given twice'
[ "$(EDL_TOKEN_FILE=$work/token edl whoami --json | jq -r .user)" = ann ] || fail 'her token is gone'
end "$pid"
