#!/usr/bin/env bash
# The command lines that PaddlePaddle's own pages show, with edl-paddle in the place of paddle: servers and trainers started by hand,
# by flags and by PADDLE_INIT_*; the files and the lines of the log; then as one job of `edl run`, with these programs as trainer and server.
# Takes 46 s: over a dozen trainings, nearly all one after another, most of them with servers that begin with them
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/ports.sh"
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
export HOME=$work/home XDG_CONFIG_HOME=
mkdir -p "$HOME" "$work/here/recommendation"
cd "$work/here"
edl-trainer data recommendation --out recommendation/data --samples 3000 --users 60 --movies 40 --noise 0.2 >/dev/null
small=(--config=recommendation --config_args=width=16 --data=recommendation/data)

edl-paddle version | grep -q '^PaddlePaddle .*compiled with$' || fail "version says: $(edl-paddle version)"
[ "$(edl-paddle --version)" = "edl-paddle $(edl --version | sed 's/^edl //')" ] || fail "--version says: $(edl-paddle --version)"

# a network that classifies has its errors behind Eval: of the whole pass, and since the last line
edl-trainer data digits --out digits --samples 800 >/dev/null
edl-paddle train --config=digits_softmax --data=digits --num_passes=1 --log_period=2 --dot_period=0 >classes.log 2>&1 || fail "digits: $(cat classes.log)"
rate='classification_error_evaluator=0\.[0-9]+ '
grep -Eq " Batch=4 samples=[0-9]+ AvgCost=[0-9.]+ CurrentCost=[0-9.]+ Eval: $rate CurrentEval: $rate\$" classes.log || fail "no errors of a batch: $(cat classes.log)"
grep -Eq " Pass=0 Batch=[0-9]+ samples=[0-9]+ AvgCost=[0-9.]+ Eval: $rate\$" classes.log || fail "no errors of a pass: $(cat classes.log)"
grep -Eq " Test samples=[0-9]+ cost=[0-9.]+ Eval: $rate\$" classes.log || fail "no errors of the test: $(cat classes.log)"
[ "$(sed -n 's/.* Pass=0 .*evaluator=//p' classes.log)" = "$(sed -n 's/.* Batch=[0-9]*  *.*Eval: [a-z_]*=\([0-9.]* \) CurrentEval.*/\1/p' classes.log | tail -n 1)" ] ||
    fail "the pass is not the mean of all batches: $(cat classes.log)"

# a test each three batches of a pass, none behind it; the training is the same
edl-paddle train --config=digits_softmax --data=digits --num_passes=1 --log_period=2 --dot_period=0 --test_period=3 >tests.log 2>&1 || fail "tests: $(cat tests.log)"
[ "$(sed -n 's/.*\] *\(Test\|Pass\|Batch\).*/\1/p' tests.log | tr '\n' ' ')" = 'Test Batch Test Batch Batch Pass Test ' ] || fail "tests: $(cat tests.log)"
[ "$(sed -n 's/.* Pass=0 //p' tests.log)" = "$(sed -n 's/.* Pass=0 //p' classes.log)" ] || fail "another training: $(cat tests.log classes.log)"

# a trainer that comes before its servers waits and says so
export PADDLE_INIT_USE_GPU=False PADDLE_INIT_TRAINER_COUNT=1 PADDLE_INIT_PORT=$port PADDLE_INIT_PORTS_NUM=2 \
    PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1 PADDLE_INIT_NUM_GRADIENT_SERVERS=2 PADDLE_INIT_PSERVERS=127.0.0.1
PADDLE_INIT_TRAINER_ID=1 edl-paddle train "${small[@]}" --num_passes=2 --save_dir=./of-1 --log_period=2 >one.log 2>&1 &
trainer=$!
await 120 'it says that it waits' while_runs "$trainer" grep -q 'waiting for 3 parameter servers: .*Connection refused' one.log
edl-paddle pserver --num_gradient_servers=2 --comment=of-this-test >pserver.log 2>&1 &
servers=$!
edl-paddle train "${small[@]}" --trainer_id=0 --num_passes=2 --save_dir=./output --log_period=2 --dot_period=1 >zero.log 2>&1 || fail "trainer 0: $(cat zero.log)"
wait "$trainer" || fail "trainer 1: $(cat one.log)"

# what it says: the command line, what has no effect, lines of glog, the mean of all batches of the pass
grep -q '^commandline: edl-paddle train --config=recommendation' zero.log || fail "no command line: $(cat zero.log)"
grep -q 'without effect here: --trainer_count$' zero.log || fail "what has no effect is not named: $(cat zero.log)"
head='^I[0-9]{4} [0-9:]{8}\.[0-9]{6} +[0-9]+ .*\] '
grep -Eq "$head Batch=2 samples=[0-9]+ AvgCost=[0-9.]+ CurrentCost=[0-9.]+ Eval:  CurrentEval: \$" zero.log || fail "no line of a batch as glog has it: $(cat zero.log)"
grep -Eq "$head Pass=1 Batch=[0-9]+ samples=[0-9]+ AvgCost=[0-9.]+ Eval: \$" zero.log || fail "no line of a pass as glog has it: $(cat zero.log)"
grep -q '^\.$' zero.log || fail "no dots: $(cat zero.log)"
[ "$(grep -c ' Test samples=[0-9]* cost=[0-9.]* Eval: $' zero.log)" = 3 ] || fail "a test before, and one after each pass: $(cat zero.log)"
grep -q 'Saving parameters to ./output/pass-00001' zero.log || fail "it does not tell where it saves: $(cat zero.log)"
[ ! -e of-1 ] || fail 'trainer 1 saves as well'
[ "$(cat output/pass-00001/path.txt)" = recommendation.json ] && [ -e output/pass-00001/done ] || fail "pass-00001 is $(ls output/pass-00001)"
[ "$(find output/pass-00001 -name '_*' | wc -l)" = 31 ] || fail "pass-00001 is $(ls output/pass-00001)"
[ "$(stat -c %s output/pass-00001/___embedding_5__.w0)" = $((16 + 4 * 21 * 16)) ] || fail "___embedding_5__.w0 has $(stat -c %s output/pass-00001/___embedding_5__.w0) bytes"

# another training on servers that have been trained is told that it is none
edl-paddle train "${small[@]}" --trainer_id=0 --num_passes=1 >again.log 2>&1 || fail "again: $(cat again.log)"
grep -Eq 'goes on with [1-9][0-9]* updates? of the servers; restart them' again.log || fail "nothing says that it goes on: $(cat again.log)"

# three ports, three processes; they end together
[ "$(grep -c 'listens on 127.0.0.1 port' pserver.log)" = 3 ] || fail "servers: $(cat pserver.log)"
[ "$(grep -c 'parameters* created' pserver.log)" = 3 ] || fail "not all have a shard: $(cat pserver.log)"
# blocks of dense parameters are on the first two ports, rows of tables on the third one, and on no other
created() { sed -n 's/.* \([0-9]*\) parameters* created$/\1/p' pserver.log | sort -n | tr '\n' ' '; }
values() { # of the parameters whose names match
    local bytes=0 size
    for size in $(find output/pass-00001 -name '_*' -printf '%f %s\n' | grep -E "$1" | cut -d ' ' -f 2); do
        bytes=$((bytes + size - 16))
    done
    echo $((bytes / 4))
}
rows=$(values '^___embedding_[02]__')
all=$(values .)
created | tr ' ' '\n' | grep -qx "$rows" || fail "no server has the $rows values of the sparse tables: $(created)"
created | awk -v all="$all" '{ exit !($1 + $2 + $3 == all && $1 > 0) }' || fail "servers have $(created)of $all values"
if edl-paddle train "${small[@]}" --num_passes=1 --ports_num=1 --ports_num_for_sparse=2 >ports.log 2>&1; then fail 'other ports are taken'; fi
grep -q -- '--ports_num and --ports_num_for_sparse are 1 and 2 of this trainer, and 2 and 1 of the parameter servers' ports.log || fail "other ports: $(cat ports.log)"
if edl-paddle train "${small[@]}" --num_passes=1 --num_gradient_servers=3 >count.log 2>&1; then fail 'another number of trainers is taken'; fi
grep -q -- 'trainer-0 has --num_gradient_servers=3, and the parameter servers have 2' count.log || fail "another number of trainers: $(cat count.log)"
shards=$(pgrep -P $servers)
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"
for pid in $shards; do [ ! -e "/proc/$pid" ] || fail "a server is left: $pid"; done

# trainers that meet each two batches: both end, and what the servers have then has learnt; no blank line stands for dots that are none
edl-paddle pserver >pserver.log 2>&1 &
servers=$!
for i in 1 0; do
    edl-paddle train "${small[@]}" --trainer_id=$i --num_passes=4 --save_dir=./met --num_batches_per_send_parameter=2 \
        --log_period=1 --dot_period=1 --center_parameter_update_method=elastic_average >met-$i.log 2>&1 &
    trainers[i]=$!
done
for i in 0 1; do wait "${trainers[i]}" || fail "trainer $i: $(cat met-$i.log)"; done
if grep -q '^$' met-0.log; then fail "a blank line stands for dots: $(cat met-0.log)"; fi
for other in --num_batches_per_send_parameter=3 --delta_add_rate=0.5 --center_parameter_update_method=average; do
    if edl-paddle train "${small[@]}" --trainer_id=0 --num_passes=1 --num_batches_per_send_parameter=2 --center_parameter_update_method=elastic_average $other >other.log 2>&1; then
        fail "$other is taken"
    fi
    grep -Eq -- "trainer-0 has $other, and trainer-[01] has (2|1|elastic_average): start all trainers with the same" other.log || fail "$other: $(cat other.log)"
done
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"
[ -e met/pass-00003/done ] || fail "there is no fourth pass: $(cat met-0.log)"
costs() { sed -n 's/.*Test samples=.* cost=\([0-9.]*\) .*/\1/p' met-0.log; }
awk -v before="$(costs | head -n 1)" -v after="$(costs | tail -n 1)" 'BEGIN { exit !(before > 0 && after < 0.9 * before) }' || fail "it has not learnt: $(cat met-0.log)"
unset PADDLE_INIT_PSERVERS

# the saved pass: tested, and gone on with
edl-paddle train --job=test "${small[@]}" --init_model_path=output/pass-00001 >test.log 2>&1 || fail "test: $(cat test.log)"
[ "$(grep -o 'Test samples=.* cost=[0-9.]*' test.log)" = "$(grep -o 'Test samples=.* cost=[0-9.]*' zero.log | tail -n 1)" ] ||
    fail "the test says $(cat test.log), the trainer said $(cat zero.log)"
edl-paddle train "${small[@]}" --start_pass=2 --num_passes=3 --save_dir=output >third.log 2>&1 || fail "a third pass: $(cat third.log)"
[ -e output/pass-00002/done ] && [ ! -e output/pass-00003 ] || fail "there is $(ls output)"
rm output/pass-00002/_user_fusion.wbias
if edl-paddle train --job=test "${small[@]}" --init_model_path=output/pass-00002 >missing.log 2>&1; then fail 'a missing parameter is no error'; fi
grep -q '_user_fusion.wbias.*load_missing_parameter_strategy=' missing.log || fail "no remedy: $(cat missing.log)"
edl-paddle train --job=test "${small[@]}" --init_model_path=output/pass-00002 --load_missing_parameter_strategy=zero >/dev/null 2>&1 || fail 'it does not go on with zero'
mkdir output/empty

# a trainer that is told to stop has not done its work
edl-paddle train "${small[@]}" --num_passes=1000000 --log_period=1 --save_dir=stopped >stopped.log 2>&1 &
trainer=$!
await 120 'it trains' while_runs "$trainer" grep -q 'Batch=1 ' stopped.log
kill $trainer
status=0
wait $trainer || status=$?
[ $status = 143 ] || fail "stopped, it ends with $status: $(cat stopped.log)"

# of two servers each tells its agent of pushes to its shard, and again when the agent could not take it
cat >agent.py <<'PY'
import http.server, socketserver, sys
class Agent(http.server.BaseHTTPRequestHandler):
    seen = 0
    def address_string(self):
        return "a server"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Agent.seen += 1
        self.send_response(503 if Agent.seen == 1 else 204)
        self.end_headers()
        sys.stdout.buffer.write(body.replace(b"\n", b"") + b"\n")
        sys.stdout.flush()
with socketserver.UnixStreamServer(sys.argv[1], Agent) as server:
    print("listens", flush=True)
    server.serve_forever()
PY
pids=()
for i in 0 1; do
    /usr/bin/python3 agent.py agent-$i.sock >posts-$i 2>agent-$i.log &
    pids+=($!)
    await 120 'the agent listens' grep -q listens posts-$i
    edl-pserver --index=any --listen=127.0.0.1:$((port + i)) --trainers=1 --lag-ratio=1.5 --socket="$PWD/agent-$i.sock" \
        --secret-file="$HOME/.config/edl/paddle-secret" 2>server-$i.log &
    pids+=($!)
done
edl-trainer "${small[@]}" --num_passes=1 --servers=127.0.0.1:$port,127.0.0.1:$((port + 1)) --secret-file="$HOME/.config/edl/paddle-secret" >told.log 2>&1 ||
    fail "told: $(cat told.log)"
for i in 0 1; do
    twice() { [ "$(tr -d ' ' <posts-$i | grep -Ec "\\[\\[$i,0,[1-9][0-9]*,0\\]\\]")" = 2 ]; }
    await 120 "the server of shard $i tells it again" twice
done
kill "${pids[@]}"
for pid in "${pids[@]}"; do wait "$pid" || true; done

# what is wrong is named
wrong() { # WORDS COMMAND...
    local words=$1
    shift
    if "$@" >out 2>err; then fail "this is taken: $*"; fi
    grep -qF -- "$words" err || fail "$*: $(cat err)"
}
wrong 'did you mean --num_passes?' edl-paddle train "${small[@]}" --num_pases=2
wrong 'name a network: --config=recommendation' edl-paddle train
wrong 'is at most' edl-trainer "${small[@]}" --servers=127.0.0.1:1 --trainer_id=70000
wrong 'connection refused by pserver, maybe pserver failed!' edl-trainer "${small[@]}" --servers=127.0.0.1:1 --servers-wait=1s --secret-file="$HOME/.config/edl/paddle-secret"
wrong 'is not host:port' edl-trainer "${small[@]}" --servers=127.0.0.1 --secret-file="$HOME/.config/edl/paddle-secret"
wrong 'needs output/pass-00008/done' edl-paddle train "${small[@]}" --start_pass=9 --save_dir=output
for way in rand zero; do
    wrong 'No such file or directory' edl-paddle train "${small[@]}" --init_model_path=output/pass-O0001 --load_missing_parameter_strategy=$way
    wrong 'no parameter of this network is there' edl-paddle train "${small[@]}" --init_model_path=output/empty --load_missing_parameter_strategy=$way
done
wrong '--num_passes=3 trains one more' edl-paddle train "${small[@]}" --start_pass=2 --num_passes=2 --save_dir=output
wrong 'needs output/pass-00008/done' edl-trainer "${small[@]}" --servers=127.0.0.1:1 --num_passes=10 --start_pass=9 --save_dir=output
wrong 'model show takes 1 word, not 2' edl-trainer model show output/pass-00001 extra
printf '\377 0\n' >output/pass-00001/word_dict
[ "$(edl-trainer model nearest output/pass-00001 1 --parameter ___embedding_5__.w0 --count 20 --config_args width=16 --columns 16 --json |
    jq -c '[.nearest | length, (.[] | select(.row == 0).word)]')" = '[20,null]' ] || fail 'a row is missing whose word is no UTF-8'
wrong 'there is no edl-paddle merge_model' edl-paddle merge_model

# as paddle.py's run.sh has it: one job, whose programs are these two
node=$(api GET /nodes | jq -r '.nodes[0].name')
printf 'HOSTS = ["root@%s"]\nROOT_DIR = "%s/paddle"\nPADDLE_NIC = "lo"\nPADDLE_PORT = %s\nPADDLE_PORTS_NUM = 2\nPADDLE_PORTS_NUM_FOR_SPARSE = 1\n' "$node" "$work" "$port" >conf.py
mkdir "$work/paddle"
unset PADDLE_INIT_PORT PADDLE_INIT_PORTS_NUM PADDLE_INIT_PORTS_NUM_FOR_SPARSE PADDLE_INIT_NUM_GRADIENT_SERVERS
edl-paddle --job_dispatch_package=./recommendation --dot_period=10 --ports_num_for_sparse=1 --log_period=2 --num_passes=2 --trainer_count=4 \
    --saving_period=1 --local=0 --config=recommendation --config_args=width=16 --data=./data --save_dir=./output --use_gpu=0 >out 2>err || fail "edl run: $(cat out err)"
folder=$(sed -n 's/.*, in \(.*\/JOB[0-9]\{14\}\)$/\1/p' err)
[ -e "$folder/output/pass-00001/done" ] || fail "there is no second pass: $(find "$folder") $(cat out)"
grep -q 'Pass=1 Batch=' "$folder/log/train.log" || fail "train.log is $(cat "$folder/log/train.log")"

# in an elastic job: tasks, servers, passes and output folder come from the environment
mv recommendation/data "$work/corpus"
training_job elastic 1 2 2 '--config=recommendation --config_args=width=16' | sed 's/exec edl-trainer/exec edl-paddle train/;s/^  pserver:/&\n    entrypoint: exec edl-paddle pserver/' >elastic.yaml
edl submit elastic.yaml >/dev/null
edl wait elastic --timeout 300 || fail "elastic: $(job_field elastic .reason) $(edl logs elastic)"
exact_counts elastic
mv "$work/corpus" recommendation/data

# how many pushes of each trainer each of the servers of one process took and dropped, for people, for programs and in sum
edl-paddle --job_name=counted --job_dispatch_package=./recommendation --log_period=0 --dot_period=100000 --num_passes=1000000 --local=0 --config=recommendation \
    --config_args=width=16 --data=./data >out 2>err &
run=$!
counted() { edl show counted 2>/dev/null | grep -Eq '^  trainer-0  [0-9]+ committed, 0 discarded \(server 0: [1-9][0-9]*, 0; server 1: [1-9][0-9]*, 0; server 2: [1-9][0-9]*, 0\)$'; }
await 120 'edl show tells of pushes' while_runs "$run" counted
edl show counted >shown
if grep -q '^progress' shown; then fail "pushes are progress as well: $(cat shown)"; fi
edl show counted --json | holds '[.processes[].progress.pushes // empty | .[] | select(.[1] == 0 and .[2] > 0 and .[3] == 0) | .[0]] | unique == [0, 1, 2]' ||
    fail "as JSON it has $(edl show counted --json | jq -c '[.processes[].progress]')"
api GET /metrics | grep -Eq '^edl_pushes_total\{result="committed"\} [1-9][0-9]*$' || fail "metrics: $(api GET /metrics | grep edl_pushes)"
edl kill counted >/dev/null
if wait $run; then fail 'a killed job is a success'; fi
cluster_stop
