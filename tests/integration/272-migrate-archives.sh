#!/usr/bin/env bash
# Archives of workspaces go with the state, from the folder into PostgreSQL and back into a folder, whole, with the users whose they are.
# One that is damaged stays behind and is named, and too little room is told before anything is copied. A move that is killed can be
# typed again.
# Takes 8 s: makes a server of PostgreSQL, and moves three times
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
state=$work/scheduler
export EDL_SERVER
run_scheduler() { # PATTERN OPTION...
    begin scheduler "$1" edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 --scheduler-name a "${@:2}"
    EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
}
migrate() { timeout 300 edl admin migrate --state-dir "$state" "$@" >"$work/out" 2>"$work/err"; }
sql() { postgresql_sql a edl "$@"; }
ask() { # USER PATH CURL-OPTION...
    curl -sS --max-time 60 -H "Authorization: Bearer $(cat "$work/$1")" "${@:3}" "$EDL_SERVER$2"
}
put() { # USER NAME: the file of that name is uploaded; its digest is $sha
    sha=$(sha256sum "$work/$2" | cut -d ' ' -f 1)
    [ "$(ask "$1" "/workspaces/$sha" -o "$work/answer" -w '%{http_code}' -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$work/$2")" = 200 ] ||
        fail "$2: $(cat "$work/answer")"
}
gets() { # USER DIGEST NAME
    ask "$1" "/workspaces/$2" -o "$work/answer" && cmp "$work/$3" "$work/answer" || fail "$1 does not get $3: $(head -c 300 "$work/answer")"
}
others_not() { # USER DIGEST
    [ "$(ask "$1" "/workspaces/$2" -o "$work/answer" -w '%{http_code}')" = 404 ] || fail "$1 gets what is another's"
}
refused() { # WORDS ARGUMENT...
    if migrate "${@:2}"; then fail "migrated: ${*:2}"; fi
    grep -q -e "$1" "$work/err" || fail "the error does not say \"$1\": $(cat "$work/err")"
}
hold() { # SQL: a session that has done it stands still until let_go
    sql "BEGIN; $1; SELECT pg_sleep(600); COMMIT" >/dev/null 2>&1 &
    await 120 "it holds: $1" holds_still 1
}
holds_still() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = "$1" ]; }
let_go() { sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'" >/dev/null; }
waits() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'edl-migrate' AND wait_event_type = 'Lock'")" = 1 ]; }
gone() { [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'edl-migrate'")" = 0 ]; }

run_scheduler policy
export EDL_TOKEN_FILE=$state/admin-token
for user in ann bob; do
    edl user add $user --role user >/dev/null 2>&1
    edl token create --user $user --json 2>/dev/null | jq -r .token >"$work/$user"
done
head -c 2500000 /dev/urandom >"$work/large"
head -c 1048576 /dev/urandom >"$work/whole" # one piece, and nothing more
: >"$work/empty"
echo broken >"$work/broken"
put ann large && large=$sha
put bob large
put bob whole && whole=$sha
put ann empty && empty=$sha
put ann broken && broken=$sha
end "$pid"
postgresql_start a
postgresql_database a edl
url=$(postgresql_url a edl)

# into the database: the same digests. A file that is none is named, and left alone
echo other >"$state/workspaces/$broken"
echo rest >"$state/workspaces/.new.7"
migrate --to "$url" --json || fail "not migrated: $(cat "$work/err")"
holds '.archives == 3 and .archive_bytes == 3548576 and .archives_damaged == 1' <"$work/out" || fail "$(cat "$work/out")"
grep -q "$broken" "$work/err" || fail "the damaged archive is not named: $(cat "$work/err")"
rm -r "$state/workspaces"
run_scheduler 'leads' --store "$url"
gets ann "$large" large
gets bob "$large" large
gets bob "$whole" whole
gets ann "$empty" empty
others_not bob "$empty"
others_not ann "$broken"
put bob broken # sent again, and by another one; one that this folder does not keep
edl submit --name waits --cpu 1 --memory 64Mi --workspace "sha256:$whole" -- true >/dev/null
end "$pid"
rm "$state/workspaces/$whole" "$state/workspaces/$empty"
echo "something else" >"$state/workspaces/$large"
echo BROKEN >"$state/workspaces/$broken" # as many bytes as it has

# no room: nothing was copied. The figure of one archive is made up
sql "UPDATE workspace SET bytes = 1000000000000000 WHERE sha256 = '$whole'" >/dev/null
refused "need 95367[0-9]* MiB in .*workspaces, and [0-9]* MiB are free there; make room" --to "sqlite:$work/other" --from "$url"
[ ! -e "$work/other/edl.db.new" ] || fail 'it began to copy'
sql "UPDATE workspace SET bytes = 1048576 WHERE sha256 = '$whole'" >/dev/null

# killed among the archives: the database is not left, no file is half there, and the same again works
hold 'LOCK TABLE workspace_piece'
edl admin migrate --state-dir "$state" --to "sqlite:$state" --from "$url" >"$work/out" 2>"$work/err" &
killed=$!
await 120 'it waits among the archives' waits
kill -9 $killed
wait $killed 2>/dev/null || true
let_go
await 120 'its session is gone' gone
[ "$(sql 'SELECT moved_wall_us FROM leader')" = 0 ] || fail 'a move that was killed left a mark'

# home: each as it was, and one of which the database has other bytes is named
sql "INSERT INTO workspace_piece SELECT pieces, 0, 'x' FROM workspace WHERE sha256 = '$empty'" >/dev/null
migrate --to "sqlite:$state" --from "$url" --json || fail "not back: $(cat "$work/err")"
holds '.archives == 3 and .archives_damaged == 1' <"$work/out" || fail "$(cat "$work/out")"
grep -q "$empty" "$work/err" || fail "the damaged archive is not named: $(cat "$work/err")"
(cd "$state/workspaces" && for name in *; do echo "$name  $name"; done | sha256sum --check --quiet) || fail "the folder has: $(ls -lA "$state/workspaces")"
[ "$(find "$state/workspaces" -type f ! -perm 600)" = '' ] || fail 'others can read it'
run_scheduler policy
gets ann "$large" large
gets bob "$large" large
gets bob "$whole" whole
gets bob "$broken" broken
others_not ann "$whole"
others_not ann "$empty"
end "$pid"

# there again: rows of before go
rm "$state/workspaces/$large"
migrate --to "$url" || fail "not there again: $(cat "$work/err")"
grep -qF '2 archives of workspaces, 1.0 MiB' "$work/out" || fail "$(cat "$work/out")"
[ "$(sql 'SELECT count(*) FROM workspace_piece')" = 2 ] || fail 'bytes of before are there still'
