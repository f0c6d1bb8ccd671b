#!/usr/bin/env bash
# What the daemons say, as units of systemd, are entries of the journal that know what they are about: a job, a process, a node;
# and the journal explains them.
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"

machine_boot n1
units_start n1
machine_in n1 timeout 60 edl submit --follow --name first -- true >/dev/null || fail 'the first job fails'
machine_in n1 timeout 60 edl submit --name second -- sh -c 'exit 7' >/dev/null || fail 'the second job is refused'
entries() { machine_in n1 journalctl -q --no-pager -o json "$@"; }
all_told() { # JOB: both programs have told of its end
    entries EDL_JOB="$1" | jq -se --arg job "$1" '
        def of(program; $text): [.[] | select(.SYSLOG_IDENTIFIER == program and (.MESSAGE | startswith($text)))];
        (of("edl-agent"; "process \($job).trainer.0.1 exited") + of("edl-scheduler"; "process-exited:")) as $ends |
        ($ends | length == 2) and
        all($ends[]; .EDL_ROLE == "trainer" and .EDL_INDEX == "0" and .EDL_INCARNATION == "1" and .EDL_NODE == "n1" and
            .PRIORITY == "6" and (.MESSAGE_ID | length == 32))' >/dev/null
}
await 20 'both tell of the end of the first' all_told 1
await 20 'both tell of the end of the second' all_told 2
entries EDL_JOB=1 | jq -se 'all(.EDL_JOB == "1")' >/dev/null || fail 'another job is among them'
failed() { entries EDL_JOB=2 | jq -se 'any(.MESSAGE | startswith("job-failed:"))' >/dev/null; }
await 20 'its failure is told' failed
entries EDL_NODE=n1 _SYSTEMD_UNIT=edl-agent.service | jq -se 'any(.MESSAGE | startswith("joined as n1"))' >/dev/null ||
    fail 'the agent does not say which node it is'

# -x: what an entry means, with the names put in
explained=$(machine_in n1 journalctl -q --no-pager -x EDL_JOB=2)
for text in 'Process trainer-0 of job 2 has ended on node n1' 'Job 2 has failed' 'edl logs 2' 'man:edl-agent(8)'; do
    echo "$explained" | grep -qF "$text" || fail "journalctl -x does not say '$text': $explained"
done
