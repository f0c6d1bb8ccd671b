#!/usr/bin/env bash
# A cluster of four machines out of the packages: a scheduler's, which is a node as well, and three more. Jobs come by HTTP and are
# kept within their limits; an upgrade of everything and a restart of the scheduler's machine disturb none of 100 processes; nodes
# are restarted, cut off in every way and switched off, and of no process two act at a time.
# Takes 206 s: four machines are upgraded, restarted, cut off for longer than their leases, one after another
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
[ "$(nproc)" -ge 2 ] || {
    echo 'each node offers two cores, this machine has one'
    exit 77
}
[ -n "${EDL_TEST_MACHINES:-}" ] || { packages_build && packages_build_next; }
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
nodes='n1 n2 n3'
everywhere="s $nodes"
processes=100
lease_s=30
on() { machine_in "$1" env PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"; } # what is installed, not what was built
on_fail() {
    on s sh -c 'edl nodes; edl ps --all; edl events | tail -n 40; journalctl -u edl-scheduler --no-pager -o short-precise -n 30'
    for name in $nodes; do on "$name" journalctl -u edl-agent --no-pager -o short-precise -n 20; done
}
each() { # COMMAND NAME...: the command for each name, at once
    local command=$1 name
    local -A pids
    shift
    for name in "$@"; do
        $command "$name" >"$machines/$name/said" 2>&1 &
        pids[$name]=$!
    done
    for name in "$@"; do wait "${pids[$name]}" || fail "$command $name: $(cat "$machines/$name/said")"; done
}
began=$EPOCHREALTIME
passed() { echo "$(awk "BEGIN { printf \"%6.1f\", $EPOCHREALTIME - $began }") s: $1"; }
api() { # METHOD PATH [ARGUMENT...]: as anybody on the network would, with a token
    curl -sS --fail-with-body -m 20 --cacert "$machines/s/root/var/lib/edl/scheduler/ca.pem" -X "$1" "https://10.77.0.11:7010$2" \
        -H "Authorization: Bearer $(cat "$machines/s/root/var/lib/edl/scheduler/admin-token")" "${@:3}"
}
submit() { # DOCUMENT on stdin
    api POST /jobs -H 'Content-Type: application/yaml' --data-binary @- >"$machines/answer" || fail "it is not taken: $(cat "$machines/answer")"
}
field() { api GET "/jobs/$1" | jq -r "$2"; }
job_state() { field "$1" .state; }
live() { # JOB: its processes that run: INDEX NODE PID INCARNATION
    api GET "/jobs/$1/processes?state=live" | jq -r '.processes[] | select(.state == "running") | "\(.index) \(.node) \(.pid) \(.incarnation)"' | sort -n
}
is_ready() { api GET /readyz >/dev/null 2>&1; }
has_live() { [ "$(live "$1" | wc -l)" = "$2" ]; }
runs_on() { [ "$(live "$1" | cut -d' ' -f2)" = "$2" ]; }
state_is() { [ "$(api GET "/nodes/$1" | jq -r .state)" = "$2" ]; }
all_ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = 3 ]; } # s is cordoned
tick() { # "INCARNATION PID NUMBER UPTIME" of each process of job $1, as it counts on whatever node
    cat "$machines"/*/root/var/lib/edl/agent/output/"$1-$(field "$1" .id)"/*
}

# ---- the machines, the packages, the cluster

machine_boot $everywhere
setup() { # NAME
    local label="for-$1=yes"
    [ "$1" != s ] || label=$(for name in $nodes; do printf 'for-%s=yes, ' "$name"; done)
    on "$1" sh -ec 'mkdir -p /etc/edl/agent.conf.d /etc/edl/scheduler.conf.d
        printf "no-foreign: true\ncpu: 2\ncpu-quota: true\nlabel: [%s]\n" "$1" >/etc/edl/agent.conf.d/own.conf
        [ "$2" != s ] || printf "lease: %ss\nname: [10.77.0.11]\n" "$3" >/etc/edl/scheduler.conf.d/own.conf
        cat >/usr/local/bin/count' sh "${label%, }" "$1" $lease_s <"$EDL_SOURCE_DIR/tests/lib/count.pl"
    on "$1" chmod +x /usr/local/bin/count
}
apt_source() { # NAME FILE
    local built
    built=$(cd "$EDL_BUILD_DIR" && pwd)
    sed "s|$built|/opt/edl/bin|g" "$2" | on "$1" sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; cat >/etc/apt/sources.list.d/local.list'
}
apt() { on "$1" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 "${@:2}"; } # NAME ARGUMENT...
install() { # NAME
    local wanted=edl-agent
    [ "$1" != s ] || wanted='edl-scheduler edl-agent'
    setup "$1" && apt_source "$1" "$packages.source" && apt "$1" update && apt "$1" install --no-install-recommends $wanted
}
each install $everywhere
passed 'installed by apt on four machines'

on s bash -s <"$EDL_SOURCE_DIR/packaging/debian/tests/one-machine" >"$machines/one" 2>&1 || fail "the packages' own test: $(cat "$machines/one")"
passed "the packages' own test"

join() { # NAME
    local token joining
    token=$(api POST /tokens/join -d '{}') || return 1
    on "$1" edl-agent --join "$(jq -r .server <<<"$token")" --token "$(jq -r .token <<<"$token")" --ca-pin "$(jq -r .ca_pin <<<"$token")" &
    joining=$!
    await 300 "$1 has joined" on "$1" test -s /var/lib/edl/agent/credential
    on "$1" pkill -x edl-agent
    wait $joining && on "$1" systemctl start edl-agent
}
each join $nodes
on s edl node cordon s >/dev/null
await 300 'three machines are nodes' all_ready
passed 'joined'

# ---- jobs as people have them, within their limits

submit <<'END'
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata:
  name: example
spec:
  image: "paddlepaddle/paddlecloud-job"
  port: 7164
  ports_num: 1
  ports_num_for_sparse: 1
  fault_tolerant: true
  trainer:
    entrypoint: "exec sleep 1000"
    workspace: ""
    passes: 50
    min-instance: 2
    max-instance: 10
    resources:
      limits: {cpu: "200m", memory: "200Mi"}
      requests: {cpu: "200m", memory: "200Mi"}
  pserver:
    entrypoint: "exec sleep 1001"
    min-instance: 2
    max-instance: 2
    resources:
      limits: {cpu: "800m", memory: "600Mi"}
      requests: {cpu: "500m", memory: "600Mi"}
  master:
    resources:
      limits: {cpu: "800m", memory: "600Mi"}
END
[ "$(jq -r '.ignored | map(select(test("image|master"))) | length > 0' "$machines/answer")" = true ] || fail "nothing is said to be ignored: $(cat "$machines/answer")"
await 300 'the example runs' has_live example 12 # it tells nothing for a minute, and grows on then
limit_of() { # NODE PID CONTROLLER VALUE-1 VALUE-2: the least one above the process, of version 1 or 2
    # shellcheck disable=SC2016
    on "$1" sh -c 'group=$(sed -n "s/^[0-9]*:$2://p" /proc/"$1"/cgroup) at=/sys/fs/cgroup/$2 file=$3
        [ -n "$group" ] || { group=$(sed -n "s/^0:://p" /proc/"$1"/cgroup) at=/sys/fs/cgroup file=$4; }
        while [ -n "$group" ]; do cat "$at$group/$file"; group=${group%/*}; done' sh "$2" "$3" "$4" "$5" | sed 's/ .*//' | grep -v -- '-1\|max' | sort -n | head -n 1
}
while read -r role memory quota; do
    read -r node pid <<<"$(api GET /jobs/example/processes | jq -r "[.processes[] | select(.role == \"$role\")][0] | \"\\(.node) \\(.pid)\"")"
    [ "$(limit_of "$node" "$pid" memory memory.limit_in_bytes memory.max)" = "$memory" ] || fail "$role on $node: memory is $(limit_of "$node" "$pid" memory memory.limit_in_bytes memory.max)"
    [ "$(limit_of "$node" "$pid" cpu cpu.cfs_quota_us cpu.max)" = "$quota" ] || fail "$role on $node: cpu is $(limit_of "$node" "$pid" cpu cpu.cfs_quota_us cpu.max)"
done <<'END'
trainer 209715200 20000
pserver 629145600 50000
END
api DELETE /jobs/example >/dev/null
await 300 'it is killed' job_is example killed
for name in $nodes; do ! on "$name" pgrep -x sleep || fail "a process is left on $name"; done

# the older form, as the command of that time sent it
submit <<'END'
{"name": "paddlecloud", "job_package": "/tmp", "parallelism": 3, "cpu": 1, "memory": "100Mi", "pservers": 0, "pscpu": 1, "psmemory": "100Mi",
 "topology": "train.py", "dc": "datacenter1", "passes": 2, "envs": {"OWN": "value"},
 "entry": "echo $PADDLE_JOB_NAME $TRAINERS $PSERVERS $PADDLE_INIT_NUM_PASSES $OWN $PWD"}
END
submit <<'END'
{"name": "hungry", "roles": [{"role": "worker", "memory": "32Mi", "command": ["perl", "-e", "my $all = 'x' x 200000000; sleep 1000"]}]}
END
# the CPU that it gets in two seconds of a core that nobody else needs, in hundredths of a second
submit <<'END'
{"name": "busy", "roles": [{"role": "worker", "cpu": "200m", "memory": "32Mi",
 "command": ["perl", "-e", "my $end = time + 3; 1 while time < $end; my ($own) = times; print 'used ', int($own * 100), \"\\n\""]}]}
END
await 300 'it succeeds' job_is paddlecloud succeeded
[ "$(on s edl logs paddlecloud | grep -c 'paddlecloud 3 0 2 value /tmp$')" = 3 ] || fail "it says: $(on s edl logs paddlecloud)"
await 300 'it is killed' job_is hungry failed
field hungry .reason | grep -q 'out of memory' || fail "the reason is: $(field hungry .reason)"
await 300 'it is done' job_is busy succeeded
used=$(on s edl logs busy | sed -n 's/.*used //p')
[ "$used" -gt 0 ] && [ "$used" -le 90 ] || fail "with 200m it used $used hundredths of a second in three"
passed 'jobs by HTTP, within their limits'

# ---- an upgrade, and a restart of the scheduler's machine, under many processes

submit <<END
{"name": "many", "fault_tolerant": true, "roles": [{"role": "worker", "command": ["count"], "min": $processes, "max": $processes, "cpu": "50m", "memory": "32Mi"}]}
END
await 300 "$processes processes run" has_live many $processes
before=$(live many)
[ "$(cut -d' ' -f2 <<<"$before" | sort | uniq -c | wc -l)" = 3 ] || fail "they are not on three machines: $before"
counted() { # of each: INCARNATION PID, and with an argument whether it came further than that file says
    tick many | awk 'NR == FNR { before[$1 " " $2] = $3; next } { n[$1 " " $2] = $3 } END { for (i in n) if (n[i] > before[i]) further++; print length(n), further + 0 }' "$1" -
}
go_on() { [ "$(counted "$machines/ticks")" = "$processes $processes" ]; }
undisturbed() { # WHAT
    tick many >"$machines/ticks"
    await 300 "$1: all processes go on" go_on
    [ "$(live many)" = "$before" ] || fail "$1: $(diff <(echo "$before") <(live many))"
    tick many | awk '{ if ($1 != last && $3 != 1) gap = 1; if ($1 == last && $3 != n + 1) gap = 1; last = $1; n = $3 } END { exit gap }' ||
        fail "$1: a counter is not what it was"
    passed "$1: $processes processes undisturbed"
}
undisturbed 'running'

main_pid() { on "$1" systemctl show "edl-$2" -p MainPID --value; }
declare -A daemon
for name in $everywhere; do daemon[$name]=$(main_pid "$name" agent); done
scheduler=$(main_pid s scheduler)
upgrade() { apt_source "$1" "$packages.next.source" && apt "$1" update && apt "$1" upgrade; } # NAME
# units of a version before, whose files dpkg has removed: the package stops them
on s sh -c 'mkdir -p /run/systemd/system && cd /run/systemd/system &&
    printf "[Socket]\nListenSequentialPacket=/run/edl/lease-keeper.sock\n" >edl-lease-keeper.socket &&
    printf "[Service]\nExecStart=sleep infinity\n" >edl-lease-keeper.service && systemctl daemon-reload &&
    systemctl start edl-lease-keeper.socket edl-lease-keeper.service && rm edl-lease-keeper.*' || fail 'the former units do not start'
each upgrade s
for unit in edl-lease-keeper.socket edl-lease-keeper.service; do
    ! on s systemctl is-active -q $unit || fail "$unit of a version before is left"
done
each upgrade $nodes
is_new() { # NAME
    on "$1" systemctl is-active -q edl-agent && differs "$(main_pid "$1" agent)" "${daemon[$1]}" && on "$1" dpkg-query -W -f '${Version}' edl-agent | grep -q '+next$'
}
differs "$(main_pid s scheduler)" "$scheduler" || fail 'the scheduler was not started anew'
for name in $everywhere; do await 300 "the next agent runs on $name" is_new "$name"; done
await 300 'the nodes are there' all_ready
undisturbed 'apt upgrade of scheduler and agents'

kept() { api GET /jobs | jq -S '[.jobs[] | {id, name, state, reason, owner}]'; }
jobs_before=$(kept)
boot_id() { on "$1" cat /proc/sys/kernel/random/boot_id; }
boot=$(boot_id s)
machine_reboot s
await 300 'the scheduler is there again' is_ready
differs "$(boot_id s)" "$boot" || fail "the scheduler's machine was not restarted"
[ "$(kept)" = "$jobs_before" ] || fail "the jobs are others: $(diff <(echo "$jobs_before") <(kept))"
await 300 'the nodes are there' all_ready
await 300 'all processes are known' has_live many $processes
undisturbed "restart of the scheduler's machine"

# ---- nodes that go: who acts for them acts alone

api DELETE /jobs/many >/dev/null
await 300 'it is killed' job_is many killed
plant() { # NAME: a job that begins on this node, and may be on s
    submit <<END
{"name": "on-$1", "fault_tolerant": true, "roles": [{"role": "worker", "command": ["count"], "cpu": "100m", "memory": "32Mi", "node-selector": {"for-$1": "yes"}}]}
END
    await 300 "a process runs on $1" runs_on "on-$1" "$1"
}
incarnations() { tick "$1" | cut -d' ' -f1 | sort -un | paste -sd' '; }
acts() { [ "$(incarnations "$1")" = "$2" ]; } # JOB INCARNATIONS
alone() { # JOB: the last sign of life of an incarnation comes before the first of the next
    tick "$1" | sort -n -k1,1 -k3,3 | awk '{ if (!($1 in first)) { first[$1] = $4; order[++n] = $1 } last[$1] = $4 }
        END { for (i = 1; i < n; i++) if (last[order[i]] >= first[order[i + 1]]) { print order[i], last[order[i]], order[i + 1], first[order[i + 1]]; exit 1 } }' ||
        fail "$1: two incarnations acted at once"
}
end_of() { # JOB INCARNATION: how it is told
    api GET "/jobs/$1/processes?state=all" | jq -r --argjson i "$2" '.processes[] | select(.incarnation == $i) | .state + ", " + .reason'
}
for name in $nodes; do plant "$name"; done
before=$(live on-n2; live on-n3)

boot=$(boot_id n1)
machine_reboot n1
differs "$(boot_id n1)" "$boot" || fail 'n1 was not restarted'
await 300 'n1 acts again' acts on-n1 '1 2'
alone on-n1
case $(end_of on-n1 1) in
lost,*) ;;
*) fail "of a process on a machine that was restarted is told: $(end_of on-n1 1)" ;;
esac
[ "$(live on-n2; live on-n3)" = "$before" ] || fail 'processes on other nodes are others'
passed 'a node was restarted'

on s edl node uncordon s >/dev/null
machine_link n1 down             # both ways
machine_cable n2 100 0 0         # hears nothing
machine_cable n3 0 100 0         # is not heard
await 300 'another acts for n1' acts on-n1 '1 2 3'
await 300 'another acts for n2' acts on-n2 '1 2'
await 300 'another acts for n3' acts on-n3 '1 2'
for name in $nodes; do
    alone "on-$name"
    runs_on "on-$name" s || fail "on-$name is on $(live "on-$name")"
    state_is "$name" lost || fail "$name is $(api GET "/nodes/$name" | jq -r .state)"
done
on s edl node cordon s >/dev/null
machine_link n1 up
machine_cable n2
machine_cable n3
await 300 'the nodes are back' all_ready
nothing_counts() { ! on "$1" pgrep -x count >/dev/null; } # what stood still there was killed
for name in $nodes; do await 300 "no process is left on $name" nothing_counts "$name"; done
passed 'cables were pulled: both ways, and either way'

# ---- one is switched off; meanwhile bad cables disturb nothing, and work goes out over them

for name in $nodes; do api DELETE "/jobs/on-$name" >/dev/null; done
for name in $nodes; do await 300 'it is killed' job_is "on-$name" killed; done
for name in $nodes; do plant "$name"; done
before=$(live on-n2; live on-n3)
machine_cable n2 30 0 0
machine_cable n3 0 0 1000
on s edl node uncordon s >/dev/null
machine_cut n1
await 300 'another acts for n1' acts on-n1 '1 2'
state_is n1 lost || fail "n1 is $(api GET /nodes/n1 | jq -r .state)"
alone on-n1
[ "$(live on-n2; live on-n3)" = "$before" ] || fail "processes behind bad cables are others: $before, $(live on-n2; live on-n3)"
on s edl node cordon s >/dev/null
on n3 systemctl restart edl-agent # which takes longer to be heard there than its lease allows it, but is heard
for name in n2 n3; do
    submit <<END
{"name": "errand-$name", "roles": [{"role": "worker", "command": ["hostname"], "node-selector": {"for-$name": "yes"}}]}
END
done
for name in n2 n3; do await 300 "an errand on $name" job_is "errand-$name" succeeded; done
alone on-n3
machine_cable n2
machine_cable n3
machine_boot n1
await 300 'the nodes are back' all_ready
await 300 'the one on n3 acts' runs_on on-n3 n3
before=$(live on-n2; live on-n3)
passed 'a node was switched off, while 30 % loss and 2 s for an answer disturbed nothing'

# ---- the scheduler's machine is switched off right after an answer

submit <<'END'
{"name": "last", "roles": [{"role": "worker", "command": ["true"]}]}
END
machine_cut s
machine_boot s
await 300 'the scheduler is there again' is_ready
await 300 'the last job is done' job_is last succeeded
[ "$(live on-n2; live on-n3)" = "$before" ] || fail "processes are others: $before, $(live on-n2; live on-n3)"
passed "the scheduler's machine was switched off"
