#!/usr/bin/env bash
# The packages on a real machine: three commands from nothing to the result of a job, no file edited; a restart and an upgrade
# disturb nobody; a purge leaves nothing.
# Takes 13 s: a machine boots, and packages are installed, upgraded and purged
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
# as what built it: the machine's root is looked for only where there is something to install
[ -n "${EDL_TEST_MACHINES:-}" ] || packages_build
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
here=n1
in_machine() { machine_in $here env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; } # what is installed, not what was built
on_fail() {
    in_machine sh -c 'systemctl --failed --no-legend --no-pager; journalctl --no-pager -o cat -n 60; edl ps --all'
}
# whatever has our name; the repository is not the packages'
ours() { in_machine sh -c 'find / -xdev -name "*edl*" ! -path "/opt/edl*" ! -path "/edl-init" ! -path "/var/lib/apt/*" ! -path "/proc/*" ! -path "/sys/*"; find /run -name "*edl*"; getent passwd edl; systemctl list-units --all --no-legend --plain "edl*"'; }

machine_boot n1
source=$(sed "s|[^=]*edl\\.gpg|/opt/edl/bin/packages/edl.gpg|; s|file:[^ ]*|file:/opt/edl/bin/packages|" "$packages.source")
case $source in *signed-by=*) source=${source/\[*\]/[signed-by=/opt/edl/bin/packages/edl.gpg]} ;; esac
# shellcheck disable=SC2016
use_packages() { in_machine sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; echo "$1" >/etc/apt/sources.list.d/local.list' sh "$source"; }
use_packages
ours >"$machines/before"
apt() { in_machine env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >"$machines/apt" 2>&1 || fail "apt-get $*: $(cat "$machines/apt")"; }

began=$EPOCHREALTIME
apt update
# the agent waits for a cluster to belong to, and here it is the scheduler's package that brings it one
apt install -y --no-install-recommends edl-agent
in_machine systemctl is-active -q edl-agent && fail 'an agent without a cluster is started'
apt install -y --no-install-recommends edl-scheduler
in_machine systemctl start edl-scheduler || fail 'it does not start'
in_machine systemctl is-active -q edl-agent || fail 'the agent waits although there is a cluster'
said=$(in_machine timeout 300 edl submit --follow -- hostname) || fail "the job fails: $said"
echo "$said" | grep -q n1 || fail "the job says: $said"
echo "from nothing to the result of a job: $(awk "BEGIN { print $EPOCHREALTIME - $began }") s"
[ "$(in_machine systemctl show edl-scheduler -p User --value)" = edl ] || fail 'the scheduler does not run as edl'
for unit in edl-scheduler.service edl-agent.service; do
    in_machine systemctl is-enabled -q $unit || fail "$unit is not enabled"
    [ "$(in_machine systemctl show $unit -p NRestarts --value)" = 0 ] || fail "$unit had to be started again"
done

# what belongs to another account is written, read and removed by the agent in its sandbox
in_machine sh -c 'mkdir /tmp/folder && echo content >/tmp/folder/file'
# shellcheck disable=SC2016
said=$(in_machine timeout 300 edl submit --name folder --follow --upload /tmp/folder -- sh -c 'echo "$USER is $(id -u)"; cat file; mkdir -m 700 own; touch own/file; echo result >"$EDL_OUTPUT_DIR/file"') ||
    fail "the job with a folder fails: $said"
[ "$(echo "$said" | grep -cE 'admin is 20[0-9]{8}$|content')" = 2 ] || fail "the job with a folder says: $said"
[ "$(in_machine sh -c 'cat /var/lib/edl/agent/output/*/file')" = result ] || fail 'there is no result'
# the agent reads them with that account's rights, and removes its copy once the time to keep it is over
in_machine edl fetch folder -o /tmp/back || fail 'nothing comes back'
in_machine test -e /tmp/back/own/file || fail "what came back: $(in_machine find /tmp/back)"
in_machine sh -c 'echo "keep-outputs: 1s" >/etc/edl/agent.conf.d/keep.conf && systemctl reload edl-agent'
no_copies() { silent in_machine find /var/lib/edl/agent/workspaces/copies -mindepth 1; }
await 120 'its copy is removed' no_copies
# (of a busy machine the scheduler says that it stood still)
complaints() { in_machine journalctl -u edl-agent -u edl-scheduler -p warning -q -o cat --no-pager >"$machines/complaints" && sed '/^stood still for /d' "$machines/complaints"; }
silent complaints || fail "a daemon complains: $(complaints)"

# the journal knows which job it speaks of, and what it means
[ -n "$(in_machine journalctl -q --no-pager -o json EDL_JOB=1)" ] || fail 'the journal has nothing of job 1'
in_machine journalctl -q --no-pager -x EDL_JOB=1 | grep -q 'Process trainer-0 of job 1 has ended on node n1' || fail 'the journal does not explain'

# a process that goes on through all that follows
in_machine edl submit --name steady -- sleep 1000 >/dev/null
job_state() { in_machine edl show "$1" --json | jq -r .job.state; }
await 120 'it runs' job_is steady running
steady() { in_machine pgrep -x -d ' ' sleep; }
before=$(steady)

# what else the machine does goes first, unless its owner says otherwise
weighs() { # CPUWEIGHT,KERNEL: cpu.idle of version 2, cpu.shares of version 1
    # shellcheck disable=SC2016
    [ "$(in_machine sh -c 'systemctl show edl.slice -p CPUWeight --value; cat /sys/fs/cgroup/edl.slice/cpu.idle 2>/dev/null || cat /sys/fs/cgroup/cpu/edl.slice/cpu.shares' | paste -sd,)" = "$1" ]
}
weighs idle,1 || weighs idle,2 || fail 'edl.slice does not go behind what else there is'
in_machine sh -c 'mkdir -p /etc/systemd/system/edl.slice.d && printf "[Slice]\nCPUWeight=100\n" >/etc/systemd/system/edl.slice.d/override.conf && systemctl daemon-reload'
weighs 100,0 || weighs 100,1024 || fail 'what its owner says of edl.slice is not taken'
in_machine systemctl revert edl.slice
weighs idle,1 || weighs idle,2 || fail 'edl.slice does not go back'

in_machine sh -c 'mkdir -p /etc/edl/scheduler.conf.d && printf "max-jobs: 7\n" >/etc/edl/scheduler.conf.d/own.conf'
in_machine systemctl reload edl-scheduler || fail 'no reload'
read_again() { in_machine journalctl -u edl-scheduler -o cat --no-pager | grep -q 'reload: max-jobs is now 7'; }
await 120 'it is read again' read_again # a reload is over before the scheduler has read anything

# who calls while it restarts is answered
in_machine systemctl restart --no-block edl-scheduler
for _ in 1 2 3 4 5 6 7 8; do in_machine edl ps >/dev/null || fail 'somebody is turned away by a restart'; done

# an upgrade: likewise, and what runs goes on
(while [ ! -e "$machines/called" ]; do in_machine edl ps || exit 1; done) >"$machines/calls" 2>&1 &
calls=$!
apt install -y --reinstall edl-scheduler edl-agent edl-client
: >"$machines/called"
wait $calls || fail "somebody is turned away by an upgrade: $(tail -n 3 "$machines/calls")"
await 120 'the agent is back' in_machine systemctl is-active -q edl-agent
is_adopted() { in_machine edl nodes --json | holds '[.nodes[] | select(.state == "ready")] | length == 1'; }
await 120 'the node is there' is_adopted
[ "$(steady)" = "$before" ] && job_is steady running || fail "its process was $before and is $(steady)"

# another machine: nothing is started before it belongs to a cluster; one line, and it does
line=$(in_machine edl node add) || fail 'there is no line to join with'
machine_boot n2
here=n2
use_packages
apt update
apt install -y --no-install-recommends edl-agent
[ "$(in_machine systemctl show edl-agent -p ActiveState -p Result -p ConditionResult --value | sort | tr '\n' ' ')" = 'inactive no success ' ] ||
    fail 'an agent without a cluster is started'
in_machine sh -c "$line" >"$machines/joining" 2>&1 || fail "the line fails: $(cat "$machines/joining")"
for command in is-enabled is-active; do in_machine systemctl $command -q edl-agent || fail "the agent's service: not $command"; done
here=n1
both() { in_machine edl nodes --json | holds '[.nodes[] | select(.state == "ready") | .name + " " + .address] == ["n1 10.77.0.11", "n2 10.77.0.12"]'; }
await 120 'both are nodes' both
in_machine edl node cordon n1 >/dev/null # so that only the other one can take it
said=$(in_machine timeout 300 edl submit --follow -- hostname) || fail "the job on n2 fails: $said"
echo "$said" | grep -q 'n2$' || fail "the job on n2 says: $said"

apt purge -y edl-scheduler edl-agent edl-client
silent in_machine sh -c 'pgrep -x sleep || true' || fail 'a process is left'
ours >"$machines/after"
diff "$machines/before" "$machines/after" || fail 'the purge leaves something'

# a disk of its own below the state directory stays as it is, and the purge succeeds
here=n2
in_machine sh -c 'systemctl stop edl-agent; mkdir -p /var/lib/edl/agent/output; mount -t tmpfs tmp /var/lib/edl/agent/output && echo kept >/var/lib/edl/agent/output/file'
apt purge -y edl-agent edl-client
[ "$(in_machine cat /var/lib/edl/agent/output/file)" = kept ] || fail 'the purge removes what is mounted'
silent in_machine find /var/lib/edl -mindepth 1 ! -path '/var/lib/edl/agent' ! -path '/var/lib/edl/agent/output*' || fail 'the purge leaves more'
