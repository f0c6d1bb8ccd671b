#!/usr/bin/env bash
# examples/kubernetes-start on two nodes with addresses of their own: ids by sorted address, data and logs by id, servers before
# trainers, the same sorted list on both; a server that does not come up ends the job, and nothing of it is left.
# Takes 7 s: four jobs one after another, which begin programs of Python
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
[ -n "$python" ] || {
    echo 'there is no python3'
    exit 77
}
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
export EDL_SERVER EDL_TOKEN_FILE=$work/scheduler/admin-token
for last in 9 10; do
    # shellcheck disable=SC2046
    begin "n$last" "joined" edl-agent --node "n$last" --address "127.0.0.$last" --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" \
        --state-dir "$work/n$last" --conf '' --runtime direct --no-foreign --heartbeat 300ms --cpu 1 --memory 1Gi --stop-processes-on-exit \
        $([ "$(id -u)" != 0 ] || echo --allow-root)
done
job() { edl show "$1" --json | jq -r ".job$2"; } # JOB EXPRESSION

# a server that listens when it is told to, and a trainer that needs every server and tells what it was given
cat >"$work/server" <<END
#!$python
import os, socket, sys
flags = dict(flag[2:].split("=", 1) for flag in sys.argv[1:])
print("server", *sys.argv[1:], flush=True)
if os.path.exists("$work/broken"):
    sys.exit(3)
if os.environ["PADDLE_INIT_TRAINER_ID"] == "1":
    open("$work/late").read()  # a fifo: until the test writes to it
with socket.create_server((os.environ["EDL_ADDRESS"], int(flags["port"]))) as server:
    print("listening", flush=True)
    while True:
        server.accept()[0].close()
END
cat >"$work/trainer" <<END
#!$python
import json, os, socket, sys
flags = dict(flag[2:].split("=", 1) for flag in sys.argv[1:])
for server in flags["pservers"].split(","):
    address, _, port = server.partition(":")
    socket.create_connection((address, int(port or flags["port"])), 5).close()
told = {name: value for name, value in os.environ.items() if name.startswith(("PADDLE_INIT_", "EDL_ADDRESS", "JOB_", "TRAINER_", "CONF_"))}
print(json.dumps({"flags": flags, "env": told, "data": open("data/part").read(), "config": open(flags["config"]).read()}), flush=True)
END
chmod +x "$work/server" "$work/trainer"
mkfifo "$work/late"
shared=$work/shared
mkdir -p "$shared/0/data" "$shared/1/data" "$shared/config"
printf zero >"$shared/0/data/part"
printf one >"$shared/1/data/part"
printf settings >"$shared/config/trainer_config.py"

# the example's own document, for these nodes and programs
example=$EDL_SOURCE_DIR/examples/kubernetes-start
workspace=$(edl workspace add "$example")
submit() { # NAME [SED-EXPRESSION]
    sed -e "s|WORKSPACE|$workspace|; s|/shared/recommendation|$shared|; s|: recommendation|: $1|; s|min: 3|min: 2|; s|max: 3|max: 2|" \
        -e "s|cpu: \"4\"|cpu: \"1\"|; s|8Gi|64Mi|; s|python3, start.py|$python, start.py, --server=$work/server, --trainer=$work/trainer|" \
        -e "s|^mode: collective|&\nrestart: {max: 0}|" -e "s|^env:|env:\n  PYTHONPATH: $EDL_SOURCE_DIR/python\n  PYTHONDONTWRITEBYTECODE: \"1\"\n  CONF_PADDLE_NIC: lo\n  JOB_NAME: $1|; ${2:-}" \
        "$example/job.yaml" | edl submit - >/dev/null
}
log() { cat "$shared/output/node_$1/$2.log" 2>/dev/null; } # ID KIND
says() { log "$1" "$2" | grep -q "$3"; }                   # ID KIND WORDS
ended() { case $(job "$1" .state) in succeeded | failed) ;; *) return 1 ;; esac; }

submit first
await 120 'the first server listens' says 0 server listening
await 120 'the second one waits' says 1 server '^server '
[ ! -e "$shared/output/node_0/train.log" ] || fail 'a trainer is started before all servers listen'
echo now >"$work/late"
await 120 'it ends' ended first
[ "$(job first .state)" = succeeded ] || fail "$(job first .reason) $(edl logs first) $(log 0 train) $(log 1 train)"

# 127.0.0.10 is before 127.0.0.9 as text, on both nodes
told() { log "$1" train | jq -r "$2"; } # ID EXPRESSION
port() { log "$1" server | sed -n 's/^server .*--port=\([0-9]*\) .*/\1/p'; }
list="127.0.0.10:$(port 0),127.0.0.9:$(port 1)"
[ "$(told 0 .env.EDL_ADDRESS) $(told 1 .env.EDL_ADDRESS)" = '127.0.0.10 127.0.0.9' ] || fail "$(log 0 train) $(log 1 train)"
[ "$(told 0 .data) $(told 1 .data)" = 'zero one' ] || fail "each has the other's data: $(told 0 .data) $(told 1 .data)"
for id in 0 1; do
    log $id train | holds --arg list "$list" --arg id $id --arg save "$shared/output" '.flags == {pservers: $list, trainer_id: $id,
        trainer_count: "4", save_dir: $save, config: "trainer_config.py", num_passes: "10", dot_period: "10", nics: "lo", port: .flags.port,
        ports_num: "2", ports_num_for_sparse: "2", num_gradient_servers: "2", comment: "paddle_process_by_paddle"} and .config == "settings"' ||
        fail "flags of $id: $(told $id .flags), wanted list $list"
    log $id train | holds --arg list "$list" --arg id $id '.env.PADDLE_INIT_TRAINER_ID == $id and .env.PADDLE_INIT_PSERVERS == $list and
        .env.JOB_NAME == "first" and .env.CONF_PADDLE_PORTS_NUM == "2"' || fail "environment of $id: $(told $id .env)"
    [ "$(told $id .flags.port)" = "$(port $id)" ] || fail "the trainer of $id is told another port: $(told $id .flags)"
done
[ "$(edl logs first | grep -c '"trainer_id"')" = 2 ] || fail "what trainers say is not in the job's output: $(edl logs first)"

# with EDL's own programs, as the README has it: a configuration and its data are all that is added
rm -r "$shared"
mkdir -p "$shared/0/data" "$shared/1/data" "$shared/config"
for id in 0 1; do seq 1 24 >"$shared/$id/data/numbers"; done
cat >"$shared/config/reads.py" <<'PY'
from paddle.trainer.PyDataProvider2 import *
@provider(input_types=[dense_vector(2), dense_vector(1)])
def process(settings, name):
    with open(name) as lines:
        for n in map(int, lines):
            yield [n % 2, n % 3], [float(n % 2)]
PY
cat >"$shared/config/trainer_config.py" <<'PY'
from paddle.trainer_config_helpers import *
with open('files', 'w') as files:
    files.write('data/numbers\n')
define_py_data_sources2('files', 'files', module='reads', obj='process')
settings(batch_size=8, learning_rate=0.01)
outputs(regression_cost(input=fc_layer(input=data_layer('x', 2), size=1, act=LinearActivation()), label=data_layer('y', 1)))
PY
sed -e "s|WORKSPACE|$(edl workspace add "$example")|; s|/shared/recommendation|$shared|; s|: recommendation|: real|; s|min: 3|min: 2|; s|max: 3|max: 2|" \
    -e "s|cpu: \"4\"|cpu: \"1\"|; s|8Gi|512Mi|; s|python3,|$python,|; s|^mode: collective|&\nrestart: {max: 0}|" \
    -e "s|^env:|env:\n  PYTHONPATH: $EDL_SOURCE_DIR/python\n  PYTHONDONTWRITEBYTECODE: \"1\"\n  EDL_PYTHON: $python\n  HOME: $work\n  CONF_PADDLE_NIC: lo|" \
    "$example/job.yaml" | edl submit - >/dev/null
await 120 'it ends' ended real
[ "$(job real .state)" = succeeded ] || fail "$(job real .reason) $(edl logs real) $(log 0 server) $(log 1 server)"
ls "$shared/output/pass-00009/done" >/dev/null || fail "nothing is saved: $(find "$shared/output") $(log 0 train)"
grep -q 'connected to 8 parameter servers' "$shared/output/node_1/train.log" || fail "node 1 trained alone: $(log 1 train)"
rm -r "$shared"
mkdir -p "$shared/0/data" "$shared/1/data" "$shared/config"
printf zero >"$shared/0/data/part"
printf one >"$shared/1/data/part"
printf settings >"$shared/config/trainer_config.py"

# what is missing is told, with what to do
rm -r "$shared/1/data"
submit missing
await 120 'it ends' ended missing
edl logs missing | grep -q "start.py: $shared/1/data is no folder on .*: the data of 2 nodes belongs into $shared/0/data to $shared/1/data" ||
    fail "$(edl logs missing)"
[ "$(job missing .state)" = failed ] || fail 'it trains without its data'
mkdir -p "$shared/1/data"
printf one >"$shared/1/data/part"
submit few 's|ports: 4|ports: 2|'
await 120 'it ends' ended few
edl logs few | grep -q '4 ports in a row are needed and the job has' || fail "$(edl logs few)"

# a server that ends before it listens ends the job, and nothing is left
touch "$work/broken"
submit broken
await 120 'it ends' ended broken
[ "$(job broken .state)" = failed ] || fail 'it trains without servers'
edl logs broken | grep -q 'the parameter server ended with status 3 before it listened: see .*/output/node_[01]/server.log' || fail "$(edl logs broken)"
[ ! -e "$shared/output/node_0/train.log" ] && [ ! -e "$shared/output/node_1/train.log" ] || fail 'a trainer was started'
left() { grep -lsz -e "^JOB_PATH=$shared\$" /proc/[0-9]*/environ || true; }
none_left() { silent left; }
await 120 'nothing of the jobs is left' none_left
