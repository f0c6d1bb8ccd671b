#!/usr/bin/env bash
# A backup under load, and the restore of it while agents run what came after it: what was there before goes on, what came
# after is stopped, and no incarnation, job or event number is given twice.
# Takes 66 s: a job trains 32 passes, over a backup, a restore and two kills of its trainer
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
state=$work/state/scheduler

scheduler_pid() { pgrep -f -- "edl-scheduler .*$work" | head -n 1; }
pid_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }
unknown() { job_field "$1" .id | grep -qx null; }
newest_revision() { api GET "/events?after=0" | jq .newest; }

small_corpus 60 20000
hold_at train 150000
training_job train 1 3 32 >"$work/job.yaml"
edl submit "$work/job.yaml"
edl submit --name stays -- sleep 1000
await 120 'it trains' records_at_least train 1000
await 120 'it has grown' at_least train trainer 3
await 120 'it runs' job_is stays running
stays=$(pids stays trainer)

edl user add ann --role user >/dev/null
token=$(edl token create --user ann --note laptop --json | jq -r .id)
# under load: jobs are submitted before, while and after it is made
while [ ! -e "$work/enough" ]; do
    edl submit --name "load-$((n = ${n:-0} + 1))" -- true >/dev/null && echo "$n" >"$work/submitted"
done &
load_pid=$!
three_submitted() { [ -s "$work/submitted" ] && [ "$(cat "$work/submitted")" -ge 3 ]; }
await 120 'jobs come' three_submitted
mkdir "$work/cut"
if (ulimit -c 0 -f 16 && edl admin backup "$work/cut/backup") 2>/dev/null; then fail 'a backup without room'; fi # SIGXFSZ ends it
silent ls -A "$work/cut" || fail "a backup that was cut off left $(ls -A "$work/cut")"
edl admin backup "$work/cut/backup" >/dev/null || fail 'no backup behind one that was cut off'
edl admin backup "$work/backup" || fail 'no backup'
if edl admin backup "$work/backup" 2>"$work/err"; then fail 'a backup was overwritten'; fi
made=0 same=()
for _ in 1 2 3; do
    edl admin backup "$work/cut/same" >/dev/null 2>"$work/err" &
    same+=($!)
done
for pid in "${same[@]}"; do if wait "$pid"; then made=$((made + 1)); fi; done
[ "$made" = 1 ] || fail "$made of three backups had one name"
[ "$(stat -c %a "$work/backup")" = 600 ] || fail 'others can read the backup'
touch "$work/enough"
wait "$load_pid"

# what comes after it: a token is removed, another job, a new incarnation in an old slot, work
edl token remove "$token" >/dev/null
edl submit --name after -- sleep 1000
await 120 'it runs' job_is after running
after=$(pids after trainer)
incarnation=$(job_field train/processes '[.processes[].incarnation] | max')
kill -9 "$(pids train trainer 0)"
newer() { [ "$(job_field train/processes '[.processes[].incarnation] | max')" -gt "$incarnation" ]; }
await 120 'the trainer was started again' while_job train newer
incarnation=$(job_field train/processes '[.processes[].incarnation] | max')
revision=$(newest_revision)
after_id=$(job_field after .id)

# restored: edl dev stands still meanwhile, it would start the scheduler again
if edl admin restore "$work/backup" --state-dir "$state" 2>"$work/err"; then fail 'restored under a scheduler that runs'; fi
grep -q 'another edl-scheduler' "$work/err" || fail "the error does not say why: $(cat "$work/err")"
pid=$(scheduler_pid)
kill -STOP "$dev_pid"
kill -TERM "$pid"
await 120 'the scheduler ends' pid_gone "$pid"
edl admin restore "$work/backup" --state-dir "$state" >"$work/out" || fail 'not restored'
cat "$work/out"
grep -qx 'revoked since the backup, and still so: 1' "$work/out" || fail 'a removed token is not told'
first=$(sed -n 's/^new jobs are numbered from \([0-9]*\) on$/\1/p' "$work/out")
[[ $first =~ ^[0-9]{4,6}$ ]] || fail "people cannot type the numbers of new jobs: $first"
kill -CONT "$dev_pid"

await 120 'the scheduler is back' job_is stays running
unknown after || fail 'a job of after the backup is known'
[ "$(edl token list --json | jq '.tokens | length')" = 0 ] || fail 'a removed token is back'
differs "$(job_field load-1 .id)" null || fail 'a job of before the backup is not known'
await 300 'what came after it is stopped' pid_gone "$after"
[ "$(pids stays trainer)" = "$stays" ] || fail 'what was there before was disturbed'
hold_at train 350000
await 120 'the job is whole again' at_least train trainer 3
records=$(job_field train .records_total)
await 120 'training goes on' records_at_least train $((records + 1000))
edl submit --name next -- sleep 1000
[ "$(job_field next .id)" = "$first" ] || fail 'the number of a job may be given twice'
[ "$(job_field next .id)" -gt "$after_id" ] || fail 'the number of a job was given twice'
[ "$(newest_revision)" -gt "$revision" ] || fail 'the number of an event was given twice'
await 120 'an incarnation that was not given before' while_job train newer # as its own node tells
incarnation=$(job_field train/processes '[.processes[].incarnation] | max')
kill -9 "$(pids train trainer 0)"
await 120 'the trainer was started again' while_job train newer

# by what the scheduler ordered, from the first to the last
twice=$(sed -n 's/.*process-assigned: job \([^:]*\): \(.*\)/\1 \2/p' "$work/state/scheduler.log" | sort | uniq -d)
[ -z "$twice" ] || fail "given twice: $twice"
# and by what the agents ran
twice=$(sed -n 's/.*process \([^ ]*\) is running.*/\1/p' "$work"/state/node-*.log | sort | uniq -d)
[ -z "$twice" ] || fail "run twice: $twice"
[ "$(cat "$work"/state/node-*.log | grep -c "process .* is running")" -gt 8 ] || fail "the agents do not tell what they ran"
let_go train
edl wait train --timeout 900 || fail "train: $(job_field train .reason)"
exact_counts train
edl kill stays next
await 120 'it is stopped' job_is stays killed
cluster_stop
