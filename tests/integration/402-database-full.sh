#!/usr/bin/env bash
# Runs at night: fills two disks, and PostgreSQL ends in between
# The disk of the database is full: the leader goes on leading, refuses changes with the cause and the remedy, answers reads and gives nodes
# their leases. When there is room it goes on by itself. A full disk of its log ends PostgreSQL: that is told, and when a person has
# started it again the scheduler goes on. No acknowledged job is lost, and no number is given twice.
# Takes 60 s: a lease of the permission, 8 s, has to run out while the disk is full
if [ -z "${EDL_TEST_IN_NAMESPACE:-}" ]; then
    export EDL_TEST_IN_NAMESPACE=yes
    for as in -m -Urm; do
        unshare "$as" true 2>/dev/null && exec unshare "$as" --propagation private bash "$0"
    done
    echo 'no mount namespace of its own can be made here (unshare -m)'
    exit 77
fi
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"

# the data on one small disk, the log on another one
disk=$postgresql_dir/disk log=$postgresql_dir/log
postgresql_start p max_wal_size=1GB wal_keep_size=0
postgresql_database p edl >/dev/null
postgresql_stop p
move() { # FOLDER DISK SIZE
    mkdir "$2"
    mount -t tmpfs -o "size=$3" none "$2" || { echo 'no tmpfs can be mounted here'; exit 77; }
    cp -a "$1/." "$2"
    chown --reference="$1" "$2"
    chmod 700 "$2"
    rm -r "$1"
    ln -s "$2" "$1"
}
# the servers' folder is removed behind that
full_exit=$(trap -p EXIT)
full_exit=${full_exit#trap -- \'}
full_exit=${full_exit%\' EXIT}
full_exit=${full_exit//\'\\\'\'/\'}
# shellcheck disable=SC2064,SC2154
trap "full_status=\$?; set +e; umount -l '$disk' '$log' 2>/dev/null; (exit \$full_status); $full_exit" EXIT
move "$postgresql_dir/p/data/pg_wal" "$log" 32m
move "$postgresql_dir/p/data" "$disk" 64m
postgresql_start p

begin a 'leads (term 1)' edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port" \
    --store "$(postgresql_url p edl)" --scheduler-name a
call() { # TOKEN METHOD PATH [CURL-OPTION...]: the status; the answer is in $work/answer
    curl -sS --max-time 30 -o "$work/answer" -w '%{http_code}' -H "Authorization: Bearer $1" -X "$2" "http://$(cat "$work/port")$3" "${@:4}" || true
}
admin=$(cat "$work/state/admin-token")
submit() { # NAME: with a key, and with something that fills a disk
    [ "$(call "$admin" POST /jobs -H "Idempotency-Key: $1" --data-binary @"$work/$1.json")" = 201 ]
}
document() { # NAME
    printf '{"metadata":{"name":"%s"},"spec":{"trainer":{"entrypoint":"true # %s","min-instance":1,"max-instance":1}}}' "$1" \
        "$(head -c 2500 /dev/urandom | base64 -w0)" >"$work/$1.json"
}
submitted() { # NAME: the number of that job, as its key tells it
    submit "$1" && jq -r .id "$work/answer"
}
health() { call none GET /healthz >/dev/null && jq -r "$1" "$work/answer"; }
leads() { [ "$(health '.role + (.detail // "")')" = leader ]; }
offer='"address":"10.0.0.7","cpu_millicores":1,"memory_bytes":4294967296,"gpus":0,"port_first":20000,"port_last":20099'
[ "$(call "$(cat "$work/state/join-token")" POST /nodes/join --data-binary "{\"node\":\"n1\",\"boot_id\":\"b1\",$offer}")" = 201 ] || fail "$(cat "$work/answer")"
credential=$(jq -r .credential "$work/answer")
gets_lease() {
    [ "$(call "$credential" POST /nodes/n1/report --data-binary "{\"boot_id\":\"b1\",\"sent_us\":1,\"processes\":[],$offer}")" = 200 ] &&
        holds '.lease_us > 0' <"$work/answer"
}
await 120 'a lease' gets_lease

# the data: full
dd if=/dev/zero of="$disk/fill" bs=4k 2>/dev/null || true
n=0
until document "j$n" && ! submit "j$n"; do
    n=$((n + 1))
    [ $n -lt 2000 ] || fail 'the disk does not fill'
done
refused=j$n
is_full() {
    ! submit "$refused" && holds '.status == 503 and (.detail | test("a disk is full: the database edl at .*No space left")) and
        (.remedy | test("make room on the disk of the database server"))' <"$work/answer"
}
await 120 'it says why' is_full
[ "$(health .role)" = leader ] || fail "it does not lead: $(cat "$work/answer")"
holds '.detail | test("a disk is full")' <"$work/answer" || fail "$(cat "$work/answer")"
[ "$(call "$admin" GET /metrics)" = 200 ] || fail "no metrics: $(cat "$work/answer")"
grep -qx 'edl_db_writable 0' "$work/answer" || fail 'no metric tells'
read -r -t 10 <> <(:) || true # longer than a permission without a sign of life lasts
await 120 'a lease on a full disk' gets_lease
[ "$(call "$admin" GET /jobs)" = 200 ] || fail "no read: $(cat "$work/answer")"
rm "$disk/fill"
await 180 'it goes on by itself' submit "$refused"
await 120 'it tells of no full disk' leads

# the log: full, which ends PostgreSQL
postgresql_sql p postgres "SELECT count(pg_logical_emit_message(true, 'edl', repeat(md5(n::text), 30000))) FROM generate_series(1, 60) AS n" \
    >/dev/null 2>&1 || true
is_down() { ! postgresql_sql p postgres 'SELECT 1' >/dev/null 2>&1; }
await 120 'PostgreSQL has ended' is_down
document after
if submit after; then fail 'a job was stored in no database'; fi
postgresql_kill p
mount -o remount,size=256m "$log"
postgresql_start p
await 120 'it goes on when PostgreSQL is back' submit after
await 120 'it leads' leads

# all that was told is there, once
for ((i = 0; i <= n; i++)); do submitted "j$i" || fail "j$i is gone: $(cat "$work/answer")"; done >"$work/ids"
submitted after >>"$work/ids"
[ "$(sort -u "$work/ids" | wc -l)" = $((n + 2)) ] || fail "numbers twice: $(cat "$work/ids")"
[ "$(call "$admin" GET '/jobs?state=all&limit=1000')" = 200 ] || fail "$(cat "$work/answer")"
[ "$(jq '.jobs | length' "$work/answer")" = $((n + 2)) ] || fail "not $((n + 2)) jobs: $(jq -c '[.jobs[].name]' "$work/answer")"
