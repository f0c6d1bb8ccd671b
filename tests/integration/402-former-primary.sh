#!/usr/bin/env bash
# The former server of a database that was promoted is started again, as with its machine. It takes writes, waits for no copy, has the
# rows of then, and is the first of the URL. The leader reads nothing there: a key is answered once. A standby that is started waits on
# the server where the leader is. While that one starts anew nobody leads over the former one.
# Nor does one that is started then: what it saw before is in a file. Where the newest server is gone for good an admin goes on without it.
# Takes 16 s: a database, its copy and three schedulers start, the database twice
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"

postgresql_start p
postgresql_standby c of p
postgresql_database p edl >/dev/null
url="postgresql://postgres@/edl?host=$postgresql_dir/p,$postgresql_dir/c"

scheduler() { # NAME PATTERN
    begin "$1" "$2" edl-scheduler --conf '' --state-dir "$work/state-$1" --listen 127.0.0.1:0 --port-file "$work/port-$1" --store "$url" \
        --scheduler-name "$1"
}
call() { # METHOD PATH [CURL-OPTION...]
    curl -sS --max-time 60 -H "Authorization: Bearer $(cat "$work/state-a/admin-token")" -X "$1" "http://$(cat "$work/port-a")$2" "${@:3}" 2>/dev/null
}
stored() { # NAME, which is the key as well
    call POST /jobs -H "Idempotency-Key: $1" --data-binary "{\"metadata\":{\"name\":\"$1\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\",
        \"min-instance\":1,\"max-instance\":1}}}" | holds '.id != null'
}

scheduler a 'leads (term 1)'
leader=$pid
await 120 'the first job' stored first
postgresql_sql p postgres "ALTER SYSTEM SET synchronous_standby_names = ''" 'SELECT pg_reload_conf()' >/dev/null
postgresql_lose p
postgresql_promote c
await 120 'it goes on where the copy was' stored second
postgresql_start p
[ "$(postgresql_sql p edl 'SELECT count(*) FROM job')" = 1 ] || fail 'the former server has the second job'

stored second || fail 'the key is not answered'
call GET '/events?after=0' | holds '[.events[] | select(.event == "job-queued")] | length == 2' || fail 'the events are those of the former server'

scheduler b 'standby of a (term 2)'
[ "$(postgresql_sql p edl 'SELECT term FROM leader')" = 1 ] || fail 'somebody leads over the former server'

# the server where the leader is starts anew: nobody goes on with the rows of then meanwhile
postgresql_kill c
await 120 'a finds the former server' grep -q 'it has rows of term 1, and term 2 is that of another server' "$work/a.log"
await 120 'b finds it' grep -q 'it has rows of term 1, and term 2 is that of another server' "$work/b.log"
end "$pid"
scheduler b 'it has rows of term 1, and term 2 is that of another server'
end "$pid"
both=$url
url="postgresql://postgres@/edl?host=$postgresql_dir/p"
scheduler b 'it has rows of term 1, and term 2 is that of another server' # nor if it is the only one that is named
end "$pid"
url=$both
postgresql_start c
await 120 'it goes on' stored third
[ "$(postgresql_sql c edl 'SELECT count(*) FROM job')" = 3 ] || fail 'the third job is not where the second is'
[ "$(postgresql_sql p edl 'SELECT term FROM leader')" = 1 ] || fail 'somebody led over the former server'

# gone for good: an admin says so, and a new epoch begins, as the numbers of the lost rows were given
await 120 'it leads again' grep -q 'leads (term 3)' "$work/a.log"
end "$leader"
postgresql_lose c
scheduler a 'it has rows of term 1, and term 3 is that of another server'
grep -q 'gone for good, stop the schedulers and go on with the rows of then: edl admin begin-epoch' "$work/a.log" || fail "no remedy: $(cat "$work/a.log")"
end "$pid"
edl-scheduler --conf '' --state-dir "$work/state-a" --store "$url" --begin-epoch >"$work/out" 2>&1 || fail "no epoch: $(cat "$work/out")"
scheduler a 'leads (term 1004)'
[ "$(postgresql_sql p edl 'SELECT count(*) FROM job')" = 1 ] || fail 'other rows'
scheduler b 'standby of a (term 1004)'
