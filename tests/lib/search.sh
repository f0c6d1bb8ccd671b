# shellcheck shell=bash
# search.sh - searches of scripts: a program that tells its metric without much of a start, and how a search is killed
#
#   . "$EDL_SOURCE_DIR/tests/lib/search.sh"
# $work/trial.py FOLDER NAME=VALUE...: tells {"score": ...}, which follows from the values alone; best at x=0.7, kind=b. A trial with a
# higher number than the file "gate" of the folder says waits at first.
cat >"$work/trial.py" <<'PROGRAM'
import json, os, socket, sys, time
values = dict(word.split("=") for word in sys.argv[2:])
number = json.loads(os.environ["EDL_TRIAL"])["trial"]
while number > int(open(sys.argv[1] + "/gate").read()):
    time.sleep(0.05)
score = -(float(values["x"]) - 0.7) ** 2 - (values["kind"] != "b")
body = json.dumps({"score": score, "epoch": 1}).encode()
agent = socket.socket(socket.AF_UNIX)
agent.connect(os.environ["EDL_SOCKET"])
agent.sendall(b"POST /jobs/self/metrics HTTP/1.1\r\nHost: agent\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
assert b" 200 " in agent.makefile("rb").readline()
PROGRAM

gate() { # NUMBER; as one change
    echo "$1" >"$work/gate.new"
    mv "$work/gate.new" "$work/gate"
}

trials() { # how many of its budget; method
    local settings=''
    [ "${2:-evolution}" != evolution ] || settings=', population: 6, sample: 3'
    cat <<SPACE
parameters:
  x: {kind: float, min: 0, max: 1}
  kind: [a, b, c]
metric: {name: score, direction: maximize}
budget: {trials: $1}
method: {kind: ${2:-evolution}, parallel: 4$settings}
seed: 20
SPACE
}

search_run() { # NAME SPACE [OPTION...]
    local name=$1 space=$2
    shift 2
    set -- edl search run "$space" --name "$name" --no-upload --memory 64Mi --cpu 500m "$@" -- python3 -S -E "$work/trial.py" "$work" x={x} kind={kind}
    [ "$BASHPID" != $$ ] || {
        "$@"
        return
    }
    exec "$@" # in the background $! is the search
}

# what was tried, in the order of the trials
tried() { edl search show "$1" --json | jq -cS '[.trials | sort_by(.trial)[] | {trial, parameters, result, state}]'; }
jobs_of() { api GET "/jobs?state=all&limit=250&name=$1-" | jq '.jobs | length'; }
has_jobs() { [ "$(jobs_of "$1")" -ge "$2" ]; }

# kills the search again and again, wherever it is then, and lets another one go on
search_with_kills() { # NAME SPACE KILLS TRIALS
    local kill pid wanted
    gate 0
    search_run "$1" "$2" >"$work/run" 2>&1 &
    pid=$!
    for ((kill = 1; kill <= $3; kill++)); do
        wanted=$(($4 * kill / ($3 + 1)))
        gate "$wanted"
        await 120 "the search $1 has more than $wanted jobs" while_runs $pid has_jobs "$1" $((wanted + 1))
        kill -9 $pid
        ! wait $pid 2>"$work/killed" || fail "the search $1 ended before it was killed: $(cat "$work/run")"
        edl search resume "$1" >"$work/run" 2>&1 &
        pid=$!
    done
    gate 1000000
    wait $pid || fail "the search $1 did not go on to its end: $(cat "$work/run")"
}
