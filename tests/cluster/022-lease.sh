#!/usr/bin/env bash
# The lease of what is installed, without a word about it: three machines whose units are those of the packages. A scheduler that is
# stopped for three leases and started again, or restarted while jobs run, ends no process, because it says that it leaves; one
# that is gone without a word freezes what runs, and the same processes go on; an agent that is stopped changes nothing of that;
# what ran on a machine that is switched off is given to another one within 8 s.
# Takes 57 s: waits for three leases of 5 s, twice, and machines boot
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"
within_s=8
edl() { machine_in s env EDL_SERVER=unix:/run/edl/scheduler.sock edl "$@"; }
api() { # METHOD PATH [ARGUMENT...]
    machine_in s curl -sS --fail-with-body -m 20 --unix-socket /run/edl/scheduler.sock -X "$1" "http://localhost$2" "${@:3}"
}
# by the scheduler's own clock: how soon others see it is a matter of what else this machine does
lost_after_s() { # NODE FROM_US
    api GET '/events?after=0&limit=1000' |
        jq -r --arg node "$1" --argjson from "$2" '[.events[] | select(.event == "node-lost" and .node == $node) | .time_us] | last | (. - $from) / 1e6'
}
seconds_since() { [ $(($(cut -d. -f1 /proc/uptime) - $1)) -ge "$2" ]; }

machine_boot s n1 n2
for name in s n1 n2; do units_install $name || fail "the units cannot be installed on $name"; done
machine_in s sh -c 'mkdir -p /etc/edl/scheduler.conf.d; echo "name: [10.77.0.11]" >/etc/edl/scheduler.conf.d/own.conf'
machine_in s grep -rq lease: /etc/edl && fail 'this is no packaged default'
machine_in s systemctl start edl-scheduler || fail 'the scheduler does not start'
join() { # NAME
    local token joining
    token=$(api POST /tokens/join -d '{}') || return 1
    machine_in "$1" sh -c 'rm -f /etc/edl/agent.conf.d/10-this-machine.conf; mkdir -p /etc/edl/agent.conf.d
        printf "no-foreign: true\ncpu: 2\nlabel: [for-%s=yes]\n" "$0" >/etc/edl/agent.conf.d/own.conf' "$1"
    machine_in "$1" edl-agent --join "$(jq -r .server <<<"$token")" --token "$(jq -r .token <<<"$token")" --ca-pin "$(jq -r .ca_pin <<<"$token")" &
    joining=$!
    await 120 "$1 has joined" machine_in "$1" test -s /var/lib/edl/agent/credential
    machine_in "$1" pkill -x edl-agent
    wait $joining && machine_in "$1" systemctl start edl-agent
}
for name in n1 n2; do join $name; done
ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; }
await 120 'both are nodes' ready 2
for job in one two; do edl submit --name $job -- sleep 3000 >/dev/null; done
live() { api GET "/jobs/$1/processes?state=live" | jq -r '.processes[] | select(.state == "running") | "\(.node) \(.incarnation)"'; }
running() { [ -n "$(live one)" ] && [ -n "$(live two)" ]; }
await 120 'both jobs run' running
all() { for job in one two; do api GET "/jobs/$job/processes?state=all" | jq -c '.processes[] | [.job_id, .incarnation, .pid, .state]'; done; }

# ---- the scheduler is away: an upgrade that takes long, a restart, a crash
before=$(all)
machine_in s systemctl stop edl-scheduler
await 120 'three leases have passed' seconds_since "$(cut -d. -f1 /proc/uptime)" 16
machine_in s systemctl start edl-scheduler
machine_in s systemctl restart edl-scheduler
machine_in s systemctl kill -s KILL edl-scheduler
again() { edl submit --name "probe" -- true >/dev/null 2>&1; }
await 120 'it answers again' again
await 120 'all nodes have reported' job_is probe succeeded # nothing is started before
[ "$(all)" = "$before" ] || fail "other processes run: $before; now $(all)"

# ---- a machine is switched off
for round in 1 2; do
    read -r node incarnation <<<"$(live one)"
    from_us=$(date +%s%6N)
    machine_cut "$node"
    elsewhere() { local now; now=$(live one) && [ -n "$now" ] && [ "${now#* }" != "$incarnation" ] && [ "${now% *}" != "$node" ]; }
    await 120 'it runs elsewhere' elsewhere
    took=$(lost_after_s "$node" "$from_us")
    echo "round $round: work of a machine that was switched off is given to another one after $took s"
    best_s=$(awk "BEGIN { print ${best_s:-$took} < $took ? ${best_s:-$took} : $took }")
    machine_boot "$node"
    machine_in "$node" systemctl start edl-agent || fail "no agent on $node"
    await 120 'the node is back' ready 2
done
# one of the two: the machine that tests may hold the scheduler up for some seconds
awk "BEGIN { exit !($best_s <= $within_s) }" || fail "it took $best_s s, and is to take $within_s"

# ---- the scheduler is gone and has said nothing, as when its machine loses power: what runs is frozen, and goes on
groups() { # NAME: cgroup.events of the programs there; a group of an earlier boot may be left, and is empty
    machine_in "$1" sh -c 'find /sys/fs/cgroup -path "*/edl-*.service/program/cgroup.events" -exec grep -l "^populated 1" {} + | xargs -r cat'
}
frozen() { [ "$(for name in n1 n2; do groups $name; done | grep -c '^frozen 1$')" = 2 ]; }
thawed() { [ "$(for name in n1 n2; do groups $name; done | grep -c '^frozen 0$')" = 2 ]; }
await 120 'both jobs run' running
before=$(all)
read -r node incarnation <<<"$(live one)"
await 120 'the programs are in groups of their own' thawed
machine_in s sh -c 'echo "away: 0" >/etc/edl/scheduler.conf.d/away.conf && systemctl reload edl-scheduler'
# a reload is over before the scheduler has read anything
await 120 'the scheduler has read it' machine_in s sh -c 'journalctl -u edl-scheduler -o cat --no-pager | grep -q "reload: away is now"'
machine_in s systemctl stop edl-scheduler.socket edl-scheduler # a call would start it again
await 120 'what runs is frozen' frozen
machine_in "$node" systemctl stop edl-agent
await 120 'three leases have passed' seconds_since "$(cut -d. -f1 /proc/uptime)" 16
frozen || fail 'something is not frozen any more'
machine_in "$node" systemctl start edl-agent
machine_in s systemctl start edl-scheduler.socket edl-scheduler
await 120 'what ran goes on' thawed
await 120 'both are nodes' ready 2
[ "$(all)" = "$before" ] || fail "other processes run: $before; now $(all)"
