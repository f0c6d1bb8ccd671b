#!/usr/bin/env bash
# Runs at night: three machines, their packages, etcd and databases, some minutes
# Two schedulers, and PostgreSQL under Patroni, on three machines of systemd, as docs/replicated.md ("Patroni") says it word for word. While
# people submit and thirty processes run: the machine of the primary is switched off and comes back, the database is switched over, the
# leader's machine is switched off, and one that has both. Each time somebody accepts again by itself. In the end no acknowledged job is
# lost, no slot ran twice, and no process has ended but those of a machine that was off. How long nobody accepted is told, not judged.
machine_has=postgresql,patroni,etcd-server
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
[ "$(nproc)" -ge 2 ] || {
    echo 'each node offers two cores, this machine has one'
    exit 77
}
[ -n "${EDL_TEST_MACHINES:-}" ] || packages_build
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
. "$EDL_SOURCE_DIR/tests/lib/replicated.sh"
set -u
writers() { "$python" "$EDL_SOURCE_DIR/tests/lib/two_writers.py" "$@"; }
addresses='n1=https://10.77.0.11:7010 n2=https://10.77.0.12:7010'

replicated_boot
copy_name=n3 # Patroni calls a server by its machine
replicated_type '## 1.' '### Patroni' '## 3.' '## 4.'
replicated_run 30 120m # on two machines; any two have room for all of them
undisturbed 'running'
# shellcheck disable=SC2086
"$python" "$EDL_SOURCE_DIR/tests/lib/two_writers.py" write "$machines/acks" "$machines/admin-token" $addresses >"$machines/writers" 2>&1 &
writers_pid=$!
trap 'kill -9 "$writers_pid" 2>/dev/null; machines_end' EXIT

# ---- Patroni, and what happens

patroni() { on "$1" patronictl -c /etc/patroni/config.yml "${@:2}" 2>"$machines/why"; } # MACHINE COMMAND...
is_member() { patroni n3 list -f json | holds --arg name "$1" --arg role "$2" 'any(.[]; .Member == $name and .Role == $role and .State == "running")'; }
database_is() { is_member "$1" Leader; }
copy_is() { is_member "$1" 'Sync Standby'; }
uptime_s() { cut -d' ' -f1 /proc/uptime; }
accepted() { writers told "$machines/acks" "$1" >"$machines/said"; } # SINCE
accepts() { # WHAT BEGIN BROKEN: somebody accepts what was sent behind BROKEN
    await 300 "$1: a job is accepted" accepted "$3"
    passed "$1: nobody accepted for $(writers gap "$machines/acks" "$2") s"
}
keep() { kept=$(live many | grep -v "^[0-9]* ${1:-none} "); } # [MACHINE]: the processes of all others
# A program that cannot be made to stand still before its lease ends, as on a machine that is much too busy, is ended: its agent says so.
cut_off() {
    local name
    for name in "${!machine_pid[@]}"; do on "$name" journalctl -u edl-agent -o cat --no-pager; done |
        sed -n "s/^process $job\.worker\.\([0-9]*\)\.\([0-9]*\) exited: .*lease ended.*/\1 \2/p"
}
kept_goes_on() {
    local index node pid incarnation now cut
    now=$(live many) cut=$(cut_off)
    while read -r index node pid incarnation; do
        grep -qx "$index $node $pid $incarnation" <<<"$now" || grep -qx "$index $incarnation" <<<"$cut" || return 1
    done <<<"$kept"
}
whole() { # WHAT: all is there again
    await 300 "$1: the database has its copy" copy_is "$2"
    await 300 "$1: all nodes are there" ready 3
    await 300 "$1: all processes run" has_live many "$processes"
    await 300 "$1: the processes of the other machines are those of before" kept_goes_on
    all_there
    passed "$1: the database has its copy, all processes run; $(cut_off | wc -l) were ended because they did not stand still in time"
}
lead() { # NAME OTHER: it leads, and the other one stands by
    role_is "$1" leader || on "$2" systemctl restart edl-scheduler
    await 300 "$1 leads" role_is "$1" leader
    await 300 "$2 stands by" role_is "$2" standby
}
off() { # MACHINE WHAT
    keep "$1"
    before_s=$(uptime_s)
    machine_cut "$1"
    accepts "$2" "$before_s" "$(uptime_s)"
    work "without-$1-${2// /-}"
}

# ---- the machine of the primary

await 300 'n2 is the primary' database_is n2
lead n1 n2
off n2 'primary off'
await 300 'n3 is the primary' database_is n3
machine_boot n2
await 300 'n2 stands by' role_is n2 standby
whole 'primary off' n2

# ---- a switchover, which a person asks for

keep
before_s=$(uptime_s)
patroni n3 switchover --master n3 --candidate n2 --force >"$machines/said" || fail "patronictl switchover: $(cat "$machines/said" "$machines/why")"
await 300 'n2 is the primary' database_is n2
accepts switchover "$before_s" "$(uptime_s)"
whole switchover n3

# ---- the machine of the leader, and then the one of both

lead n1 n2
off n1 'leader off'
await 300 'n2 leads' role_is n2 leader
machine_boot n1
await 300 'n1 stands by' role_is n1 standby
whole 'leader off' n3
off n2 'leader and primary off'
await 300 'n1 leads' role_is n1 leader
await 300 'n3 is the primary' database_is n3
machine_boot n2
await 300 'n2 stands by' role_is n2 standby
whole 'leader and primary off' n2

# ---- what has to hold in the end

kill "$writers_pid"
wait "$writers_pid" || fail "people were told what nobody may be told: $(cat "$machines/writers")"
# shellcheck disable=SC2086
writers lost "$machines/acks" "$machines/admin-token" $addresses >"$machines/said" || fail "acknowledged jobs are lost: $(cat "$machines/said")"
passed "$(cat "$machines/said") jobs were acknowledged, and all are there"
for name in $machines_all; do ticks="${ticks:-} $machines/$name/root/var/lib/edl/agent/output/many-$job"; done
# shellcheck disable=SC2086
writers twice $ticks >"$machines/said" || fail "slots ran twice: $(cat "$machines/said")"
for name in n1 n2; do
    on "$name" journalctl -u edl-scheduler -o cat --no-pager | lacks 'the wall clock of this machine was set' || fail "$name took another one's clock for its own"
done
passed 'no slot ran twice'
