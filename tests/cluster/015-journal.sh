#!/usr/bin/env bash
# What the daemons say, as units of systemd, are entries of the journal that know what they are about: a job, a process, a node;
# and the journal explains them. A reload of the agent takes over what it may and disturbs nobody. A machine joins by a credential.
# Takes 31 s: two machines boot, and their daemons begin, reload and begin again
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"

machine_boot n1
units_start n1
machine_in n1 timeout 300 edl submit --follow --name first -- true >/dev/null || fail 'the first job fails'
machine_in n1 timeout 300 edl submit --name second -- sh -c 'exit 7' >/dev/null || fail 'the second job is refused'
entries() { machine_in n1 journalctl -q --no-pager -o json "$@"; }
all_told() { # JOB: both programs have told of its end
    entries EDL_JOB="$1" | holds -s --arg job "$1" '
        def of(program; $text): [.[] | select(.SYSLOG_IDENTIFIER == program and (.MESSAGE | startswith($text)))];
        (of("edl-agent"; "process \($job).trainer.0.1 exited") + of("edl-scheduler"; "process-exited:")) as $ends |
        ($ends | length == 2) and
        all($ends[]; .EDL_ROLE == "trainer" and .EDL_INDEX == "0" and .EDL_INCARNATION == "1" and .EDL_NODE == "n1" and
            .PRIORITY == "6" and (.MESSAGE_ID | length == 32))'
}
await 120 'both tell of the end of the first' all_told 1
await 120 'both tell of the end of the second' all_told 2
entries EDL_JOB=1 | holds -s 'all(.EDL_JOB == "1")' || fail 'another job is among them'
failed() { entries EDL_JOB=2 | holds -s 'any(.MESSAGE | startswith("job-failed:"))'; }
await 120 'its failure is told' failed
entries EDL_NODE=n1 _SYSTEMD_UNIT=edl-agent.service | holds -s 'any(.MESSAGE | startswith("joined as n1"))' ||
    fail 'the agent does not say which node it is'

# what is beside the agent has fields as well: a supervisor that finds its process folder not as it should be, and the prober
machine_in n1 systemd-run -q --wait /opt/edl/bin/edl-supervisor /run/nowhere/9.trainer.3.4 && fail 'there is a supervisor for nothing'
supervisor_told() {
    entries EDL_JOB=9 | holds -s 'length == 1 and all(.[]; .SYSLOG_IDENTIFIER == "edl-supervisor" and .EDL_ROLE == "trainer" and .EDL_INDEX == "3" and
        .EDL_INCARNATION == "4" and .PRIORITY == "3" and (.MESSAGE | startswith("/run/nowhere/9.trainer.3.4: ")))'
}
await 120 'the supervisor of 9.trainer.3.4 tells what it found' supervisor_told
machine_in n1 systemd-run -q --wait -E EDL_NVML_LIBRARY=libc.so.6 -p StandardInput=null /opt/edl/bin/edl-prober /run /run n7
prober_told() { entries EDL_NODE=n7 | holds -s 'any(.SYSLOG_IDENTIFIER == "edl-prober" and (.MESSAGE | startswith("GPUs are not seen: ")))'; }
await 120 'the prober tells that it sees no GPUs' prober_told

# -x: what an entry means, with the names put in
explained=$(machine_in n1 journalctl -q --no-pager -x EDL_JOB=2)
for text in 'Process trainer-0 of job 2 has ended on node n1' 'Job 2 has failed' 'edl logs 2' 'man:edl-agent(8)'; do
    echo "$explained" | grep -qF "$text" || fail "journalctl -x does not say '$text': $explained"
done

# the agent's conf, again
own() { machine_in n1 sh -c 'cat >/etc/edl/agent.conf.d/own.conf'; }
state_of() { machine_in n1 systemctl show edl-agent -p "$1" --value; }
said() { # MESSAGE_ID-OF TEXT
    local id
    id=$(sed -n "/^# $1\$/{n;s/^-- //p}" "$EDL_SOURCE_DIR/units/edl-agent.catalog")
    entries MESSAGE_ID="$id" | holds -s --arg text "$2" 'any(.MESSAGE | contains($text))'
}
machine_in n1 edl submit --name steady --cpu 100m -- sleep 1000 >/dev/null || fail 'the third job is refused'
job_state() { machine_in n1 edl show "$1" --json | jq -r .job.state; }
await 120 'it runs' job_is steady running
main=$(state_of MainPID) child=$(machine_in n1 pgrep -x sleep)
printf 'cpu: 700m\nheartbeat: 3s\n' | own
machine_in n1 systemctl reload edl-agent || fail 'no reload'
offers() { machine_in n1 edl nodes n1 --json | holds ".cpu_millicores == $1"; }
await 120 'the scheduler knows the offer' offers 700
await 120 'what needs a restart is told' said agent-reload-needs-restart 'reload: heartbeat is to be 3s'
printf 'cpu: 800m\nlog-max: little\n' | own
machine_in n1 systemctl reload edl-agent || fail 'no reload'
await 120 'what is wrong is told' said agent-reload-refused 'own.conf:2: log-max: '
offers 700 || fail 'a part of a file that is wrong is taken'
[ "$(state_of ActiveState) $(state_of MainPID) $(machine_in n1 pgrep -x sleep)" = "active $main $child" ] || fail 'a reload disturbs'

# another machine, made with all that it needs: where the cluster is in a file, and the token among its credentials
machine_in n1 sh -c 'mkdir -p /etc/edl/scheduler.conf.d && echo "name: [10.77.0.11]" >/etc/edl/scheduler.conf.d/own.conf'
# the authority's key is one of the machine's credentials from now on
pin() { machine_in n1 journalctl -u edl-scheduler -q -o cat --no-pager | sed -n 's/.*authority \(sha256:[^,]*\),.*/\1/p' | tail -n 1; }
before=$(pin)
machine_in n1 sh -c 'mkdir -m 700 /etc/credstore && mv /var/lib/edl/scheduler/ca.key /etc/credstore/edl.ca-key'
machine_in n1 systemctl restart edl-scheduler || fail 'the scheduler does not start again'
[ "$(pin)" = "$before" ] && [ -n "$before" ] || fail "the authority was $before and is $(pin)"
machine_in n1 test ! -e /var/lib/edl/scheduler/ca.key || fail 'the key is in the state folder again'
line=$(machine_in n1 edl node add n2 | grep -o 'edl-agent --join .*') || fail 'there is no line to join with'
word_after() { echo "$line" | sed "s/.*$1 \([^ ]*\).*/\1/"; }
machine_boot n2
units_install n2 || fail 'the units cannot be installed'
machine_in n2 rm /etc/edl/agent.conf.d/10-this-machine.conf
agent_of() { machine_in n2 systemctl show edl-agent -p "$1" --value; }
machine_in n2 systemctl start edl-agent
[ "$(agent_of ConditionResult)" = no ] || fail 'an agent without a token is started'
word_after --token | machine_in n2 sh -c 'install -D -m 600 /dev/stdin /etc/credstore/edl.join-token'
# a token alone: it says what is missing, and is not started again and again
machine_in n2 systemctl start edl-agent && fail 'it starts without a cluster'
[ "$(agent_of ActiveState) $(agent_of ExecMainStatus) $(agent_of NRestarts)" = 'failed 2 0' ] ||
    fail "without a cluster it is $(agent_of ActiveState), status $(agent_of ExecMainStatus), restarts $(agent_of NRestarts)"
why_told() { machine_in n2 journalctl -t edl-agent -q -o cat --no-pager | grep -q 'edl.join-token.*nothing says which cluster; write join: and ca-pin:'; }
await 120 'it says why' why_told
printf 'join: %s\nca-pin: %s\n' "$(word_after --join)" "$(word_after --ca-pin)" | machine_in n2 sh -c 'cat >/etc/edl/agent.conf.d/join.conf'
machine_in n2 systemctl start edl-agent || fail 'it does not start with a token'
ready() { machine_in n1 edl nodes n2 --json | holds '.state == "ready"'; }
await 120 'n2 is a node' ready
machine_in n2 systemctl restart edl-agent || fail 'it does not start again'
back() { [ "$(machine_in n2 journalctl -u edl-agent -q -o cat --no-pager | grep -c 'node n2, 0 processes adopted')" = 2 ] && ready; }
await 120 'n2 is there after a restart' back
# it was taken by its own credential: the token, which is used up, was not tried again
[ "$(machine_in n2 journalctl -u edl-agent -q -o cat --no-pager | grep -c '^joined as n2')" = 1 ] || fail 'n2 joins again'
said=$(machine_in n2 journalctl "_SYSTEMD_INVOCATION_ID=$(agent_of InvocationID)" -p warning -q -o cat --no-pager) || fail "the journal fails: $said"
case ${said,,} in *token*) fail "the used token is complained about: $said" ;; esac
