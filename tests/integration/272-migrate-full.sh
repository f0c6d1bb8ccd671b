#!/usr/bin/env bash
# Runs at night: fills the disks of a database and of a folder
# A disk is full in the middle of a move: that of PostgreSQL, which may end by that, or that of the new folder. The state is where it was,
# the error says so, and the same again ends it when there is room.
# Takes 20 s: an archive of 60 MB goes there and home
if [ -z "${EDL_TEST_IN_NAMESPACE:-}" ]; then
    export EDL_TEST_IN_NAMESPACE=yes
    for as in -m -Urm; do
        unshare "$as" true 2>/dev/null && exec unshare "$as" --propagation private bash "$0"
    done
    echo 'no mount namespace of its own can be made here (unshare -m)'
    exit 77
fi
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
state=$work/scheduler disk=$postgresql_dir/disk folder=$work/small
export EDL_TOKEN_FILE=$state/admin-token EDL_SERVER
full_exit=$(trap -p EXIT) # what removes the folders comes behind that
full_exit=${full_exit#trap -- \'}
full_exit=${full_exit%\' EXIT}
full_exit=${full_exit//\'\\\'\'/\'}
# shellcheck disable=SC2064,SC2154
trap "full_status=\$?; set +e; umount -l '$disk' '$folder' 2>/dev/null; (exit \$full_status); $full_exit" EXIT
run_scheduler() { # PATTERN OPTION...
    begin scheduler "$1" edl-scheduler --conf '' --state-dir "$state" --listen 127.0.0.1:0 "${@:2}"
    EDL_SERVER=http://$(sed 's,^http://,,' "$state/address")
}
migrate() { timeout 300 edl admin migrate "$@" >"$work/out" 2>"$work/err"; }
refused() { # WORDS ARGUMENT...
    if migrate "${@:2}"; then fail "migrated: ${*:2}"; fi
    grep -q -e "$1" "$work/err" || fail "the error does not say \"$1\": $(cat "$work/err")"
}
gets() { # the archive, as it was
    curl -sS --max-time 60 -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER/workspaces/$sha" | cmp - "$work/archive" || fail 'the archive is not there'
}
small_disk() { # FOLDER SIZE
    mkdir "$1"
    mount -t tmpfs -o "size=$2" none "$1" || { echo 'no tmpfs can be mounted here'; exit 77; }
}

run_scheduler policy
edl submit --name one -- true >/dev/null 2>&1
head -c 60000000 /dev/urandom >"$work/archive"
sha=$(sha256sum "$work/archive" | cut -d ' ' -f 1)
curl -sS --fail --max-time 60 -o /dev/null -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" -H 'Content-Type: application/octet-stream' \
    -T "$work/archive" "$EDL_SERVER/workspaces/$sha"
end "$pid"
postgresql_start a max_wal_size=64MB wal_keep_size=0
postgresql_database a edl
url=$(postgresql_url a edl)
postgresql_stop a
small_disk "$disk" 90m
cp -a "$postgresql_dir/a/data/." "$disk"
chown --reference="$postgresql_dir/a/data" "$disk"
chmod 700 "$disk"
rm -r "$postgresql_dir/a/data"
ln -s "$disk" "$postgresql_dir/a/data"
postgresql_start a

refused '; the state is where it was: mend that and type the same again\|; make room on the disk' --to "$url" --state-dir "$state"
[ ! -e "$state/moved" ] || fail 'it is called moved'
run_scheduler policy # and goes on with it
gets
end "$pid"
mount -o remount,size=400m "$disk"
postgresql_stop a
postgresql_start a
migrate --to "$url" --state-dir "$state" || fail "not with more room: $(cat "$work/err")"
grep -qF '1 archive of workspaces, 57.2 MiB' "$work/out" || fail "$(cat "$work/out")"

# home, into a folder of another disk
small_disk "$folder" 40m
mkdir -m 700 "$folder/state"
refused 'archives of workspaces need 58 MiB.*make room there' --to "sqlite:$folder/state" --from "$url"
run_scheduler 'leads (term' --store "$url"
gets
end "$pid"
mount -o remount,size=200m "$folder"
migrate --to "sqlite:$folder/state" --from "$url" || fail "not with more room: $(cat "$work/err")"
state=$folder/state EDL_TOKEN_FILE=$folder/state/admin-token
run_scheduler policy
gets
[ "$(edl ps --all --json | jq -r '.jobs[].name')" = one ] || fail 'the job is not there'
end "$pid"
