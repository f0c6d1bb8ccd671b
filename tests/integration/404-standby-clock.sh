#!/usr/bin/env bash
# A standby on a machine that has been up for long and whose wall clock is wrong, five hours ahead and then behind: it takes over, and time
# goes on as if nothing were. No process of a node ends, ages do not jump, and what people read goes neither ahead nor back. The machine's
# clocks are its own: boot time by a namespace, the id of the boot by a mount, the wall clock by a library loaded before the C library.
# Takes 15 s: compiles a library, and three schedulers lead one after the other
set -eu
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
command -v gcc >/dev/null || { echo 'gcc is not installed'; exit 77; }
up_s=$((40 * 86400)) off_s=$((5 * 3600))
echo 11111111-2222-3333-4444-555555555555 >"$work/boot"
elsewhere() { # COMMAND...: on that machine; by its pid, as nothing is begun in between
    # shellcheck disable=SC2016
    exec unshare -rmT --boottime "$up_s" sh -c 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"' "$work/boot" "$@"
}
uptime_s=$(elsewhere cat /proc/uptime 2>/dev/null) || { echo 'no namespace of clocks can be made here (unshare -rmT)'; exit 77; }
[ "${uptime_s%%.*}" -ge $up_s ] || { echo 'a program that is executed in a new namespace of clocks is not in it here'; exit 77; }
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"

cat >"$work/wall.c" <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *at)
{
    static int (*next)(clockid_t, struct timespec *);
    int r;

    if (next == NULL)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    r = next(clock, at);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        at->tv_sec += atol(getenv("WALL_OFF_S"));
    return r;
}
END_OF_C
gcc -shared -fPIC -o "$work/wall.so" "$work/wall.c"

postgresql_start p
postgresql_database p edl
scheduler() { # NAME PATTERN [COMMAND...]: each has a state directory of its own, and the authority of the first one
    local name=$1 pattern=$2
    shift 2
    [ -d "$work/state-$name" ] || mkdir -m 700 "$work/state-$name"
    [ "$name" = a ] || cp "$work/state-a/"{ca.key,ca.pem,admin-token,join-token} "$work/state-$name/"
    begin "$name" "$pattern" "$@" edl-scheduler --conf '' --state-dir "$work/state-$name" --listen https://127.0.0.1:0 \
        --store "postgresql://postgres@/edl?host=$postgresql_dir/p" --scheduler-name "$name" --lease 60s
}
off() { # SECONDS COMMAND...: elsewhere, with a wall clock that is ahead by so much
    elsewhere env "LD_PRELOAD=$work/wall.so" "WALL_OFF_S=$1" "${@:2}"
}
scheduler a 'leads (term 1)'
leader=$pid
export EDL_CA=$work/state-a/ca.pem EDL_TOKEN_FILE=$work/state-a/admin-token
at() { EDL_SERVER=$(cat "$work/state-$1/address") edl "${@:2}"; } # NAME WORD...
role_is() { curl -sS --max-time 20 --cacert "$EDL_CA" "$(cat "$work/state-$1/address")/healthz" 2>/dev/null | holds --arg role "$2" '.role == $role'; }
stored() { postgresql_sql p edl "SELECT coalesce(max($1), 0) FROM event"; }

line=$(at a node add n1 2>/dev/null | grep -o -e '--join [^ ]* --token [^ ]* --ca-pin [^ ]*' | head -n 1)
# shellcheck disable=SC2046,SC2086
begin n1 'joined as n1' edl-agent --conf '' --client-conf '' --state-dir "$work/n1" --node n1 --runtime direct --no-foreign --cpu 1 --memory 1Gi \
    --overcommit --stop-processes-on-exit $([ "$(id -u)" != 0 ] || echo --allow-root) $line
at a submit --name steady --cpu 100m --memory 16Mi -- sh -c "echo started >>'$work/runs'; exec sleep 1000" >/dev/null
await 120 'a process runs' [ -s "$work/runs" ]

jobs=0
is_sane() { # NAME: what that leader stores and shows of now is of now
    local before_us=$wall_us now_us shown_us
    jobs=$((jobs + 1))
    at "$1" submit --name "job-$jobs" --cpu 100 --memory 16Mi -- true >/dev/null 2>&1
    now_us=$(($(date +%s) * 1000000))
    wall_us=$(stored time_us)
    [ $((wall_us - before_us)) -ge 0 ] && [ $((wall_us - before_us)) -lt $minutes_us ] || fail "$1: time went on by $(((wall_us - before_us) / 1000000)) s"
    shown_us=$(at "$1" show "job-$jobs" --json | jq .job.submitted_us)
    [ $((shown_us - now_us)) -gt -$minutes_us ] && [ $((shown_us - now_us)) -lt $minutes_us ] || fail "$1 shows a time that is off by $(((shown_us - now_us) / 1000000)) s"
    [ "$(stored revision)" = "$(postgresql_sql p edl 'SELECT count(*) FROM event')" ] || fail "$1: a number of an event is missing, or was used twice"
}
minutes_us=$((30 * 60 * 1000000)) # the machine that tests may be slow, and no clock here is off by less than hours
wall_us=$(stored time_us)
knows() { grep -qF "$(cat "$work/state-$1/address")" "$work/n1/schedulers.json"; } # NAME: where the node looks when the leader is gone
take_over() { # NAME OF [COMMAND...]: it stands by, the other one dies, and it leads
    local name=$1 of=$2 dies=$leader
    shift 2
    scheduler "$name" "standby of $of" "$@"
    leader=$pid
    await 120 "the node knows the address of $name" knows "$name"
    unset "begun[$dies]"
    kill -KILL "$dies"
    wait "$dies" 2>/dev/null || true
    await 120 "$name leads" role_is "$name" leader
    is_sane "$name"
}
is_sane a
take_over b a off $off_s
await 120 'the log says that its clock is wrong' grep -q 'the clock of this machine is 1[0-9.]* s ahead of that of the database' "$work/b.log"
take_over c b off -$off_s

# the node follows all of them, and its process has not noticed
reported() { at c nodes --json | holds '.nodes[0].state == "ready"'; }
await 120 'the node is ready' reported
runs() { at c show steady --json | holds '.job.state == "running"'; }
await 120 'the job runs' runs
[ "$(cat "$work/runs")" = started ] || fail "the process was started $(wc -l <"$work/runs") times"
at c events --json >"$work/events"
if grep -E 'lost|gave up|given up' "$work/events"; then fail 'the node was given up'; fi
! grep -h 'wall clock of the database was set' "$work"/[a-c].log || fail 'its clock was said to be set'
