#!/usr/bin/env bash
# The socket of a node's processes beset by a stranger of this machine and by a job: bodies of gigabytes, connections that say
# nothing, hundreds of long polls. The calls of another job are answered all the while, processes start, reports go out, and the
# agent's memory stays what it was - with a thousand files to open.
# Takes 66 s: silent connections live for ten seconds each, and 140 bodies of 16 MiB are sent
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
siege=$EDL_SOURCE_DIR/tests/lib/socket_siege.py
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 # with sanitizers, what was given back counts as held
[ "$(id -u)" != 0 ] || chmod 711 "$work"

with_files() { # NUMBER COMMAND...: that it may open, half of them without a word
    ulimit -Sn $(($1 / 2))
    ulimit -Hn "$1"
    shift
    exec "$@"
}
begin scheduler policy edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address") EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
begin agent adopted with_files 1024 edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" \
    --state-dir "$work/state" --runtime direct --no-foreign --allow-root --heartbeat 300ms --stop-processes-on-exit --cpu 8 --overcommit
agent=$(pgrep -P "$$" -x edl-agent)
socket=$(find "$work/state" -type s)

# a job whose calls are timed: at each line of its gate it makes one, and writes down what came of it, and how late
cat >"$work/caller.py" <<'END'
import os, sys, time
import edl
work = sys.argv[1]
client = edl.Client(patience=20)
while True:
    with open(f"{work}/gate") as gate:
        for line in gate:
            began = time.monotonic()
            try:
                client.hosts()
                told = "good"
            except edl.Error as error:
                told = str(error)
            with open(f"{work}/told.new", "w") as out:
                print(int((time.monotonic() - began) * 1000), told, file=out)
            os.rename(f"{work}/told.new", f"{work}/told-{line.strip()}")
END
mkfifo "$work/gate" "$work/job.in" "$work/job.out" "$work/stranger.in" "$work/stranger.out"
submit() { # NAME COMMAND...
    local name=$1
    shift
    edl submit --name "$name" --cpu 500m --env PYTHONPATH="$EDL_SOURCE_DIR/python" -- "$@" >/dev/null
}
submit caller "$python" "$work/caller.py" "$work"
exec 9>"$work/gate"

# the agent takes all that it may, and its processes get what it was given
submit files sh -c 'ulimit -Sn'
timeout 120 edl wait files >/dev/null || fail "$(edl show files)"
[ "$(edl logs files | grep -o '[0-9]*$')" = 512 ] || fail "a process may open $(edl logs files)"
# it lends them its first limit while it starts one: await, as another may be on its way
takes_all() { [ "$(awk '/^Max open files/ { print $4 }' "/proc/$agent/limits")" = 1024 ]; }
await 120 'the agent may open 1024 files' takes_all

calls=0 latest=0
the_other_job_is_answered() { # WHILE-WHAT
    local took told
    for _ in 1 2 3; do
        calls=$((calls + 1))
        echo "$calls" >&9
        await 120 "a call of the other job while $1" test -e "$work/told-$calls"
        read -r took told <"$work/told-$calls"
        [ "$told" = good ] || fail "$1: $told"
        [ "$took" -lt 10000 ] || fail "$1: a call took $took ms"
        latest=$((took > latest ? took : latest))
    done
}
reported_since() { edl nodes --json | holds --argjson us "$1" '.nodes[0].last_report_us > $us'; }
the_node_is_whole() { # WHILE-WHAT: a process starts and ends, and reports go out
    calls=$((calls + 1))
    submit "starts-$calls" true
    timeout 120 edl wait "starts-$calls" >/dev/null || fail "$1: a start: $(edl show "starts-$calls" | head -5)"
    await 120 "$1: a report" reported_since "$(($(date +%s%N) / 1000))"
}
# what the agent holds: its own pages, and bodies in files without a name
held_kib() {
    local own bodies
    own=$(awk '/^VmRSS/ { print $2 }' "/proc/$agent/status")
    bodies=$(find "/proc/$agent/fd" -lname '*edl-body*' -exec stat -L -c %b {} + 2>/dev/null | awk '{ s += $1 } END { print int(s / 2) }')
    echo $((own + bodies))
}
holds_at_most() { # KIB WHILE-WHAT
    local now
    now=$(held_kib)
    [ $((now - before)) -lt "$1" ] || fail "$2: the agent holds $now KiB; before it were $before"
    echo "$2: the agent holds $((now - before)) KiB more; the latest answer took $latest ms"
}
stranger() { # KIND NUMBER: said = what it says first
    "$python" "$siege" "$1" "$2" "$socket" <"$work/stranger.in" >"$work/stranger.out" &
    stranger_pid=$!
    exec 8>"$work/stranger.in" 7<"$work/stranger.out"
    read -r -t 600 said <&7 || fail "$1: it was not begun"
}
stranger_ends() {
    exec 8>&- 7<&-
    wait "$stranger_pid" || true
}
job() { # NAME KIND NUMBER: the same from within a job
    submit "$1" sh -c "exec '$python' '$siege' $2 $3 \"\$EDL_SOCKET\" <'$work/job.in' >'$work/job.out'"
    exec 6>"$work/job.in" 5<"$work/job.out"
    read -r -t 600 said <&5 || fail "$1: it was not begun: $(edl show "$1" | head -5)"
}
job_ends() { # NAME
    exec 6>&- 5<&-
    timeout 120 edl wait "$1" >/dev/null || fail "$1 does not end"
}

the_other_job_is_answered "nothing is going on"
before=$(held_kib)

# who calls is known before anything of a body is taken
stranger bodies 80
holds_at_most 40000 "a stranger's 80 bodies of 16 MiB"
the_other_job_is_answered "a stranger sends bodies"
stranger_ends
status=$(curl -sS -o "$work/answer" -w '%{http_code}' --max-time 60 --unix-socket "$socket" -T "$siege" http://x/jobs/self/dataset)
[ "$status" = 403 ] || fail "a stranger is answered $status: $(cat "$work/answer")"

stranger silent 1200
the_other_job_is_answered "a stranger holds 1,200 connections"
the_node_is_whole "a stranger holds 1,200 connections"
holds_at_most 40000 "1,200 silent connections"
stranger_ends

# each gets ten seconds
stranger patience 20
[ "$(jq .ended <<<"$said")" = 20 ] || fail "silent connections are there after a minute: $said"
stranger_ends

echo '{"name":"quiet","mode":"service","roles":[{"role":"server","command":["sleep","1000"],"min":1,"max":1,"cpu":"10m"}]}' |
    edl submit - >/dev/null
await 120 "the service is there" eval 'edl services quiet | grep -q "^server-0 "'
job polls polls 700
the_other_job_is_answered "a job makes 700 long polls"
the_node_is_whole "a job makes 700 long polls"
holds_at_most 60000 "700 long polls of a job"
echo >&6
read -r -t 120 said <&5
holds '.statuses["429"] > 0 and .retry_after >= .statuses["429"] and .held > 10' <<<"$said" || fail "it is not told to wait: $said"
job_ends polls
few_files() { [ "$(find "/proc/$agent/fd" -mindepth 1 | wc -l)" -lt 100 ]; }
await 120 "calls end with their callers" few_files

# a call that nobody could be asked for is refused, and not tried for a minute
submit wrong curl -sS -o /dev/null -w '%{http_code}' --max-time 60 --unix-socket "$socket" --request-target '/jobs/self/hosts#x' http://x/
timeout 120 edl wait wrong >/dev/null || fail "a wrong call is not answered: $(edl logs wrong)"
[ "$(edl logs wrong | grep -o '[0-9]*$')" = 400 ] || fail "a wrong call is answered $(edl logs wrong)"

job bodies bodies 60
the_other_job_is_answered "a job sends 60 bodies of 16 MiB"
the_node_is_whole "a job sends 60 bodies of 16 MiB"
holds_at_most 80000 "60 bodies of 16 MiB of a job"
job_ends bodies

# no more than is needed is left behind
given_back() { [ $(($(held_kib) - before)) -lt 60000 ]; }
await 120 "the bodies are given back" given_back
echo "socket: all good"
