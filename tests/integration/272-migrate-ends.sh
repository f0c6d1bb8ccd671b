#!/usr/bin/env bash
# Runs at night: ends a move of the state at some hundred calls, and starts schedulers behind each
# A move of the state ends anywhere, there and home: it is killed, PostgreSQL is, or the disk is full. Then one of the two sides has
# everything, and a scheduler leads over it; never over both. Where none leads, it says what to type. The same again ends it: rows,
# archives, users and tokens are those of before.
# Takes 600 s: three schedulers start behind each end
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
if [ -w /dev/shm ]; then # each try makes a database and removes one
    rmdir "$postgresql_dir"
    postgresql_dir=$(mktemp -d /dev/shm/edl-pg.XXXXXX)
    chmod 755 "$postgresql_dir"
fi
state=$work/there-state
export EDL_TOKEN_FILE=$state/admin-token EDL_SERVER
run_scheduler() { # PATTERN OPTION...
    begin scheduler "$1" edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 --scheduler-name x "${@:2}"
    scheduler=$pid
    EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
}
put() { # SIZE: an archive of so many random bytes
    head -c "$1" /dev/urandom >"$work/archive"
    curl -sS --fail --max-time 60 -o /dev/null -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" -H 'Content-Type: application/octet-stream' \
        -T "$work/archive" "$EDL_SERVER/workspaces/$(sha256sum "$work/archive" | cut -d ' ' -f 1)"
}
is_over() { [ "$(edl show "$1" --json | jq -r .job.state)" = succeeded ]; }
sweep() { # NAME DIRECTION FAULT
    echo "$2, $3:"
    "$python" "$EDL_SOURCE_DIR/tests/lib/migrate_ends.py" "$work" "$postgresql_dir" "$@" || fail "$*"
}

run_scheduler policy
edl user add ann --role user >/dev/null
edl user add bob --role user >/dev/null
removed=$(edl token create --user ann --note old --json | jq -r .id)
edl token create --user ann --note laptop >/dev/null
edl token remove "$removed" >/dev/null
line=$(edl node add n1 --foreground 2>/dev/null)
# shellcheck disable=SC2046,SC2086
begin agent 'joined as n1' $line --state-dir "$work/node" --conf '' --client-conf '' --runtime direct --no-foreign --heartbeat 200ms --address 127.0.0.1 \
    --cpu 2 --memory 1Gi $([ "$(id -u)" != 0 ] || echo --allow-root)
agent=$pid
edl submit --name one --cpu 1 --memory 64Mi -- echo one >/dev/null
await 120 'one is over' is_over one
end "$agent"
edl submit --name waits --cpu 1 --memory 64Mi -- sh -c $'echo "\t\\N\n\\\\"' >/dev/null
put 2500000
put 1048576
put 0
kill -9 "$scheduler" # so that there is a log of the database
wait "$scheduler" 2>/dev/null || true
[ -s "$state/edl.db-wal" ] || fail 'there is no log'
postgresql_start a
postgresql_database a there
postgresql_database a home
cp -a "$state" "$work/home-state"
state=$work/home-state
url=$(postgresql_url a home)
edl admin migrate --state-dir "$state" --to "$url" >/dev/null || fail 'not migrated'
run_scheduler 'leads (term' --store "$url"
edl submit --name later --cpu 1 --memory 64Mi -- true >/dev/null
put 300000
end "$scheduler"
find "$state/workspaces" -type f -size 1024k -delete # an archive that the database alone has

for sweep in ${EDL_SWEEPS:-there:self home:self there:server home:server there:full home:full}; do
    sweep "${sweep%:*}" "${sweep%:*}" "${sweep#*:}"
done
