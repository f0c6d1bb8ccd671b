#!/usr/bin/env bash
# Runs at night: waits for the ends of commits three times
# A turn whose commit waits for a synchronous copy that is gone, until the scheduler gives it up: its caller is told 503. PostgreSQL has the
# turn all the same. The copy comes back, or its name is taken out: the job is there, its key is answered, once. The copy, which lacks
# the turn, is promoted: the key makes a job anew. No number is told twice, and a scheduler that is started meanwhile waits.
# Takes 70 s: each commit is waited for 10 s
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"

postgresql_start p
postgresql_standby c of p
postgresql_database p edl >/dev/null
url="postgresql://postgres@/edl?host=$postgresql_dir/p,$postgresql_dir/c"

scheduler() { # PATTERN
    begin a "$1" edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port" --store "$url" --scheduler-name a
}
call() { # METHOD PATH [CURL-OPTION...]: the status; the answer is in $work/answer
    curl -sS --max-time 60 -o "$work/answer" -w '%{http_code}' -H "Authorization: Bearer $(cat "$work/state/admin-token")" -X "$1" \
        "http://$(cat "$work/port")$2" "${@:3}" 2>/dev/null || true
}
submit() { # NAME
    [ "$(call POST /jobs -H "Idempotency-Key: $1" --data-binary "{\"metadata\":{\"name\":\"$1\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\",
        \"min-instance\":1,\"max-instance\":1}}}")" = 201 ]
}
stored() { # NAME: its number is told, for the first time or again
    submit "$1" && jq -r .id "$work/answer" >>"$work/ids"
}
job_is_there_once() { # NAME
    # shellcheck disable=SC2016
    [ "$(call GET '/jobs?state=all&limit=1000')" = 200 ] && holds --arg name "$1" '[.jobs[] | select(.name == $name)] | length == 1' <"$work/answer"
}
refused() { # NAME: its commit is given up; whether its turn was in front of a sign of life is left to chance
    if submit "$1"; then fail "$1 was stored without a copy: $(cat "$work/answer")"; fi
    holds '.status == 503 and (.detail | test("waits for its synchronous copy")) and (.remedy | test("synchronous_standby_names"))' \
        <"$work/answer" || fail "$1: not told why: $(cat "$work/answer")"
}
wait_for_copies() { # NAME: those of synchronous_standby_names; "": for none
    postgresql_sql p postgres "ALTER SYSTEM SET synchronous_standby_names = '$1'" 'SELECT pg_reload_conf()' >/dev/null
}

scheduler 'leads (term 1)'
await 120 'the first one' stored first

# the copy comes back
postgresql_freeze c
refused back
postgresql_thaw c
await 120 'it goes on with the copy' stored back

# its name is taken out, and the scheduler was started again meanwhile
postgresql_lose c
refused without
kill -9 "$pid"
wait "$pid" || true
scheduler 'waits'
wait_for_copies ''
await 120 'it goes on without the copy' stored without
postgresql_start c
wait_for_copies c
is_sync() { [ "$(postgresql_sql p postgres 'SELECT sync_state FROM pg_stat_replication')" = sync ]; }
await 120 'the copy is in sync' is_sync
await 120 'a change with the copy' stored between

# the copy takes the place of the server that waited for it
postgresql_lose c
refused promoted
postgresql_lose p
postgresql_start c
postgresql_promote c
await 120 'it goes on where the copy was' stored promoted
await 120 'a change there' stored last

for name in first back without between promoted last; do
    await 120 "$name is there once" job_is_there_once "$name"
    stored "$name" || fail "$name is gone: $(cat "$work/answer")"
done
[ "$(sort -u "$work/ids" | wc -l)" = 6 ] || fail "six jobs have other numbers: $(sort "$work/ids" | uniq -c)"
