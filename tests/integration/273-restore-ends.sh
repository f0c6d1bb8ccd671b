#!/usr/bin/env bash
# Runs at night: ends a restore at some hundred calls
# A restore into a database that schedulers share ends anywhere: it is killed, PostgreSQL is, or the disk is full. The database has all
# rows of before or those of the backup, and a scheduler leads over it. The same again ends it. The rows of before are kept as a whole in a
# file of their own, no number is given twice, and a removed token stays so.
# Takes 300 s: hundreds of restores
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
if [ -w /dev/shm ]; then # each try makes a database and removes one
    rmdir "$postgresql_dir"
    postgresql_dir=$(mktemp -d /dev/shm/edl-pg.XXXXXX)
    chmod 755 "$postgresql_dir"
fi
state=$work/restore-state
export EDL_TOKEN_FILE=$state/admin-token EDL_SERVER

begin scheduler policy edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0
EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
echo archive >"$work/archive"
curl -sS --fail --max-time 60 -o /dev/null -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" -H 'Content-Type: application/octet-stream' \
    -T "$work/archive" "$EDL_SERVER/workspaces/$(sha256sum "$work/archive" | cut -d ' ' -f 1)"
edl user add ann --role user >/dev/null
removed=$(edl token create --user ann --note gone --json | jq -r .id)
edl submit --name first -- true >/dev/null 2>&1
edl admin backup "$work/backup" >/dev/null
edl token remove "$removed" >/dev/null
edl submit --name later -- true >/dev/null 2>&1
end "$pid"
postgresql_start a
postgresql_database a restore
edl admin migrate --to "$(postgresql_url a restore)" --state-dir "$state" >/dev/null || fail 'not migrated'

for fault in ${EDL_SWEEPS:-self server full}; do
    echo "restore, $fault:"
    "$python" "$EDL_SOURCE_DIR/tests/lib/migrate_ends.py" "$work" "$postgresql_dir" restore restore "$fault" || fail "restore $fault"
done
