#!/usr/bin/env bash
# edl-agent reads its files again on SIGHUP: what it offers and whom it allows changes at once, the scheduler knows it, what
# needs a restart is told, and a file that is wrong changes nothing. The process that runs meanwhile does not notice.
# Takes 6 s: an agent reads its files again some ten times, and a job writes a log of 4 MiB
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"

begin scheduler "policy" edl-scheduler --conf '' --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(cat "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
conf=$work/agent.conf
mkdir "$conf.d"
cat >"$conf" <<END
node: n1
scheduler: $EDL_SERVER
state-dir: $work/agent
runtime: direct
no-foreign: true
stop-processes-on-exit: true
allow-root: $([ "$(id -u)" = 0 ] && echo true || echo false)
END
echo 'cpu: 300m' >"$conf.d/10-own.conf"
# one that joins by a token of its command line, which is wiped there
begin agent "joined as n1" edl-agent --conf "$conf" --token "$(cat "$work/scheduler/join-token")"

offers() { edl nodes n1 --json | holds "$1"; }
reload() { # WHAT: SIGHUP, until it says so; lines of before do not count
    local before
    before=$(wc -l <"$work/agent.log")
    kill -HUP "$pid"
    timeout 120 grep -qm1 -F -- "$1" < <(tail -f -n "+$((before + 1))" --pid "$pid" "$work/agent.log") || fail "it does not say: $1"
}

await 120 'it is there' offers '.cpu_millicores == 300 and .state == "ready"'
edl submit --name steady --cpu 300m --memory 16Mi -- sleep 1000 >/dev/null
await 120 'it runs' job_is steady running
steady() { edl show steady --json | jq -c '[.processes[] | [.incarnation, .pid, .state]]'; }
before=$(steady)
edl submit --name waits --cpu 200m --memory 16Mi -- sleep 1000 >/dev/null
job_is waits queued || fail 'there is room for the second job before there is more'

# more, and a label: the second job gets what came
printf 'cpu: 500m\nlabel: [rack=r2]\n' >"$conf.d/10-own.conf"
reload "reload: cpu is now 500m"
await 120 'the scheduler knows' offers '.cpu_millicores == 500 and .labels.rack == "r2"'
await 120 'the second job runs' job_is waits running

# less than is granted: what runs goes on
echo 'cpu: 100m' >"$conf.d/10-own.conf"
reload "reload: label is now its default"
await 120 'the scheduler knows' offers '.cpu_millicores == 100 and (.labels | has("rack") | not)'
[ "$(steady)" = "$before" ] && job_is waits running || fail "$before is $(steady) now"

# what needs a restart is told each time, with what is taken
printf 'cpu: 100m\nports: 31000-31099\nheartbeat: 5s\n' >"$conf.d/10-own.conf"
reload "reload: heartbeat is to be 5s: this needs a restart"
grep -qF 'reload: ports is now 31000-31099' "$work/agent.log" || fail 'the ports are not taken'
reload "reload: heartbeat is to be 5s"

# a file that is wrong, and an offer that the machine does not have, change nothing
printf 'cpu: 200m\nlog-max: little\n' >"$conf.d/10-own.conf"
reload "reload: nothing is changed: $conf.d/10-own.conf:2: log-max: 'little' is not a valid value"
printf 'cpu: 200m\nmemory: 900Ti\n' >"$conf.d/10-own.conf"
reload "reload: nothing is changed: --memory offers"
printf 'cpu: 100m\nports: 31000-31099\n' >"$conf.d/10-own.conf"
reload "reload: nothing has changed"
offers '.cpu_millicores == 100' || fail 'a part of a file that is wrong is taken'

# who may: of a root agent's node an account of the system, while the file says so
if [ "$(id -u)" = 0 ]; then
    refused() { grep -q "process $1.trainer.0.1 exited.* this node runs no process as nobody" "$work/agent.log"; }
    over() { edl show "$1" --json | holds '.job.state == "succeeded" or .job.state == "failed"'; }
    printf 'cpu: 600m\nallow-user: [nobody]\n' >"$conf.d/10-own.conf"
    reload "reload: allow-user is now nobody"
    edl submit --name allowed --cpu 50m --memory 16Mi --user nobody -- true >/dev/null
    await 120 'it is over' over allowed
    refused 3 && fail 'who is allowed is refused'
    echo 'cpu: 600m' >"$conf.d/10-own.conf"
    reload "reload: allow-user is now its default"
    edl submit --name others --cpu 50m --memory 16Mi --user nobody -- true >/dev/null
    await 120 'it is refused' refused 4
fi
[ "$(steady)" = "$before" ] || fail "$before is $(steady) now"

# logs: what is there is cut to the new bound, as far as this file system can
echo 'cpu: 600m' >"$conf.d/10-own.conf"
kill -HUP "$pid"
edl submit --name talks --cpu 50m --memory 16Mi -- sh -c 'head -c 4194304 /dev/zero | tr "\\0" x; exec sleep 1000' >/dev/null
talked() { log=$(find "$work/agent/logs" -name 'trainer-0.*.log' -size +4095k) && [ -n "$log" ]; }
await 300 'it wrote all' talked
[ "$(du -k "$log" | cut -f1)" -ge 4096 ] || fail 'its log is cut before it has to be'
printf 'cpu: 600m\nlog-max: 1Mi\n' >"$conf.d/10-own.conf"
reload "reload: log-max is now 1Mi"
is_short() { [ "$(du -k "$log" | cut -f1)" -le 1100 ] || grep -q 'cannot give back' "$work/agent.log"; }
await 120 'its log is cut' is_short

# and it ends its processes as it was told to
edl kill steady waits talks >/dev/null
await 120 'they are killed' job_is steady killed
