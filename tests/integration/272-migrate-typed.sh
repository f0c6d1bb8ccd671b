#!/usr/bin/env bash
# How people type a move of the state: two at once, root for the account of the folder, that account where root owns it, a folder by
# another name, a relative one, a role that may make no tables, a database without a state. What is refused says what to do.
# Takes 8 s: makes a server of PostgreSQL, and moves six times
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
chmod 711 "$work"
state=$work/scheduler
export EDL_TOKEN_FILE=$state/admin-token EDL_SERVER
migrate() { timeout 300 edl admin migrate "$@" >"$work/out" 2>"$work/err"; }
moved() { migrate "$@" || fail "not migrated: $* $(cat "$work/err")"; }
says() { # WORDS REMEDY
    grep -qF -e "$1" "$work/err" || fail "the error does not say \"$1\": $(cat "$work/err")"
    grep -qF -e "$2" "$work/err" || fail "the remedy does not say \"$2\": $(cat "$work/err")"
}
refused() { # WORDS REMEDY ARGUMENT...
    if migrate "${@:3}"; then fail "migrated: ${*:3}"; fi
    says "$1" "$2"
}
sql() { postgresql_sql a edl "$@"; }
hold() { # SQL: a session that has done it stands still until let_go
    sql "BEGIN; $1; SELECT pg_sleep(600); COMMIT" >/dev/null 2>&1 &
    await 120 "it holds: $1" holds_still 1
}
holds_still() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = "$1" ]; }
let_go() { sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null; }
waits() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'edl-migrate' AND wait_event_type = 'Lock'")" = 1 ]; }
begin_move() { # ARGUMENT...: it stands still in the middle
    timeout 300 edl admin migrate "$@" >"$work/first" 2>&1 &
    moving=$!
    await 120 "it waits in the middle: $*" waits
}
end_move() {
    let_go
    wait $moving || fail "the first one failed: $(cat "$work/first")"
}

begin scheduler policy edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0
EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
edl user add ann --role user >/dev/null
edl submit --name one -- true >/dev/null 2>&1
edl admin backup "$work/backup" >/dev/null
end "$pid"
cp -a "$state" "$work/again"
cp -a "$state" "$work/roots"
postgresql_start a
postgresql_database a edl
postgresql_database a other
url=$(postgresql_url a edl)

# who may make no tables; where nothing is
sql 'CREATE ROLE poor LOGIN'
refused 'permission denied for schema public' 'own the database' --to "${url/postgres@/poor@}" --state-dir "$state"
refused "no scheduler's state is in it" 'name the database' --to "sqlite:$work/home" --from "$(postgresql_url a other)"

# two at once, there: one folder, one database
moved --to "$url" --state-dir "$state"
rm "$state/moved" # as if it had not been done to its end
hold 'SELECT 1 FROM "user" FOR UPDATE'
begin_move --to "$url" --state-dir "$state"
refused 'another edl-scheduler uses the state directory' "for the end of \`edl admin migrate\`" --to "$url" --state-dir "$state"
refused 'another edl-scheduler uses the state directory' 'wait' --to "$(postgresql_url a other)" --state-dir "$state"
refused "another \`edl admin\` copies the state out of the database edl" 'wait for its end' --to "$url" --state-dir "$work/again"
refused "another \`edl admin\` copies the state out of the database edl" 'wait for its end' --to "sqlite:$work/home" --from "$url"
end_move

# two at once, home
hold 'LOCK TABLE job'
begin_move --to "sqlite:$state" --from "$url"
refused 'another edl-scheduler uses the state directory' 'wait' --to "sqlite:$state" --from "$url"
refused "another \`edl admin\` copies the state out of the database edl" 'wait for its end' --to "sqlite:$work/home" --from "$url"
refused "another \`edl admin\` copies the state out of the database edl" 'wait for its end' --to "$url" --state-dir "$work/again"
if timeout 120 edl-scheduler --conf '' --state-dir "$work/restored" --store "$url" --restore "$work/backup" 2>"$work/err"; then fail 'it restores meanwhile'; fi
says "another \`edl admin\` copies the state out of the database edl" 'wait for its end'
end_move
[ "$(sqlite3 -readonly "$state/edl.db" 'SELECT name FROM job')" = one ] || fail 'the job is not there'

# broken off behind its commit, and then moved to another database: the first one takes no file of the past
there=$(postgresql_url a other)
moved --to "$there" --state-dir "$state"
rm "$state/moved"
postgresql_sql a other "UPDATE leader SET moved_wall_us = 1, moved_to = 'sqlite:$state on $(uname -n)'" >/dev/null
moved --to "$url" --state-dir "$state"
refused "is in $url" "go back: edl admin migrate --to sqlite:$state" --to "$there" --state-dir "$state"
[ "$(postgresql_sql a other 'SELECT moved_wall_us FROM leader')" = 1 ] || fail 'a scheduler leads over each of two databases'
moved --to "sqlite:$state" --from "$url"

# a folder by other names is the same one: also where the move was broken off behind its mark
ln -s "$state" "$work/link"
(cd "$work" && moved --to "$url" --state-dir link)
sql "UPDATE leader SET moved_wall_us = 1, moved_to = 'sqlite:$state on $(uname -n)'" >/dev/null
(cd "$state" && moved --to "$url" --state-dir ../link/.)
[ "$(sql 'SELECT moved_to FROM leader')" = '' ] || fail 'it is called moved still'
(cd "$work" && moved --to sqlite:link --from "$url")
if [ ! -L "$work/link" ] || [ -e "$state/moved" ] || [ ! -s "$state/edl.db" ]; then fail "not in the folder: $(ls -l "$state")"; fi

# a new folder has no authority of the cluster
moved --to "$url" --state-dir "$state"
sql "UPDATE leader SET authority = 'sha256:1'" >/dev/null
moved --to "sqlite:$work/new" --from "$url"
grep -q "bring ca.key, ca.pem and admin-token there" "$work/err" || fail "nobody is told of the authority: $(cat "$work/err")"
touch "$work/again/ca.pem"
sql "UPDATE leader SET moved_wall_us = 0, moved_to = ''" >/dev/null
rm "$work/again/edl.db"
moved --to "sqlite:$work/again" --from "$url"
! grep authority "$work/err" || fail 'a warning, and the folder has the authority'
rm "$state/moved"

if [ "$(id -u)" = 0 ]; then
    nobody() { setpriv --reuid=nobody --clear-groups "$@"; }
    mv "$state" "$work/theirs"
    chown -R nobody "$work/theirs"
    (cd "$work" && moved --to "$url" --state-dir theirs)
    (cd "$work" && moved --to sqlite:theirs --from "$url")
    [ "$(find "$work/theirs" ! -user nobody)" = '' ] || fail "not the account's: $(ls -l "$work/theirs")"
    if nobody "$EDL_BUILD_DIR/edl" admin migrate --to "$url" --state-dir "$work/roots" >"$work/out" 2>"$work/err"; then fail "another's state was moved"; fi
    says 'belongs to somebody else' 'do it as its owner: runuser'
fi
