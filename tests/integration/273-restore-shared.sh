#!/usr/bin/env bash
# A database that schedulers share is backed up, and put back to an earlier moment: by edl admin restore from a file, and by other
# means with edl admin begin-epoch behind them. No number is given twice, removed rights stay removed, and the term goes on. Archives of
# workspaces that jobs need and that are not there are named: a backup of either engine has none. An empty database takes a backup, an older
# schema an epoch, and the database of another cluster neither.
# Takes 15 s: makes a server of PostgreSQL, migrates twice and restores three times
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
state=$work/scheduler
export EDL_TOKEN_FILE=$state/admin-token EDL_SERVER
run_scheduler() { # PATTERN OPTION...
    begin scheduler "$1" edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 "${@:2}"
    EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
}
shared() { timeout 120 edl-scheduler --conf '' --state-dir "$state" --store "$url" "$@" >"$work/out" 2>"$work/err" || fail "$*: $(cat "$work/err")"; }
sql() { postgresql_sql a edl "$@"; }
leads() { edl ps --json >/dev/null 2>&1; }
first_job() { sed -n 's/^new jobs are numbered from \([0-9]*\) on$/\1/p' "$work/out"; }

run_scheduler policy
edl user add ann --role user >/dev/null
gone=$(edl token create --user ann --note gone --json | jq -r .id)
echo archive >"$work/archive"
sha=$(sha256sum "$work/archive" | cut -d ' ' -f 1)
curl -sS --max-time 60 -o /dev/null -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" -H 'Content-Type: application/octet-stream' \
    -T "$work/archive" "$EDL_SERVER/workspaces/$sha"
edl submit --name first --workspace "sha256:$sha" -- true >/dev/null 2>&1
edl admin backup "$work/backup"
edl token remove "$gone" >/dev/null
edl submit --name later -- true >/dev/null 2>&1
end "$pid"
postgresql_start a
postgresql_database a edl
url=$(postgresql_url a edl)
edl admin migrate --to "$url" --state-dir "$state" >/dev/null || fail 'not migrated'
sql 'UPDATE leader SET term = 7' >/dev/null
newest=$(sql 'SELECT max(revision) FROM event')

lacks() { # NAME: the error says so, and of which job it is
    grep -q 'jobs need are not here.*: 1;' "$work/err" && grep -q "^  sha256:$sha  job 1 of admin\$" "$work/err" || fail "$1: $(cat "$work/err")"
}
has_all() { ! grep -q 'are not here' "$work/err" || fail "$1: $(cat "$work/err")"; }

# the file takes the place of the rows; what the database knew to be removed stays so
shared --restore "$work/backup"
grep -qx 'restored 1 job and 0 nodes' "$work/out" || fail "$(cat "$work/out")"
grep -qx 'revoked since the backup, and still so: 1' "$work/out" || fail "a removed token is not told: $(cat "$work/out")"
[ "$(sql 'SELECT count(*) FROM token')" = 0 ] || fail 'a removed token is back'
[ "$(sql 'SELECT name FROM job')" = first ] || fail "jobs: $(sql 'SELECT name FROM job')"
[ "$(sql 'SELECT term > 7 FROM leader')" = t ] || fail 'a term may be given twice'
has_all 'the database has the archive'
first=$(first_job)
[ "$first" -ge 1000 ] || fail "the number of a job may be given twice: $first"
aside=$(sed -n 's/^the former database is //p' "$work/out")
[ "$(sqlite3 -readonly "$aside" 'SELECT count(*) FROM job')" = 2 ] || fail "the former database is not $aside"

# by the tools of the database: nobody knows what was removed, and a later backup does
mv "$state/workspaces/$sha" "$work/kept"
sql 'DELETE FROM workspace' >/dev/null
shared --begin-epoch
lacks 'a database without archives'
grep -q 'rights that were revoked since the backup are valid again' "$work/err" || fail "no warning: $(cat "$work/err")"
[ "$(first_job)" -gt "$first" ] || fail 'the number of a job may be given twice'
[ "$(sql 'SELECT count(*) FROM epoch')" = 2 ] || fail 'there is no new epoch'
sql "INSERT INTO token (id, hash, \"user\", note, created_wall_us, expires_wall_us) VALUES ($gone, 'h', 'ann', 'gone', 1, 0)" >/dev/null
shared --begin-epoch --former "$aside"
grep -qx 'revoked since the backup, and still so: 1' "$work/out" || fail "a removed token is not told: $(cat "$work/out")"
[ "$(sql 'SELECT count(*) FROM token')" = 0 ] || fail 'a removed token is back'

# a leader numbers behind all of them. A backup beside its work has the form of every other, and goes in again
first=$(first_job)
run_scheduler 'listening' --store "$url"
await 120 'it leads' leads
[ "$(edl submit --name shared --json -- true 2>/dev/null | jq .id)" = "$first" ] || fail 'a leader does not number jobs as it says'
edl admin backup "$work/shared" || fail 'no backup of a database that is shared'
[ "$(sqlite3 -readonly "$work/shared" "SELECT id FROM job WHERE name = 'shared'")" = "$first" ] || fail 'the backup lacks the newest job'
if timeout 120 edl-scheduler --conf '' --state-dir "$work/other" --store "$url" --restore "$work/shared" 2>"$work/err"; then fail 'restored under a leader'; fi
grep -q 'a scheduler uses the database edl' "$work/err" || fail "$(cat "$work/err")"
end "$pid"
shared --restore "$work/shared"
lacks 'a backup of PostgreSQL in PostgreSQL'
[ "$(sql "SELECT count(*) FROM job WHERE name = 'shared'")" = 1 ] || fail 'the job of the backup is not there'

# a database that lost all of it: nobody begins a new cluster there, whose nodes would end all that they run; a backup goes in again
postgresql_sql a postgres 'DROP DATABASE edl' >/dev/null
postgresql_database a edl >/dev/null
begin scheduler "no scheduler's state is in it, and the state of term" edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 --store "$url"
grep -q 'edl admin restore FILE; .*remove the file term of each state directory, and start them' "$work/scheduler.log" || fail "no remedy: $(cat "$work/scheduler.log")"
end "$pid"
if timeout 120 edl-scheduler --conf '' --state-dir "$state" --store "$url" --begin-epoch 2>"$work/err"; then fail 'an epoch of nothing'; fi
grep -q "no scheduler's state is in it (opening it); name the database that has it" "$work/err" || fail "$(cat "$work/err")"
[ "$(sql "SELECT to_regclass('job') IS NULL")" = t ] || fail 'a schema was made'
term=$(cat "$state/term")
if timeout 120 edl-scheduler --conf '' --state-dir "$state" --store "$url" --restore "$work/archive" 2>"$work/err"; then fail 'no backup is restored'; fi
grep -q 'the rows are as they were' "$work/err" || fail "$(cat "$work/err")"
[ "$(sql "SELECT to_regclass('job') IS NULL")" = t ] || fail 'a schema was made for a file that is no backup'
shared --restore "$work/shared"
[ "$(sql "SELECT term > $term FROM leader")" = t ] || fail 'a term may be given twice'
run_scheduler 'listening' --store "$url"
await 120 'it leads over the backup' leads
end "$pid"

# one of before an upgrade, and of an earlier term: what is told is what helps
sql "ALTER TABLE leader DROP COLUMN moved_wall_us, DROP COLUMN moved_to, DROP COLUMN led" 'DELETE FROM schema_migration WHERE version = 51' \
    'UPDATE leader SET term = 5' >/dev/null
begin scheduler 'it has rows of term 5, and term' edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 --store "$url"
end "$pid"
shared --begin-epoch
[ "$(sql 'SELECT max(version) FROM schema_migration')" -ge 51 ] || fail 'the schema is not brought forward'
run_scheduler 'listening' --store "$url"
await 120 'it leads in the new epoch' leads
end "$pid"

# the database of another cluster gets no epoch
mkdir -m 700 "$work/foreign"
begin foreign 'listening on https' edl-scheduler --conf '' --state-dir "$work/foreign" --listen https://127.0.0.1:0
end "$pid"
sql "UPDATE leader SET authority = 'sha256:00'" >/dev/null
sql 'ALTER TABLE leader DROP COLUMN moved_wall_us, DROP COLUMN moved_to, DROP COLUMN led' 'DELETE FROM schema_migration WHERE version = 51' >/dev/null
term=$(sql 'SELECT term FROM leader')
for wish in --begin-epoch "--restore $work/shared"; do
    # shellcheck disable=SC2086
    if timeout 120 edl-scheduler --conf '' --state-dir "$work/foreign" --store "$url" $wish 2>"$work/err"; then fail "$wish of another cluster"; fi
    grep -q 'is of another cluster.*name the database of this cluster' "$work/err" || fail "$(cat "$work/err")"
done
[ "$(sql 'SELECT term FROM leader')" = "$term" ] || fail 'another cluster has another term'
[ "$(sql 'SELECT count(*) FROM schema_migration WHERE version = 51')" = 0 ] || fail 'another cluster has another schema'
sql "UPDATE leader SET authority = ''" >/dev/null
shared --begin-epoch # which brings that schema forward

# in a file it goes on as well
edl admin migrate --to "sqlite:$state" --from "$url" >/dev/null || fail 'not back'
first=$(first_job)
run_scheduler policy
[ "$(edl submit --name next --json -- true 2>/dev/null | jq .id)" = "$first" ] || fail 'jobs are not numbered as it says'
end "$pid"
[ "$(sqlite3 -readonly "$state/edl.db" 'SELECT max(revision) FROM event')" -gt "$newest" ] || fail 'the number of an event was given twice'

# by one statement of the command line, and where the state is in a file, too
edl admin begin-epoch --state-dir "$state" >"$work/out" || fail 'no epoch begun'
[ "$(first_job)" -gt "$first" ] || fail "jobs are numbered from $(first_job)"

# a backup of one engine in the other: the folder of archives is what it was
for backup in "$work/shared" "$work/backup"; do
    edl admin restore "$backup" --state-dir "$work/fresh" >"$work/out" 2>"$work/err" || fail "no restore of $backup: $(cat "$work/err")"
    lacks "$backup in SQLite"
done
mkdir -p "$work/fresh/workspaces"
cp "$work/kept" "$work/fresh/workspaces/$sha"
edl admin restore "$work/shared" --state-dir "$work/fresh" >"$work/out" 2>"$work/err" || fail "no restore: $(cat "$work/err")"
has_all 'the folder has the archive'
