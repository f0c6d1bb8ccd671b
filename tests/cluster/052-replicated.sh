#!/usr/bin/env bash
# Runs at night: three machines, their packages and databases, some minutes
# Two schedulers, and PostgreSQL with a synchronous copy, on three machines of systemd. All that docs/replicated.md tells people to type is
# typed. Then, under a hundred processes on three nodes: an upgrade of both schedulers one after the other, the leader's machine
# switched off, and the database's machine switched off and its copy promoted. No process is disturbed, and no acknowledged job is lost.
machine_has=postgresql
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
[ "$(nproc)" -ge 2 ] || {
    echo 'each node offers two cores, this machine has one'
    exit 77
}
[ -n "${EDL_TEST_MACHINES:-}" ] || { packages_build && packages_build_next; }
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
set -u
machines_all='n1 n2 n3'
processes=100
on() { machine_in "$1" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"; } # what is installed, not what was built
on_fail() {
    for name in "${!machine_leader[@]}"; do
        echo "== $name"
        on "$name" sh -c 'journalctl --no-pager -o short-precise -n 30 -u "edl*"; tail -n 15 /var/log/postgresql/*.log; edl nodes; edl ps --all | tail -n 20' || true
    done
}
began=$EPOCHREALTIME
passed() { echo "$(awk "BEGIN { printf \"%6.1f\", $EPOCHREALTIME - $began }") s: $1"; }
apt_source() { # NAME FILE
    local built
    built=$(cd "$EDL_BUILD_DIR" && pwd)
    # shellcheck disable=SC2016
    sed "s|$built|/opt/edl/bin|g" "$2" | on "$1" sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; cat >/etc/apt/sources.list.d/local.list
        echo "APT::Get::Assume-Yes true; Dpkg::Use-Pty false;" >/etc/apt/apt.conf.d/test; apt-get -qq update'
}

# whom people ask: both, in turn
servers=https://10.77.0.11:7010,https://10.77.0.12:7010
api() { # METHOD PATH [ARGUMENT...]: of the one that leads
    local server
    for server in ${servers//,/ }; do
        ! curl -sS --fail-with-body --connect-timeout 1 -m 20 --cacert "$machines/ca.pem" -X "$1" "$server$2" -H "Authorization: Bearer $(cat "$machines/admin-token")" "${@:3}" \
            >"$machines/answer" 2>"$machines/why" || { cat "$machines/answer" && return 0; }
    done
    return 1
}
submit() { # DOCUMENT on stdin, with a key: asked again until it is taken
    local document key
    document=$(cat) key=$(cat /proc/sys/kernel/random/uuid)
    taken() { api POST /jobs -H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary "$document" >"$machines/taken"; }
    await 300 'it is taken' taken
}
live() { # JOB: its processes that run: INDEX NODE PID INCARNATION
    api GET "/jobs/$1/processes?state=live" | jq -r '.processes[] | select(.state == "running") | "\(.index) \(.node) \(.pid) \(.incarnation)"' | sort -n
}
has_live() { [ "$(live "$1" | wc -l)" = "$2" ]; }
ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; }
role() { curl -sS --connect-timeout 1 -m 5 --cacert "$machines/ca.pem" "https://${machine_address[$1]}:7010/healthz" 2>/dev/null | jq -r .role; }
role_is() { [ "$(role "$1")" = "$2" ]; }
tick() { cat "$machines"/n[123]/root/var/lib/edl/agent/output/"many-$job"/*; } # "INCARNATION PID NUMBER UPTIME"

# ---- what the document says

machine_boot $machines_all
for name in $machines_all; do apt_source "$name" "$packages.source" || fail "apt update on $name"; done
setup() { # NAME
    on "$1" sh -ec 'mkdir -p /etc/edl/agent.conf.d
        printf "no-foreign: true\ncpu: 2\nnode: %s\n" "$1" >/etc/edl/agent.conf.d/own.conf
        cat >/usr/local/bin/count; chmod +x /usr/local/bin/count' sh "$1" <<'END'
#!/usr/bin/perl
# says that it acts: its incarnation, its pid, a number that rises, and when
open my $to, ">>", "$ENV{EDL_OUTPUT_DIR}/$ENV{EDL_ROLE}.$ENV{EDL_INDEX}" or die;
$to->autoflush(1);
for (my $n = 1;; $n++) {
    open my $uptime, "<", "/proc/uptime" or die;
    print $to "$ENV{EDL_INCARNATION} $$ $n ", (split " ", <$uptime>)[0], "\n";
    select undef, undef, undef, 0.2;
}
END
}
for name in $machines_all; do setup "$name"; done
blocks docs/replicated.md
run_blocks
cp "$machines/n1/root/var/lib/edl/scheduler/ca.pem" "$machines/n1/root/var/lib/edl/scheduler/admin-token" "$machines/"
await 300 'n2 stands by' role_is n2 standby
role_is n1 leader || fail "n1 is $(role n1)"
passed 'all that docs/replicated.md says was typed'

# ---- three nodes, a hundred processes

join() { # NAME
    local token
    token=$(api POST /tokens/join -d '{}') || return 1
    # what the package of a scheduler says to an agent beside it; this one is to ask all schedulers
    rm -f "$machines/$1/root/etc/edl/agent.conf.d/10-this-machine.conf"
    on "$1" apt-get install -qq --no-install-recommends edl-agent &&
        on "$1" edl-agent --join-only --join "$(jq -r .server <<<"$token")" --token "$(jq -r .token <<<"$token")" --ca-pin "$(jq -r .ca_pin <<<"$token")" &&
        on "$1" systemctl start edl-agent
}
for name in n2 n3; do join "$name" >"$machines/said" 2>&1 || fail "$name does not join: $(cat "$machines/said")"; done
await 300 'three machines are nodes' ready 3
submit <<END
{"name": "many", "fault_tolerant": true, "roles": [{"role": "worker", "command": ["count"], "min": $processes, "max": $processes, "cpu": "50m", "memory": "32Mi"}]}
END
job=$(jq -r .id "$machines/taken")
await 300 "$processes processes run" has_live many $processes
before=$(live many)
alone() { # of each slot one acts at a time
    tick | sort -s -n -k4,4 | awk '{ slot = $2; if (!($1 in last)) n[$1] = 0; last[$1] = $4 }'
    [ "$(tick | awk '{ print $1, $2 }' | sort -u | wc -l)" = "${1:-$processes}" ]
}
counted() { tick | awk 'NR == FNR { before[$1 " " $2] = $3; next } { n[$1 " " $2] = $3 } END { for (i in n) if (n[i] > before[i]) further++; print length(n), further + 0 }' "$1" -; }
go_on() { [ "$(counted "$machines/ticks")" = "$processes $processes" ]; }
undisturbed() { # WHAT
    tick >"$machines/ticks"
    await 300 "$1: all processes go on" go_on
    [ "$(live many)" = "$before" ] || fail "$1: $(diff <(echo "$before") <(live many))"
    passed "$1: $processes processes undisturbed"
}
undisturbed 'running'
acknowledged=''
work() { # NAME: a job that is acknowledged
    submit <<<"{\"name\": \"$1\", \"roles\": [{\"role\": \"worker\", \"command\": [\"true\"]}]}"
    acknowledged="$acknowledged $1"
}
is_there() { api GET "/jobs/$1" | holds --arg name "$1" '.job.name // .name == $name'; }
all_there() { # what is over is read beside the loop: that finds the other database some seconds later
    local name
    for name in $acknowledged; do await 300 "$name, which was acknowledged, is there" is_there "$name"; done
}
work before

# ---- both schedulers are upgraded, the standby first

main_pid() { on "$1" systemctl show edl-scheduler -p MainPID --value; }
upgrade() { # NAME
    local pid
    pid=$(main_pid "$1")
    apt_source "$1" "$packages.next.source" && on "$1" env DEBIAN_FRONTEND=noninteractive apt-get -qq upgrade >"$machines/said" 2>&1 || fail "apt upgrade on $1: $(cat "$machines/said")"
    differs "$(main_pid "$1")" "$pid" || fail "the scheduler of $1 was not started anew"
    on "$1" dpkg-query -W -f '${Version}' edl-scheduler | grep -q '+next$' || fail "$1 has no newer one"
}
upgrade n2
await 300 'the new one stands by' role_is n2 standby
work between
upgrade n1
await 300 'n2 leads' role_is n2 leader
await 300 'n1 stands by' role_is n1 standby
work after
await 300 'all nodes are there' ready 3
undisturbed 'an upgrade of both schedulers'
all_there

# ---- back to n1, whose machine has no database, and dies

on n2 systemctl restart edl-scheduler
await 300 'n1 leads' role_is n1 leader
await 300 'n2 stands by' role_is n2 standby
work last
tick_of() { cat "$machines/$1/root/var/lib/edl/agent/output/many-$job"/* | wc -l; }
kept=$(grep -v '^[0-9]* n1 ' <<<"$before")
on n1 true
machine_cut n1
cut_at=$EPOCHREALTIME
await 300 'n2 leads' role_is n2 leader
work afterwards
echo "a job is taken $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $cut_at }") s after the leader's machine was switched off"
others_run() { [ "$(live many | grep -v '^[0-9]* n1 ' | grep -cxF -f <(echo "$kept"))" = "$(wc -l <<<"$kept")" ]; }
others_run || fail "processes on n2 and n3 are others: $(diff <(echo "$kept") <(live many))"
all_there
passed "the leader's machine was switched off: processes of the others undisturbed"
machine_boot n1
await 300 'n1 stands by' role_is n1 standby
await 300 'all nodes are there' ready 3
await 300 'all processes run' has_live many $processes
passed 'it is back'

# ---- the machine of the database and of the leader dies, and the copy is promoted

before=$(live many)
kept=$(grep -v '^[0-9]* n2 ' <<<"$before")
machine_cut n2
cut_at=$EPOCHREALTIME
on n3 sh -c 'rm -f /etc/postgresql/15/main/conf.d/edl-copy.conf; pg_ctlcluster 15 main promote' || fail 'the copy is not promoted'
await 300 'n1 leads' role_is n1 leader
work promoted
echo "a job is taken $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $cut_at }") s after the machine of the database was switched off"
others_stay() { [ "$(live many | grep -cxF -f <(echo "$kept"))" = "$(wc -l <<<"$kept")" ]; }
await 300 'processes of n1 and n3 are known' others_stay
all_there
passed "the database's machine was switched off: nothing is lost, processes of the others undisturbed"
