#!/usr/bin/env bash
# The credential of a node, in the hands of a thief: it holds no more of the scheduler than its node may, so that another node's reports
# and people's calls are answered meanwhile. (Which calls it is good for: test_node_rights.c)
# Takes 65 s: what a thief sends is held until the scheduler's deadlines for it
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"

with_files() { # NUMBER COMMAND...: that it may open
    ulimit -n "$1"
    shift
    exec "$@"
}

# four hundred connections at its one address, and what else it opens
begin scheduler policy with_files $((400 + 128)) edl-scheduler --state-dir "$work/state" --listen 10.77.0.1:0 --lease 10s
scheduler=$pid
export EDL_CA=$work/state/ca.pem EDL_TOKEN_FILE=$work/state/admin-token EDL_SERVER
EDL_SERVER=$(cat "$work/state/address")
node() { # NAME
    # shellcheck disable=SC2046
    begin "$1" "joined as $1" $(edl node add --foreground "$1" 2>/dev/null) --state-dir "$work/$1" --allow-root --no-foreign \
        --heartbeat 300ms --address 127.0.0.1
}
node n1
jq -n '{name: "victim", roles: [{role: "trainer", min: 1, max: 1, command: ["sleep", "1000"]}]}' | edl submit - >"$work/answer"

call() { # PATH [CURL ARGUMENTS...]: over a connection of its own
    local path=$1
    shift
    curl -sS --fail --max-time 20 --cacert "$EDL_CA" -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$@" "$EDL_SERVER$path"
}
job_state() { call "/jobs/$1" | jq -r .state; }
runs() { call /jobs/victim | holds '.roles[0].running == 1'; }
await 120 'the job runs' while_job victim runs
node n2
process=$(call /jobs/victim/processes | jq -r '.processes[0] | "\(.job_id // 1).\(.role).\(.index).\(.incarnation)"')

steal() { # KIND NUMBER: its line is in $work/KIND
    mkfifo "$work/$1.in"
    "$python" "$EDL_SOURCE_DIR/tests/lib/stolen_node.py" "${EDL_SERVER#https://}" "$(cat "$work/n1/credential")" "$process" "$1" "$2" \
        <"$work/$1.in" >"$work/$1" &
    thief=$!
    pids="$pids $thief"
    exec 8>"$work/$1.in"
    await 300 "the $1 are held" test -s "$work/$1"
    echo "$1: $(cat "$work/$1"); the scheduler has $(resident VmRSS) MiB, and had $(resident VmHWM)"
}
give_back() {
    exec 8>&-
    wait "$thief"
}
resident() { # VmRSS, or VmHWM: the most that it ever was
    awk -v name="$1:" '$1 == name { print int($2 / 1024) }' "/proc/$scheduler/status"
}
reported_since() { # KIND MICROSECONDS
    call /nodes/n2 >"$work/nodes" || fail "$1: people are kept out"
    holds --argjson us "$2" '.last_report_us > $us' <"$work/nodes"
}
others_are_in() {
    local i
    for i in 1 2 3; do
        call /jobs -d "{\"metadata\":{\"name\":\"in-$1-$i\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1}}}" >"$work/answer" ||
            fail "$1: people are kept out"
        await 120 "$1: n2 reports" reported_since "$1" "$(($(date +%s%N) / 1000))"
    done
}

before=$(resident VmRSS)
steal calls 600
others_are_in calls
holds '.held <= 100' <"$work/calls" || fail "half of what all owners have is one node's at most: $(cat "$work/calls")"
give_back

steal bodies 300
others_are_in bodies
# Half of the 256 MiB that all bodies may hold, and what the connections take. The thief counts those as held, too, that were sent and are
# refused when they are read: on a busy machine 80 instead of 64.
[ $(($(resident VmHWM) - before)) -lt 170 ] || fail "it was $before MiB: $(resident VmHWM)"
holds '.held <= 100 and .statuses["429"] >= 150' <"$work/bodies" || fail "they are not told why: $(cat "$work/bodies")"
give_back

steal large 60
others_are_in large
holds '.statuses["413"] == 60' <"$work/large" || fail "a report of 4 MiB is not for a node with one process: $(cat "$work/large")"
give_back

steal reports 60
others_are_in reports
holds '.held <= 16' <"$work/reports" || fail "sixteen are those of a node: $(cat "$work/reports")"
give_back
back() { call /nodes/n1 | holds '.state == "ready"'; }
await 120 'the node itself gets in again' back
echo "stolen node: all good"
