#!/usr/bin/env bash
# What is cut off stands still, and goes on or is killed once it is known which. Three machines with the packaged lease: the machine of
# the scheduler is rebooted in order, then loses its power for a minute, and neither counters nor training on the two others notice
# more than a pause, also where the agent is stopped and started meanwhile. Then one of them is cut off for a minute: its work runs
# elsewhere, and what is frozen there is killed without another act. A cut of a moment loses nothing.
# It takes some five minutes. Two are the cuts: each is longer than whatever a lease, a link or a start waits for. Another is the rest of
# the training, which may not end before the second cut does.
# Runs at night: it waits for five minutes
machine_has=libopenblas0-pthread,libgfortran5
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"
nodes='n1 n2 n3'
lease_s=5
cut_s=60
edl() { machine_in n1 env EDL_SERVER=unix:/run/edl/scheduler.sock edl "$@"; }
api() { # METHOD PATH [ARGUMENT...]
    machine_in n1 curl -sS --fail-with-body -m 20 --unix-socket /run/edl/scheduler.sock -X "$1" "http://localhost$2" "${@:3}"
}
uptime_s() { cut -d' ' -f1 /proc/uptime; }
# what awk says of numbers, times among them
is() { awk "BEGIN { exit !($1) }"; }
passed_s() { awk -v from="$1" '{ printf "%.1f", $1 - from }' /proc/uptime; }
seconds_since() { is "$(passed_s "$1") >= $2"; }
said() { echo "$(passed_s "$began_s") s: $1"; }
began_s=$(uptime_s)

# ---- the machines, the cluster

machine_boot $nodes
mkdir -p "$machines/shared/counts"
cp "$EDL_SOURCE_DIR/tests/lib/count.pl" "$machines/shared/count"
"$EDL_BUILD_DIR/edl" corpus build --out "$machines/shared/corpus" --synthetic 60 --samples 40000 --chunk-records 250 >/dev/null || fail 'there is no corpus'
chmod -R a+rwX "$machines/shared"
chmod a+x "$machines/shared/count"
for name in $nodes; do units_install $name || fail "the units cannot be installed on $name"; done
machine_in n1 sh -c 'mkdir -p /etc/edl/scheduler.conf.d; echo "name: [10.77.0.11]" >/etc/edl/scheduler.conf.d/own.conf'
machine_in n1 grep -rq lease: /etc/edl && fail 'this is no packaged default'
machine_in n1 systemctl enable -q edl-scheduler.socket edl-scheduler edl-agent
machine_in n1 systemctl start edl-scheduler || fail 'the scheduler does not start'
configure() { # NAME LABELS
    machine_in "$1" sh -c '[ -e /var/lib/edl/scheduler ] || rm -f /etc/edl/agent.conf.d/10-this-machine.conf
        printf "no-foreign: true\ncpu: 2\ncpu-quota: true\nlabel: [%s]\n" "$0" >/etc/edl/agent.conf.d/own.conf' "$2"
}
join() { # NAME
    local token joining
    token=$(api POST /tokens/join -d '{}') || return 1
    machine_in "$1" edl-agent --join "$(jq -r .server <<<"$token")" --token "$(jq -r .token <<<"$token")" --ca-pin "$(jq -r .ca_pin <<<"$token")" &
    joining=$!
    await 120 "$1 has joined" machine_in "$1" test -s /var/lib/edl/agent/credential
    machine_in "$1" pkill -x edl-agent
    wait $joining && machine_in "$1" systemctl start edl-agent
}
configure n1 'for-n1=yes, moves=yes'
configure n2 for-n2=yes
configure n3 'for-n3=yes, moves=yes'
machine_in n1 systemctl start edl-agent || fail 'there is no agent on n1'
for name in n2 n3; do join $name || fail "$name does not join"; done
ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; }
await 120 'three machines are nodes' ready 3
said 'three machines are nodes'

# ---- the jobs: one on each node that is not fault tolerant; two servers on n2, two trainers on n3

submit() { machine_in n1 sh -c 'cat >/run/job.json'; edl submit /run/job.json >/dev/null || fail 'a job is not taken'; } # DOCUMENT on stdin
counter() { # NAME LABEL FAULT-TOLERANT
    : >"$machines/shared/counts/$1"
    chmod a+rw "$machines/shared/counts/$1"
    submit <<END
{"name": "$1", "fault_tolerant": $3, "roles": [{"role": "worker", "command": ["/shared/count", "/shared/counts/$1"], "cpu": "50m", "memory": "32Mi", "node-selector": {"$2": "yes"}}]}
END
}
for name in $nodes; do counter "on-$name" "for-$name" false; done
# the share of a core is what makes the training last: no machine does it before its cuts are over
submit <<END
{"name": "train", "mode": "pserver", "fault_tolerant": true, "passes": ${EDL_PASSES:-8}, "dataset": "/shared/corpus/train-*.recordio", "roles": [
 {"role": "pserver", "command": ["/opt/edl/bin/edl-pserver"], "min": 2, "max": 2, "cpu": "40m", "memory": "64Mi", "node-selector": {"for-n2": "yes"}},
 {"role": "trainer", "command": ["/opt/edl/bin/edl-trainer", "--evaluate-max", "200"], "min": 2, "max": 2, "cpu": "20m", "memory": "64Mi", "node-selector": {"for-n3": "yes"}}]}
END
live() { # JOB: ROLE INDEX NODE PID INCARNATION
    api GET "/jobs/$1/processes?state=live" | jq -r '.processes[] | select(.state == "running") | "\(.role) \(.index) \(.node) \(.pid) \(.incarnation)"' | sort
}
stay() { for job in on-n2 on-n3 train; do live $job || return 1; done; } # all that no cut of n1 is to end
records() { api GET /jobs/train | jq .records_total; }
trains() { [ "$(records)" -gt "$1" ]; } # RECORDS
lines() { wc -l <"$machines/shared/counts/$1"; }
counts() { [ "$(lines "$1")" -gt "$2" ]; } # JOB LINES
for name in $nodes; do await 120 "on-$name counts" counts "on-$name" 5; done
await 120 'it trains' trains 2000
before=$(stay)
[ "$(wc -l <<<"$before")" = 6 ] || fail "six processes are to run on n2 and n3: $before"
said "they run, $(records) records"

# a count without a gap of one process alone, though not of time: the longest pause is told
pause_s() { # JOB SINCE
    awk -v since="$2" '$4 >= since && last != "" && $4 - last > max { max = $4 - last } { last = $4 } END { printf "%.1f", max }' "$machines/shared/counts/$1"
}
exact() { # JOB
    awk '$1 != 1 || $3 != NR || (NR > 1 && $2 != pid) { print NR ": " $0; exit 1 } { pid = $2 }' "$machines/shared/counts/$1" || fail "$1: its count is not exact"
}
frozen_s() { # JOB: for how long its processes stood still, by its API
    api GET "/jobs/$1/processes?state=live" | jq -r '[.processes[] | "\(.role)-\(.index) \((.frozen_us // 0) / 1e6 * 10 | round / 10)"] | join(", ")'
}
go_on() { # WHAT SINCE: what runs on n2 and n3 goes on, as the same processes
    local done_records name
    await 120 "$1: three machines are nodes" ready 3
    done_records=$(records)
    for name in n2 n3; do await 120 "$1: on-$name goes on" counts "on-$name" "$(lines "on-$name")"; done
    await 120 "$1: it trains on" trains $((done_records + 500))
    [ "$(stay)" = "$before" ] || fail "$1: other processes run: $(diff <(echo "$before") <(stay))"
    for name in n2 n3; do exact "on-$name"; done
    said "$1: the same processes on n2 and n3; longest pause $(pause_s on-n2 "$2") and $(pause_s on-n3 "$2") s; stood still: $(frozen_s on-n2), $(frozen_s on-n3), $(frozen_s train)"
}
answers() { edl ps >/dev/null 2>&1; }
groups_on() { # NAME: cgroup.events of the programs there
    machine_in "$1" sh -c 'find /sys/fs/cgroup -path "*/edl-*.service/program/cgroup.events" -exec grep -l "^populated 1" {} + | xargs -r cat'
}
frozen_on() { [ "$(groups_on "$1" | grep -c '^frozen 1$')" -ge "$2" ]; } # NAME N
events() { api GET '/events?after=0&limit=1000' | jq -r '.events[] | select(.event == "'"$1"'") | .text'; }

# ---- the machine of the scheduler is rebooted in order: n2 and n3 were told, and do not stop

from=$(uptime_s)
machine_reboot n1
await 120 'the scheduler is there again' answers
away_s=$(passed_s "$from")
is "$away_s > $lease_s" || fail "n1 was away for $away_s s: its lease did not end meanwhile"
go_on "n1 was rebooted in $away_s s" "$from"
went_on() { api GET "/jobs/$1/processes?state=live" | holds '[.processes[] | .frozen_us // 0] | length > 0 and all(. == 0)'; }
for job in on-n2 on-n3 train; do went_on $job || fail "of $job something stood still: $(frozen_s $job)"; done

# ---- it loses its power for a minute; meanwhile the agent of n3 is stopped and started

from=$(uptime_s)
machine_cut n1
await 120 'all of n2 stands still' frozen_on n2 3
await 120 'all of n3 stands still' frozen_on n3 3
said "n1 is cut off for $(passed_s "$from") s: all of n2 and n3 stands still"
counted=$(lines on-n3)
stop_from=$(uptime_s)
machine_in n3 systemctl stop edl-agent
stop_s=$(passed_s "$stop_from")
[ "$(machine_in n3 systemctl show edl-agent -p Result --value)" = success ] || fail "the agent does not stop: $(machine_in n3 systemctl show edl-agent -p Result)"
said "systemctl stop edl-agent took $stop_s s"
await 120 'three leases are over' seconds_since "$from" $((3 * lease_s))
frozen_on n3 3 || fail 'something on n3 goes on without an agent'
machine_in n3 systemctl start edl-agent || fail 'the agent does not start without its scheduler'
await 120 'the minute is over' seconds_since "$from" $cut_s
[ "$(lines on-n3)" = "$counted" ] || fail "on-n3 acted while it was cut off: $counted lines, now $(lines on-n3)"
machine_boot n1
await 120 'the scheduler is there again' answers
go_on "n1 was without power for $(passed_s "$from") s" "$from"
for name in n2 n3; do is "$(pause_s "on-$name" "$from") >= $cut_s - $lease_s" || fail "on-$name did not stand still: $(pause_s "on-$name" "$from") s"; done
thawed() { [ "$(events process-thawed | wc -l)" -ge 6 ]; }
await 120 'it is told that they stood still' thawed
events process-thawed
edl why on-n2
for job in on-n2 on-n3; do edl why $job | grep -q 'stood still for .* s: its node n. was cut off' || fail "edl why says: $(edl why $job)"; done

# ---- the training ends with every record counted once

edl wait train --timeout 600 >/dev/null || fail "train: $(edl show train; edl logs train | tail -n 20)"
api GET /jobs/train/tasks | holds '.records_total + 0 == .records_pass * .passes and .records_discarded == 0 and .todo == 0 and .leased == 0 and .model_saved' ||
    fail "its counts are not exact: $(api GET /jobs/train/tasks)"
[ "$(api GET '/jobs/train/processes?state=all' | jq '.processes | length')" = 4 ] || fail 'another process of it ran'
said "the training is done: $(api GET /jobs/train/tasks)"

# ---- n3 is cut off for a minute: its work runs on n1, and what is frozen is killed

incarnations() { cut -d' ' -f1 "$machines/shared/counts/$1" | sort -un | paste -sd' '; }
acts() { [ "$(incarnations "$1")" = "$2" ]; } # JOB INCARNATIONS
last_of() { awk -v i="$2" '$1 == i { last = $4 } END { print last }' "$machines/shared/counts/$1"; } # JOB INCARNATION
edl node cordon n1 >/dev/null
counter moves moves true
await 120 'it counts on n3' counts moves 5
edl node uncordon n1 >/dev/null
read -r _ _ node pid _ <<<"$(live moves)"
[ "$node" = n3 ] || fail "it is on $node"
from=$(uptime_s)
machine_link n3 down
await 120 'it acts on n1' acts moves '1 2'
said "n3 is cut off for $(passed_s "$from") s: its work acts on n1, whose first sign came $(awk -v from="$from" '$1 == 2 { printf "%.1f", $4 - from; exit }' "$machines/shared/counts/moves") s after the cut"
frozen_on n3 2 || fail 'what ran on n3 does not stand still'
for job in moves on-n3; do is "$(last_of $job 1) <= $from + $lease_s" || fail "$job acted after its lease: $(last_of $job 1), the cut was at $from"; done
counted=$(lines on-n3)

# meanwhile n2 is cut off for so long that it is frozen, and not so long that it is lost
before=$(live on-n2)
heard() { api GET /nodes/n2 | jq .last_report_us; }
reported=$(heard)
until differs "$(heard)" "$reported"; do await_pause 0.05; done # from then on it has a whole lease
moment=$(uptime_s)
machine_link n2 down
until seconds_since "$moment" 5; do await_pause 0.05; done
machine_link n2 up
await 120 'n2 goes on' counts on-n2 "$(($(lines on-n2) + 5))"
[ "$(live on-n2)" = "$before" ] || fail "another process runs on n2: $before, $(live on-n2)"
exact on-n2
said "n2 was cut off for 5 s: the same process, pause $(pause_s on-n2 "$moment") s"

await 120 'the minute is over' seconds_since "$from" $cut_s
machine_in n3 test -e "/proc/$pid" || fail 'what was cut off is gone already'
[ "$(last_of moves 1) $(lines on-n3)" = "$(awk -v second="$(awk '$1 == 2 { print $4; exit }' "$machines/shared/counts/moves")" '$1 == 1 && $4 < second { last = $4 } END { print last }' "$machines/shared/counts/moves") $counted" ] ||
    fail 'what was cut off acted'
back=$(uptime_s)
machine_link n3 up
gone() { machine_in n3 test ! -e "/proc/$pid"; }
await 120 'what was frozen is killed' gone
said "n3 is back: what was frozen is gone after $(passed_s "$back") s"
none_on() { silent machine_in n3 sh -c 'pgrep -x count; true'; }
await 120 'nothing of it is left' none_on
await 120 'three machines are nodes' ready 3
for job in moves on-n3; do is "$(last_of $job 1) <= $from + $lease_s" || fail "$job acted after its lease: $(last_of $job 1)"; done
acts moves '1 2' || fail "it ran as $(incarnations moves)"
said 'done'
