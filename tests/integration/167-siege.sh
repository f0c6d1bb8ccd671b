#!/usr/bin/env bash
# All attacks at once, for 10 s, with a lease of 5 s: by people who may read, users, jobs, a stolen node, accounts of a node's
# machine and strangers. No lease ends, the jobs of others lose nothing, and people who ask for little are answered.
# EDL_SIEGE_KINDS: which attacks; EDL_SIEGE_S: for how long (10; the night 60); EDL_SIEGE_NICE: how far below all else they run; EDL_SIEGE_FIGURES: a file
# for the figures, which are judged all the same.
# Takes 61 s: attacks for 10 s, and prepares all of them
# Runs alone: measures how soon reports and calls are answered under all attacks at once
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
kinds=${EDL_SIEGE_KINDS-dry_runs reads rings documents arrays stolen smuggle local datasets polls strangers}
seconds=${EDL_SIEGE_S:-10}
lib=$EDL_SOURCE_DIR/tests/lib
# What a busy machine keeps as well; bench/siege tells how far below a quiet one stays.
report_wait_s=1.25 # a quarter of the lease
call_ms=20000
memory_mib=700

is_on() { [[ " $kinds " = *" $1 "* ]]; }
for kind in $kinds; do
    [[ " dry_runs reads rings documents arrays stolen smuggle local datasets polls strangers " = *" $kind "* ]] || fail "there is no attack of the kind $kind"
done
echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range # what strangers use up for themselves is not what is tested

# --- a scheduler, three nodes and one that is stolen
with_files() { # NUMBER COMMAND...: that it may open
    ulimit -n "$1"
    shift
    exec "$@"
}
begin scheduler policy with_files $((3 * 4096 + 128)) edl-scheduler --conf '' --state-dir "$work/state" --lease 5s \
    --listen 10.77.0.1:0 --listen 127.0.0.1:0 --listen "unix:$work/socket"
scheduler=$pid
tls=$(sed 's,^https://,,' "$work/state/address")
plain=$(grep -o '127.0.0.1:[0-9]*' "$work/scheduler.log" | head -1)
export EDL_CA=$work/state/ca.pem EDL_SERVER=https://$tls EDL_TOKEN_FILE=$work/state/admin-token
for node in n1 n2 n3 n4; do
    # shellcheck disable=SC2046
    begin $node "joined as $node" with_files 4096 $(edl node add --foreground $node 2>/dev/null) --state-dir "$work/$node" --runtime direct --cut-off-kill 30s \
        --allow-root --default-user root --no-foreign --address 127.0.0.1 --cpu 8 --overcommit --label "node=$node"
done
for one in ann:user mallory:user eve:viewer olga:operator; do
    edl user add "${one%:*}" --role "${one#*:}"
    edl token create --user "${one%:*}" --ttl 1h >"$work/${one%:*}" 2>"$work/err"
done
call() { # USER PATH [CURL ARGUMENTS...]: where nobody attacks
    local user=$1 path=$2
    shift 2
    curl -sS --fail --max-time 30 --unix-socket "$work/socket" -H "Authorization: Bearer $(cat "$work/$user")" "$@" "http://edl$path"
}
cp "$work/state/admin-token" "$work/admin"
figure() { # NAME: with its labels
    call admin /metrics | awk -v name="$1" '$1 == name { print $2 }'
}
submit() { # USER NAME NODE CPU COMMAND...: how much of the cores a process gets beside others follows from what it asks for
    local user=$1 name=$2 node=$3 cpu=$4
    shift 4
    jq -n --arg name "$name" --arg node "$node" --arg cpu "$cpu" '{name: $name, grace: "1s", fault_tolerant: true, roles: [{role: "trainer", min: 1, max: 1,
        cpu: $cpu, command: $ARGS.positional, "node-selector": {node: $node}}]}' --args -- "$@" |
        call "$user" /jobs -d @- >"$work/answer" || fail "$name: $(cat "$work/answer")"
}
job_state() { call admin "/jobs/$1" | jq -r .state; }
runs() { call admin "/jobs/$1" | holds '.roles[0].running == 1'; }
for node in n1 n2 n3; do
    submit ann ann-$node $node 6 "$python" "$lib/siege.py" worker "$work/ann-$node"
    await 120 "the job of $node runs" while_job "ann-$node" runs "ann-$node"
done

# --- who attacks: each below everybody else for the machine's cores, which are not what is tested
attackers='' fifos=''
attack() { # NAME COMMAND...: in the background; its output is $work/NAME.out
    local name=$1
    shift
    nice -n "${EDL_SIEGE_NICE:-19}" "$@" <"${input:-/dev/null}" >"$work/$name.out" 2>"$work/$name.log" &
    pids="$pids $!"
    attackers="$attackers $!"
}
attack_held() { # NAME COMMAND...: one that ends with its input
    mkfifo "$work/$1.in"
    input=$work/$1.in attack "$@"
    exec {fd}>"$work/$1.in"
    fifos="$fifos $fd"
}
socket_of() { find "$work/$1" -type s | head -1; }
body() { # TASKS FILE
    "$python" - "$1" >"$work/$2" <<'END'
import sys
print('{"digest":"d1","tasks":[' + ",".join(
    '{"chunks":[{"path":"/data/part-%06d","offset":0,"records":9}]}' % i for i in range(int(sys.argv[1]))) + "]}", end="")
END
}

if is_on dry_runs; then
    for n in $(seq 0 8); do # they wait: nothing here has as many cores
        printf '{"name":"waits-%s","array":"0-999","roles":[{"role":"trainer","command":["true"],"min":1,"max":1,"cpu":"1000"}]}' "$n" |
            call mallory /jobs -d @- >"$work/answer" || fail "$(cat "$work/answer")"
    done
    printf '{"metadata":{"name":"dry"},"spec":{"trainer":{"entrypoint":"true","min-instance":1}}}' >"$work/dry.json"
fi
if is_on datasets; then
    body 100000 under
    body 280000 over
    for n in $(seq 18); do submit mallory "d$n" n3 10m nice -n "${EDL_SIEGE_NICE:-19}" "$python" "$lib/siege.py" dataset "$work/dataset.$n" "$work/over" "$work/under"; done
    for n in $(seq 18); do await 120 "a job with data sets runs" while_job "d$n" runs "d$n"; done
fi
if is_on polls; then
    echo '{"name":"quiet","mode":"service","roles":[{"role":"server","command":["sleep","1000"],"min":1,"max":1,"cpu":"10m"}]}' |
        call mallory /jobs -d @- >"$work/answer"
    await 120 "a service runs" while_job quiet runs quiet
    mkfifo "$work/polls.in" "$work/polls.says"
    submit mallory polls n2 10m sh -c "ulimit -Sn 4096; exec nice -n ${EDL_SIEGE_NICE:-19} '$python' '$lib/socket_siege.py' polls 700 \"\$EDL_SOCKET\" <'$work/polls.in' >'$work/polls.says'"
    exec {polls_in}>"$work/polls.in" {polls_out}<"$work/polls.says"
fi
if is_on stolen; then
    submit mallory stolen n4 10m sleep 1000
    await 120 "a job runs on the node that is stolen" while_job stolen runs stolen
    process=$(call admin /jobs/stolen | jq .id).trainer.0.1
fi

ulimit -Sn "$(ulimit -Hn)"
first_event=$(call admin '/events?after=0&limit=1' | jq '.newest')
before=$(figure edl_nodes_lost_total)
[ "$before" = 0 ] || fail "$before leases ended before anybody attacked"
began=$(date +%s%N)
! is_on dry_runs || attack dry_runs "$python" "$lib/crowd.py" --body "$work/dry.json" "$plain" "$work/mallory" 165 "$seconds" POST '/jobs?dry_run=1'
! is_on reads || attack reads "$python" "$lib/crowd.py" "$plain" "$work/eve" 100 "$seconds" GET '/jobs?limit=1000' /cluster /usage \
    '/events?limit=1000' /metrics /jobs/ann-n1/why '/jobs?state=all&limit=1000' /jobs/ann-n2/logs
! is_on rings || attack rings "$python" "$lib/siege.py" rings "$plain" "$work/eve" "$seconds"
! is_on documents || attack documents "$python" "$lib/siege.py" documents "$plain" "$work/mallory" "$seconds"
! is_on arrays || attack arrays "$python" "$lib/siege.py" arrays "$plain" "$work/mallory" "$seconds"
! is_on smuggle || attack smuggle "$python" "$lib/siege.py" smuggle "$seconds" "$plain" "$(socket_of n1)"
! is_on stolen || attack stolen "$python" "$lib/siege.py" stolen "$tls" "$(cat "$work/n4/credential")" "$process" n4 "$seconds"
! is_on local || attack_held local_silent "$python" "$lib/socket_siege.py" silent 1200 "$(socket_of n1)"
! is_on local || attack_held local_bodies "$python" "$lib/socket_siege.py" storm 80 "$(socket_of n1)"
! is_on strangers || attack_held strangers "$python" "$lib/flood.py" 3000 "$plain" "$tls"

# --- and who is to notice nothing of it
"$python" "$lib/siege.py" people "$tls" "$plain" "$work/ann" "$work/olga" "$seconds" >"$work/people" || fail 'people cannot even ask'
took_s=$((($(date +%s%N) - began) / 1000000000))
call admin /metrics >"$work/metrics"
[ -z "${polls_in:-}" ] || { echo >&"$polls_in" && read -r -t 20 line <&"$polls_out" && echo "$line" >"$work/polls.out"; }
for fd in $fifos; do echo >&"$fd"; exec {fd}>&-; done
# shellcheck disable=SC2086
[ -z "$attackers" ] || wait $attackers

# --- what came of it
for node in n1 n2 n3; do
    "$python" "$lib/siege.py" worked "$work/ann-$node" >"$work/worked.$node"
    call admin "/jobs/ann-$node/tasks" >"$work/tasks.$node"
    call admin "/jobs/ann-$node/processes" >"$work/processes.$node"
done
lost() { # the nodes whose lease ended, a line each
    local after=$first_event
    while call admin "/events?limit=1000&after=$after" >"$work/page" && holds '.events != []' <"$work/page"; do
        jq -r '.events[] | select(.event == "node-lost") | .node' "$work/page"
        after=$(jq '.events[-1].revision' "$work/page")
    done
}
lost | jq -nR '[inputs]' >"$work/lost"
jq -n --arg kinds "$kinds" --argjson seconds "$took_s" --slurpfile people "$work/people" --slurpfile lost "$work/lost" \
    --argjson n1 "$(cat "$work/worked.n1")" --argjson n2 "$(cat "$work/worked.n2")" --argjson n3 "$(cat "$work/worked.n3")" \
    --argjson longest "$(awk '$1 == "edl_http_longest_wait_seconds{caller=\"node\"}" { print $2 * 1000 }' "$work/metrics")" \
    --argjson p99 "$(awk '/^edl_http_wait_seconds_bucket{caller="node"/ { split($1, at, /le="/); le[++n] = at[2] + 0; sum[n] = $2 }
        END { for (i = 1; i < n; i++) if (sum[i] >= 0.99 * sum[n]) break; print le[i] * 1000 }' "$work/metrics")" \
    --argjson memory "$(awk '$1 == "VmHWM:" { print int($2 / 1024) }' "/proc/$scheduler/status")" \
    '{kinds: $kinds, seconds: $seconds, report_wait_longest_ms: $longest, report_wait_p99_ms: ([$p99, $longest] | min), submit: $people[0].submit, read: $people[0].read,
      local: {n1: $n1, n2: $n2, n3: $n3}, memory_mib: $memory, leases_ended: $lost[0]}' >"$work/figures"
cat "$work/figures"
[ -z "${EDL_SIEGE_FIGURES:-}" ] || cp "$work/figures" "$EDL_SIEGE_FIGURES"
did() { # NAME: what it says of itself; what did nothing was no attack
    echo "$1: $(tail -n 1 "$work/$1.out" | cut -c 1-300)"
    tail -n 1 "$work/$1.out" | holds '[.. | numbers] | add > 0' || fail "$1 did nothing: $(cat "$work/$1.log")"
}
for kind in $kinds; do
    case $kind in
    datasets) jq -sc 'map(.[0]) | group_by(.) | map({(.[0] | tostring): length}) | add' "$work"/dataset.* >"$work/datasets.out" && did datasets ;;
    local) did local_silent && did local_bodies ;;
    *) did "$kind" ;;
    esac
done

is() { # WHAT JQ-FILTER...: true of the figures
    local what=$1
    shift
    holds "$@" <"$work/figures" || fail "$what"
}
# the stolen node's own lease is the thief's to end
is "leases ended: $(cat "$work/lost")" '.leases_ended - ["n4"] == []'
is "a report waited too long" --argjson most "$report_wait_s" '.report_wait_longest_ms < $most * 1000'
is "ann's submissions failed, or took too long" --argjson most $call_ms '.submit.failed == [] and .submit.calls > 0 and .submit.longest_ms < $most'
is "an operator was not answered, or too late" --argjson most $call_ms '.read.failed == [] and .read.calls > 0 and .read.longest_ms < $most'
is "calls of ann's processes failed, or took too long" --argjson most $call_ms 'all(.local[]; .failed == [] and .finished > 0 and .longest_ms < $most)'
is "ann's processes began again, or their tasks did" 'all(.local[]; .began == 1 and .again == [])'
is "the scheduler took too much memory" --argjson most $memory_mib '.memory_mib < $most'
for node in n1 n2 n3; do
    holds --slurpfile worked "$work/worked.$node" '.records_total >= $worked[0].finished and .records_total <= $worked[0].finished + 3 and .records_discarded == 0' \
        <"$work/tasks.$node" || fail "the tasks of ann-$node: $(cat "$work/tasks.$node" "$work/worked.$node")"
    holds '.processes | length == 1 and .[0].state == "running" and .[0].incarnation == 1' <"$work/processes.$node" || fail "ann-$node: $(cat "$work/processes.$node")"
done
echo "siege: all good"
