#!/usr/bin/env bash
# Two machines with one /etc/machine-id, as copies of a virtual machine have: the second is refused, and told what to type.
# A machine here is a mount namespace with files of its own for machine-id and boot id.
# Takes 15 s: a lease of 8 s ends, and agents begin one after another
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"

machine() { # NAME MACHINE-ID BOOT: what a machine is to those on it
    echo "$2" >"$work/$1.machine-id"
    printf '%08d-0000-4000-8000-000000000000\n' "$3" >"$work/$1.boot-id"
}
on() { # MACHINE COMMAND...: instead of the shell that it is called in
    local m=$work/$1
    shift
    # shellcheck disable=SC2016
    exec unshare -rm sh -c 'mount --bind "$0.machine-id" /etc/machine-id && mount --bind "$0.boot-id" /proc/sys/kernel/random/boot_id &&
        exec "$@"' "$m" "$@"
}
machine probe 0123456789abcdef0123456789abcdef 0
[ "$( (on probe cat /etc/machine-id) 2>&1)" = 0123456789abcdef0123456789abcdef ] || {
    echo "no mount namespace can be made here (unshare -rm)"
    exit 77
}

edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --lease 8s 2>"$work/scheduler.log" &
pids=$!
await 120 'the scheduler listens' while_runs "$pids" test -s "$work/state/address"
EDL_SERVER=http://$(cat "$work/state/address")
export EDL_SERVER EDL_TOKEN_FILE=$work/state/admin-token

agent() { # LOG MACHINE STATE-DIR ARGUMENT...
    local log=$1 machine=$2 dir=$3
    shift 3
    (on "$machine" edl-agent --state-dir "$work/$dir" --conf '' --runtime direct --allow-root --no-foreign --heartbeat 300ms "$@") \
        2>"$work/$log.log" &
    pid=$!
    pids="$pids $pid"
}
line() { edl node add "$1" --json 2>/dev/null | jq -r '"--join \(.server) --token \(.token) --node \(.node)"'; }
node_is() { [ "$(edl nodes --json | jq -r ".nodes[] | select(.name == \"$1\") | .state")" = "$2" ]; }

machine original aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1
machine copy aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 2
# shellcheck disable=SC2046
agent n1 original n1 $(line n1)
original=$pid
await 120 'n1 has joined' while_runs "$pid" grep -q 'joined as n1' "$work/n1.log"
reported() { edl nodes --json | holds '.nodes[] | select(.name == "n1") | .last_report_us > 0'; }
await 120 'n1 has reported' reported

# the copy is refused, by whom and what to do is said, and its token stays good
copy_line=$(line n2)
# shellcheck disable=SC2086
agent n2 copy n2 $copy_line
status=0
wait "$pid" || status=$?
[ $status = 1 ] || fail "the copy's agent ended with $status"
grep -q 'node n1 at .* has the same /etc/machine-id' "$work/n2.log" || fail "it says $(cat "$work/n2.log")"
grep -q 'systemd-machine-id-setup.*edl node remove n1' "$work/n2.log" || fail 'it does not say what to type'
grep -q 'denied: POST /nodes/join .*same /etc/machine-id' "$work/scheduler.log" || fail 'the scheduler does not tell'
! grep -rq aaaaaaaaaaaa "$work/state" "$work"/*.log || fail 'the machine-id left its machine'

# what it was told to do
machine copy bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 3
# shellcheck disable=SC2086
agent n2 copy n2 $copy_line
await 120 'n2 has joined' while_runs "$pid" grep -q 'joined as n2' "$work/n2.log"

# another agent on the same machine is no copy of it
# shellcheck disable=SC2046
agent n3 original n3 $(line n3)
await 120 'n3 has joined' while_runs "$pid" grep -q 'joined as n3' "$work/n3.log"

# a copy that was made after it had joined: the state folder is the same, too
cp -r "$work/n1" "$work/n1-copy"
machine twin aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 4
agent twin twin n1-copy
await 120 'one of the two is told' grep -q 'two machines report as node n1' "$work/n1.log" "$work/twin.log"
kill "$pid"
wait "$pid" || true

# renamed and started again: its old name is in the way until somebody says so
kill "$original"
wait "$original" || true
await 120 'n1 is lost' node_is n1 lost
machine original aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 5
await 120 'n3 is left alone' node_is n3 ready
# shellcheck disable=SC2046
agent renamed original renamed $(line renamed)
status=0
wait "$pid" || status=$?
[ $status = 1 ] && grep -q 'node n3 at' "$work/renamed.log" || fail "a machine with the name of n3's came in: $(cat "$work/renamed.log")"
edl node remove n3 >/dev/null
# shellcheck disable=SC2046
agent renamed original renamed $(line renamed)
await 120 'it is taken under its new name' grep -q 'joined as renamed' "$work/renamed.log"
echo 'cloned machines: all good'
