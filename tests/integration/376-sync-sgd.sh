#!/usr/bin/env bash
# Synchronous SGD: trainers of a job come, go and are killed, and each update is that of all that have data; trainers that a person
# has started wait for each other, also where one has fewer data, and never for an asynchronous one.
# Takes 25 s: a job trains three passes, while trainers are killed, stand still, come and go
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
# a mark is twelve chunks and more before the next wait: four trainers read three ahead each
small_corpus 60 8000
hold_at train 5000
training_job train 2 4 3 "--sync --task-records 250" >"$work/job.yaml"
edl submit "$work/job.yaml" >/dev/null
await 120 'trainers run' while_job train at_least train trainer 2
await 120 'it trains' while_job train records_at_least train 1000
# one that is killed stalls nobody, nor does one that comes
kill -9 "$(pids train trainer | head -n 1)"
hold_at train 13000
await 120 'the others train on' while_job train records_at_least train 4000
edl scale train 2:4 >/dev/null
await 120 'more trainers' while_job train at_least train trainer 4
await 120 'four train' while_job train records_at_least train 7000
# nor one that stands still: it has promised to be alive
hold_at train 17000
kill -STOP "$(pids train trainer | head -n 1)"
await 120 'three train on' while_job train records_at_least train 10000
edl scale train 1:1 >/dev/null
hold_at train 21000
await 120 'one trains on' while_job train records_at_least train 14000
let_go train
edl wait train --timeout 300 >/dev/null || fail "train: $(job_field train .reason)"
exact_counts train
edl logs train 2>/dev/null | grep -q 'synchronous: each update is the sum of all trainers that have data' || fail "nothing says that it is synchronous"
# its cost is that of a training
before=$(job_field train .metrics.cost_before) after=$(job_field train .metrics.cost_after)
awk "BEGIN { exit !($after < $before - 0.05) }" || fail "the cost was $before, and is $after"
cluster_stop

# by hand, as PaddlePaddle's own default: two trainers of which one has a tenth of the data
cd "$work"
export HOME=$work/home XDG_CONFIG_HOME=''
mkdir -p "$HOME"
edl-trainer data recommendation --out many --samples 3000 --users 60 --movies 40 --noise 0.2 >/dev/null
edl-trainer data recommendation --out few --samples 300 --users 60 --movies 40 --noise 0.2 >/dev/null
given=(--config=recommendation --config_args=width=16 --num_gradient_servers=2 --num_passes=2 --log-period=0 --dot_period=0)
on_fail() { kill -9 $(jobs -p) 2>/dev/null || true; }
servers() { # two of them in the background, at $ports
    pids_of_servers='' ports=''
    for i in 0 1; do
        edl-pserver --listen 127.0.0.1:0 --index "$i" --job-id 0 --secret-file "$work/secret" >"server-$i.log" 2>&1 &
        pids_of_servers="$pids_of_servers $!"
        await 120 'a server listens' while_runs "$!" grep -q 'listen' "server-$i.log"
        ports="$ports${ports:+,}127.0.0.1:$(sed -n "s,.* listens on .* port ,,p" "server-$i.log" | head -n 1)"
    done
}
head -c 32 /dev/urandom | od -An -v -tx1 | tr -d " \n" >"$work/secret"
chmod 600 "$work/secret"
servers
given+=("--servers=$ports" --secret-file="$work/secret")
edl-trainer "${given[@]}" --data=few --trainer_id=1 >few.log 2>&1 &
few=$!
edl-trainer "${given[@]}" --data=many --trainer_id=0 --save_dir=saved >many.log 2>&1 || fail "many: $(cat many.log)"
wait "$few" || fail "few: $(cat few.log)"
grep -q synchronous many.log && grep -q synchronous few.log || fail "it is not said: $(cat many.log)"
[ -e saved/pass-00001/done ] || fail 'nothing was saved'
# an asynchronous one is none of them
if edl-trainer "${given[@]}" --data=few --trainer_id=1 --async --servers-wait=5s >other.log 2>&1; then fail 'it is let in'; fi
grep -q 'trainer-1 has --sync=no, and trainer-[01] has yes: start all trainers with the same' other.log || fail "other: $(cat other.log)"
kill $pids_of_servers
for pid in $pids_of_servers; do wait "$pid" || fail "a server failed: $(cat server-*.log)"; done
if edl-trainer "${given[@]}" --data=few --sync --num_batches_per_send_parameter=4 >other.log 2>&1; then fail 'both at once'; fi
grep -q 'synchronous training and --num_batches_per_send_parameter exclude each other' other.log || fail "both: $(cat other.log)"
