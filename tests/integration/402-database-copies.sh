#!/usr/bin/env bash
# The copies of a database: a role that may not see them is told how it may, and nothing is said of them that is not known. While
# commits wait for a copy that is gone each place where a person looks tells it, and all goes on when the copy is back: a submission of
# meanwhile is stored once. When the copy has taken the place of a server that stands still, nobody is told of that one any more.
# Takes 25 s: a database, its copy and a scheduler start, the copy twice, and a server stands still
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"

postgresql_start p
postgresql_standby c of p
postgresql_sql p postgres "CREATE ROLE edl LOGIN" >/dev/null
postgresql_database p edl >/dev/null
postgresql_sql p postgres "ALTER DATABASE edl OWNER TO edl" >/dev/null
postgresql_sql p edl "GRANT ALL ON SCHEMA public TO edl" >/dev/null
url="postgresql://edl@/edl?host=$postgresql_dir/p,$postgresql_dir/c"

scheduler() { # NAME PATTERN
    begin "$1" "$2" edl-scheduler --conf '' --state-dir "$work/state-$1" --listen 127.0.0.1:0 --port-file "$work/port-$1" --store "$url" \
        --scheduler-name "$1"
}
edl_at() { # NAME WORD...
    EDL_SERVER=http://$(cat "$work/port-$1") EDL_TOKEN_FILE=$work/state-$1/admin-token timeout 120 edl "${@:2}"
}
nodes_say() { # PATTERN
    edl_at a nodes >"$work/nodes" 2>&1 && grep -q "$1" "$work/nodes"
}

scheduler a 'leads (term 1)'
grep -q 'GRANT pg_read_all_stats TO edl' "$work/a.log" || fail "nobody says what the role lacks: $(cat "$work/a.log")"
await 120 'the copy' nodes_say 'c not known'
! grep -q 'no commit is on a second machine' "$work/nodes" || fail "it does not know that: $(cat "$work/nodes")"
grep -q 'GRANT pg_read_all_stats TO edl' "$work/nodes" || fail "$(cat "$work/nodes")"
postgresql_sql p postgres "GRANT pg_read_all_stats TO edl" >/dev/null
await 120 'the copy, in sync' nodes_say 'c sync'

# gone: what was submitted meanwhile waits, or is refused and sent again with its key
get() { # PATH
    curl -sS --max-time 120 "http://$(cat "$work/port-a")$1" 2>/dev/null
}
health_says() { # PATTERN
    get /healthz | grep -q "$1"
}
submit() {
    [ "$(curl -sS --max-time 120 -o "$work/answer" -w '%{http_code}' -H "Authorization: Bearer $(cat "$work/state-a/admin-token")" \
        -H 'Idempotency-Key: meanwhile' --data-binary '{"metadata":{"name":"meanwhile"},"spec":{"trainer":{"entrypoint":"true",
        "min-instance":1,"max-instance":1}}}' "http://$(cat "$work/port-a")/jobs" 2>/dev/null)" = 201 ]
}
postgresql_lose c
submit &
await 120 'what it waits for' health_says 'waits for its synchronous copy, which does not follow it'
health_says 'take its name out of synchronous_standby_names' || fail 'no remedy'
figures() { # those of the scheduler itself are told meanwhile, and none of the cluster
    curl -sS --fail --max-time 120 -H "Authorization: Bearer $(cat "$work/state-a/admin-token")" "http://$(cat "$work/port-a")/metrics" \
        >"$work/figures" 2>"$work/errors"
}
figures || fail "nobody sees its figures: $(cat "$work/errors")"
grep -q '^edl_leader_term 1$' "$work/figures" || fail "the term: $(cat "$work/figures")"
grep '^edl_database_copy_wait_seconds ' "$work/figures" | awk '$2 > 0 { found = 1 } END { exit !found }' || fail 'the wait is not told'
lacks '^edl_jobs' <"$work/figures" || fail 'what is not stored is told'
await 120 'the log says so' grep -q 'waits for its synchronous copy "c", which does not follow it: start that copy' "$work/a.log"
postgresql_start c
await 120 'it is stored' submit
await 120 'it waits for nothing' grep -q 'waits for no copy any more' "$work/a.log"
await 120 'all figures again' eval 'figures && grep -q "^edl_jobs" "$work/figures"'
get /healthz | lacks 'waits for' || fail 'it tells of a copy that is there'
edl_at a ps --all | grep -c meanwhile | grep -qx 1 || fail "it is not stored once: $(edl_at a ps --all)"

# a role that may log in no more: connections that stand go on, and who wants a new one is told to come again, and is not refused
postgresql_sql p postgres "ALTER ROLE edl NOLOGIN" >/dev/null
status=$(curl -sS --max-time 120 -o "$work/answer" -w '%{http_code}' -H "Authorization: Bearer $(cat "$work/state-a/admin-token")" \
    "http://$(cat "$work/port-a")/history/allocation")
[ "$status" = 503 ] || fail "$status: $(cat "$work/answer")"
grep -q 'not permitted to log in.*pg_hba.conf' "$work/answer" || fail "$(cat "$work/answer")"
postgresql_sql p postgres "ALTER ROLE edl LOGIN" >/dev/null

# the copy takes its place, while a look of the standby at the one that stands still waits for its answer
scheduler b 'standby of a (term 1)'
postgresql_freeze p
postgresql_promote c
await 120 'the next term' grep -q 'leads (term 2)' "$work/b.log"
database() {
    curl -sS --max-time 120 -H "Authorization: Bearer $(cat "$work/state-b/admin-token")" "http://$(cat "$work/port-b")/schedulers" >"$work/answer" &&
        holds '.database != null' <"$work/answer"
}
await 120 'its database' database
holds --arg server "$postgresql_dir/c" '.database.server == $server' <"$work/answer" || fail "another one: $(cat "$work/answer")"
postgresql_thaw p
