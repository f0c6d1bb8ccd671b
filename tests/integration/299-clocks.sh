#!/usr/bin/env bash
# Wall clocks that jump or differ lose nothing: what has ended stays, a jump charges nobody, and a file is of a job by the clock
# of its own node. The clocks are set for one program each, by a library that is loaded before the C library.
# Takes 6 s: compiles a library, and eight jobs run one after another
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
command -v gcc >/dev/null || exit 77
cat >"$work/wall.c" <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *at)
{
    static int (*next)(clockid_t, struct timespec *);
    static int fd = -1;
    char text[24] = "";
    int r;

    if (next == NULL)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    r = next(clock, at);
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return r;
    if (fd == -1)
        fd = open(getenv("WALL_FILE"), O_RDONLY | O_CLOEXEC);
    if (pread(fd, text, sizeof text - 1, 0) > 0)
        at->tv_sec += atol(text);
    return r;
}
END_OF_C
gcc -shared -fPIC -o "$work/wall.so" "$work/wall.c"
set_clock() { # NAME SECONDS: its wall clock is ahead by so much from now on
    printf '%-20d' "$2" >"$work/$1.wall"
}
with_clock() { # NAME COMMAND...
    local name=$1
    shift
    exec env "LD_PRELOAD=$work/wall.so" "WALL_FILE=$work/$name.wall" "$@"
}
# shellcheck disable=SC2317
scheduler() { with_clock scheduler edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --port-file "$work/port" --lease 60s; }
# shellcheck disable=SC2317
agent() {
    # shellcheck disable=SC2046
    with_clock agent edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --conf '' --cpu 1 \
        --state-dir "$work/n1" --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --stop-processes-on-exit \
        --ports 21400-21499 $([ "$(id -u)" != 0 ] || echo --allow-root) "$@"
}
ends() { # NAME: it succeeds
    edl wait "$1" >/dev/null || fail "$1: $(edl why "$1")"
}
DAY=86400

# --- the scheduler is 3 s ahead of the node, as ever: what the job wrote comes back, and nothing older
set_clock scheduler 3
set_clock agent 0
begin scheduler "policy" scheduler
scheduler=$pid
EDL_SERVER=http://$(cat "$work/port")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
begin n1 "adopted" agent
mkdir -m 777 "$work/folder" "$work/src"
echo before >"$work/folder/before"
touch -d '-1 minute' "$work/folder/before"
edl submit --name ahead --workspace "$work/folder" --cpu 100m --memory 16Mi -- sh -c 'echo 1 >first; echo 2 >second' >/dev/null
ends ahead
# a node that has just joined says with its first report that it hands files over
reads_files() { ! edl fetch --list ahead 2>&1 | grep -q 'does not say'; }
await 120 "the node says that it hands files over" reads_files
edl fetch ahead -o "$work/fetched" >/dev/null 2>"$work/said" || fail "edl fetch: $(cat "$work/said")"
[ "$(cd "$work/fetched" && find . -type f ! -name .edl-fetch | sort | paste -sd' ')" = "./first ./second" ] ||
    fail "edl fetch gives $(find "$work/fetched" -type f): $(cat "$work/said")"

# --- a job leaves a result on the node; then the node's clock is 8 days ahead while others start and end
echo 'echo result >result' >"$work/src/run.sh"
edl submit --name kept --upload "$work/src" --cpu 100m --memory 16Mi -- sh run.sh >/dev/null 2>&1
ends kept
await 120 "the end of its process is noted" sh -c "ls '$work'/n1/workspaces/copies/*.ended >/dev/null 2>&1"
set_clock agent $((8 * DAY))
edl submit --name other --upload "$work/src" --cpu 100m --memory 16Mi -- sh run.sh >/dev/null 2>&1
ends other
await 120 "the end of the other is noted" sh -c "[ \$(ls '$work'/n1/workspaces/copies/*.ended | wc -l) = 2 ]"
set_clock agent 0
edl fetch kept -o "$work/kept" >/dev/null 2>"$work/said" || fail "edl fetch kept: $(cat "$work/said")"
[ -s "$work/kept/result" ] || fail "the result is gone: $(find "$work/kept")"

# --- the scheduler's clock jumps by a day while a job runs: it is charged what it ran
edl submit --name charged --cpu 100m --memory 16Mi -- sh -c "touch '$work/runs'; while [ ! -e '$work/go' ]; do sleep 0.1; done" >/dev/null
await 120 "the job runs" [ -e "$work/runs" ]
set_clock scheduler $((DAY + 3))
touch "$work/go"
ends charged
charged=$(edl show charged --json | jq '[.job.usage[].cpu_core_seconds] | add | floor')
[ "$charged" -lt 600 ] || fail "a job of seconds is charged $charged core-seconds"
lasted=$(edl show charged --json | jq '.job.lasted_us / 1e6 | floor')
[ "$lasted" -lt 600 ] || fail "a job of seconds has lasted $lasted s"
edl ps --all | grep ' charged ' | grep -qE ' ([0-9]+m)?[0-9]+s( |$)' || fail "edl ps: $(edl ps --all)"
set_clock scheduler 3

# --- and 91 days ahead while jobs end: nothing of those before is removed
set_clock scheduler $((91 * DAY))
for i in 1 2 3; do
    edl submit --name "during-$i" --cpu 100m --memory 16Mi -- sh -c 'echo some output' >/dev/null
    ends "during-$i"
done
set_clock scheduler 3
edl submit --name after --cpu 100m --memory 16Mi -- true >/dev/null
ends after
for job in ahead kept other charged during-1 during-2 during-3 after; do
    edl show "$job" >/dev/null || fail "job $job is gone"
done
[ "$(edl logs during-1 | grep -c 'some output')" = 1 ] || fail "the log of during-1: $(edl logs during-1)"
edl events --json >"$work/events"
grep -q 'ahead was submitted' "$work/events" || fail "the first events are gone: $(head -n 5 "$work/events")"
grep -q 'was set forward by' "$work/scheduler.log" || fail "the scheduler says nothing of its clock"

# --- a scheduler that starts again while its clock is 91 days ahead goes on by elapsed time
end "$scheduler"
set_clock scheduler $((91 * DAY))
begin scheduler "policy" scheduler
EDL_SERVER=http://$(cat "$work/port")
grep -q 'while no scheduler ran' "$work/scheduler.log" || fail "the scheduler says nothing of its clock"
edl submit --name never --cpu 100 --memory 16Mi -- true >/dev/null 2>&1
edl kill never >/dev/null
for job in ahead after; do
    edl show "$job" >/dev/null || fail "job $job is gone"
done
