#!/usr/bin/env bash
# The copies of a database: a role that may not see them is told how it may, and nothing is said of them that is not known.
# Takes 15 s: a database, its copy and a scheduler start
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
url="postgresql://edl@/edl?host=$postgresql_dir/p"

scheduler() { # NAME PATTERN
    begin "$1" "$2" edl-scheduler --conf '' --state-dir "$work/state-$1" --listen 127.0.0.1:0 --port-file "$work/port-$1" --store "$url" \
        --scheduler-name "$1"
}
edl_at() { # NAME WORD...
    EDL_SERVER=http://$(cat "$work/port-$1") EDL_TOKEN_FILE=$work/state-$1/admin-token timeout 60 edl "${@:2}"
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
