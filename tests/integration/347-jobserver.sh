#!/usr/bin/env bash
# JobServer and JobClient as PaddlePaddle's users type them, in examples/demo/collective: three pods, then two, then three. Those that stay
# keep their processes, the third is another pod. Ctrl-C of the JobClient kills the job. The training is played: it has no PyTorch.
# Runs at night, and for python/edl/jobserver/ examples/demo/: python3 -m edl.jobserver begins six times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
[ -n "${python:-}" ] || {
    echo 'there is no python3'
    exit 77
}
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
mkdir "$work/example" "$work/data" "$work/kept"
cp -r "$EDL_SOURCE_DIR/examples/demo" "$work/example/demo"
cat >"$work/example/demo/collective/train.py" <<'END'
import os, sys, time
import edl
kept = os.environ["PADDLE_EDL_FLEET_CHECKPOINT_PATH"]
names = ("PADDLE_POD_ID", "PADDLE_RUNING_ENV", "PADDLE_JOB_ID", "PADDLE_EDLNODES_RANAGE", "PADDLE_EDL_IMAGENET_PATH")
with open(f"{kept}/{os.environ['PADDLE_POD_ID']}", "w") as file:
    print(os.getpid(), os.path.basename(os.getcwd()), *[os.environ[name] for name in names], file=file)
for world in edl.worlds():
    while not world.over():
        if os.path.exists(f"{kept}/enough"):
            sys.exit(0)
        time.sleep(0.1)  # a step
END
# a port that is free now: 8180 is everybody's
PADDLE_JOBSERVER=http://127.0.0.1:$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PADDLE_JOBSERVER POD_CPU=200m POD_MEMORY=64Mi
cluster_start --nodes 2 --cpu 2000m

# the two blocks of the README, which are upstream's, in two terminals
awk -v work="$work" '/^```sh$/ { file = work (n++ ? "/client" : "/server"); next } /^```/ { file = ""; next } file { print >file }' \
    "$work/example/demo/collective/README.md"
sed -i "1i cd example/demo/collective # in the same folder
s|IMAGENET_PATH=<your path>|IMAGENET_PATH=$work/data|
s|CHECKPOINT_PATH=<your path>|CHECKPOINT_PATH=$work/kept|" "$work/client"
lacks '<' <"$work/client" || fail "another path is asked for: $(cat "$work/client")"
job=test-job-id-1234
query() { curl -sS --max-time 30 "$PADDLE_JOBSERVER/rest/1.0/get/query_pods?job_id=test_job_id_1234"; }
# shellcheck disable=SC2016
n_pods() { # N: so many run, and the JobServer says so
    query 2>/dev/null | holds --argjson n "$1" '[.pods[]? | select(.running == "1")] | length == $n'
}
# type BLOCK: in a terminal of its own, which close_terminal PID closes; its pid is $typed
type() {
    setsid bash "$1" >"$work/$1.log" 2>&1 &
    typed=$!
}
close_terminal() {
    kill -TERM -- "-$1"
    wait "$1" || true
}
cd "$work"
TIME_INTERVAL_TO_CHANGE=100000 type server
server=$typed
type client
client=$typed
await 120 'three pods' while_runs "$client" n_pods 3
query >"$work/first"
cat "$work/first"
holds '.job_id == "test_job_id_1234" and ([.pods[] | .addr != "" and .pod_port != "" and (.trainer_ports | length) == 1] | all)' <"$work/first" || fail 'the pods'
pids "$job" trainer | sort >"$work/pids"
[ "$(curl -sS --max-time 30 -d '{"job_id": "test_job_id_1234"}' "$PADDLE_JOBSERVER/rest/1.0/post/job_runtime_static")" = '{}' ] || fail 'job_runtime_static'
close_terminal "$server"

# with short intervals: what it did is in its own words, also where nobody looked in time
TIME_INTERVAL_TO_CHANGE=3 type server
server=$typed
resized() { # to two, and then to three
    grep -q ': 2 pods$' server.log && grep -q ': 3 pods$' server.log
}
await 120 'two pods, then three' while_runs "$client" resized
close_terminal "$server"
TIME_INTERVAL_TO_CHANGE=100000 type server
server=$typed
edl scale "$job" 3 >/dev/null
await 120 'three pods again' while_runs "$client" n_pods 3
query >"$work/last"
differs "$(jq -r .job_stage_flag "$work/first")" "$(jq -r .job_stage_flag "$work/last")" || fail 'the stage is the same'
jq -r '.pods[].pod_id' "$work/first" | sort >"$work/first.pods"
jq -r '.pods[].pod_id' "$work/last" | sort >"$work/last.pods"
[ "$(comm -12 "$work/first.pods" "$work/last.pods" | wc -l)" = 2 ] || fail "not two pods stayed: $(cat "$work/first" "$work/last")"
[ "$(pids "$job" trainer | sort | comm -12 - "$work/pids" | wc -l)" = 2 ] || fail 'not two processes stayed'
pod=$(comm -13 "$work/first.pods" "$work/last.pods")
await 120 'the pod tells' while_runs "$client" test -s "$work/kept/$pod"
[ "$(cut -d' ' -f2- "$work/kept/$pod")" = "$pod $pod PADDLE_EDL test_job_id_1234 1:3 $work/data" ] || fail "told: $(cat "$work/kept/$pod")"
await 120 'the client tells' grep -q "$pod runs on" "$work/client.log"

touch "$work/kept/enough"
wait "$client" || fail "the client: $(cat "$work/client.log")"
grep -q "^job $job ([0-9]*) succeeded" "$work/client.log" || fail "the client: $(cat "$work/client.log")"
rm "$work/kept/enough"

# a terminal that is closed, as Ctrl-C does: the job goes with its client
type client
client=$typed
await 120 'a second job' while_runs "$client" n_pods 3
close_terminal "$client"
edl wait "$job" --timeout 120 >/dev/null || true
[ "$(job_field "$job" .reason_code)" = killed ] || fail "the job: $(edl show "$job")"
close_terminal "$server"
cluster_stop
