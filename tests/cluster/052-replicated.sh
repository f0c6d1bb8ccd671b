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
. "$EDL_SOURCE_DIR/tests/lib/replicated.sh"
set -u
processes=100

replicated_boot
replicated_type '## 1.' '## 2.' '## 3.' '## 4.'
replicated_run $processes
undisturbed 'running'
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
kept=$(grep -v '^[0-9]* n1 ' <<<"$before")
on n1 true
machine_cut n1
cut_at=$EPOCHREALTIME
await 300 'n2 leads' role_is n2 leader
work afterwards
echo "a job is taken $(since "$cut_at") s after the leader's machine was switched off"
kept_run || fail "processes on n2 and n3 are others: $(diff <(echo "$kept") <(live many))"
all_there
passed "the leader's machine was switched off: processes of the others undisturbed"
machine_boot n1
await 300 'n1 stands by' role_is n1 standby
await 300 'all nodes are there' ready 3
await 300 'all processes run' has_live many "$processes"
passed 'it is back'

# ---- the machine of the database and of the leader dies, and the copy is promoted

before=$(live many)
kept=$(grep -v '^[0-9]* n2 ' <<<"$before")
machine_cut n2
cut_at=$EPOCHREALTIME
on n3 sh -c 'rm -f /etc/postgresql/15/main/conf.d/edl-copy.conf; pg_ctlcluster 15 main promote' || fail 'the copy is not promoted'
await 300 'n1 leads' role_is n1 leader
work promoted
echo "a job is taken $(since "$cut_at") s after the machine of the database was switched off"
await 300 'processes of n1 and n3 are known' kept_run
all_there
passed "the database's machine was switched off: nothing is lost, processes of the others undisturbed"
