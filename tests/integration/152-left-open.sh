#!/usr/bin/env bash
# A large database that was left open is served at once and checked meanwhile: a whole one is said to be so; over a damaged page the
# scheduler ends, at the next start too, and says how to get out of that.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
database=$work/scheduler/edl.db

start() {
    begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0
}
left_open() { # as after a kill in the middle of the first write
    head -c 100 /dev/zero >"$database-wal"
}
says() {
    grep -q "$1" "$work/scheduler.log"
}

start
end "$pid"
says 'every page' && fail 'a database that was closed is checked'
sqlite3 "$database" "INSERT INTO event (time_us, event, node, text) VALUES (1, 'large', '', CAST(zeroblob(140000000) AS TEXT))"
left_open
start
await 120 'the check of a whole database' says 'every page of the database was checked'
end "$pid"

page=$(sqlite3 "$database" "SELECT rootpage FROM sqlite_schema WHERE name = 'archived_usage'") # no start looks at it
printf 'this is no page' | dd of="$database" bs=1 seek=$(((page - 1) * 4096)) conv=notrunc status=none
left_open
for i in 1 2; do
    rm -f "$work/scheduler.log"
    start
    wait "$pid" && fail "start $i: it went on with a damaged database"
    await 120 "start $i: the end of what it says" says 'the database is damaged'
    says 'edl admin restore' || fail "start $i: no way out is named"
done
