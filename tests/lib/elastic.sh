# shellcheck shell=bash
# elastic.sh - a job of elastic_train.py, and what elastic_storm.py does to it
"${python:-false}" -c 'import torch.distributed' 2>/dev/null || {
    echo "there is no PyTorch for ${python:-python3} (python3-torch)"
    exit 77
}
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
on_fail() { tail -n 30 "$work"/state/*.log "$work/dev.log" || true; edl logs "${job:-}" | tail -n 60 || true; }

elastic_job() { # NAME SIZE [WORD]: of elastic_train.py, that never ends by itself
    job=$1
    mkdir "$work/$job"
    jq -n --arg command "exec $python $EDL_SOURCE_DIR/tests/lib/elastic_train.py $work/$job 1000000000 0.02 ${3:-}" --argjson n "$2" \
        --arg python "$PYTHONPATH" --arg job "$job" '{name: $job, mode: "collective", fault_tolerant: true, grace: "20s",
        restart: {max: 1000, backoff: "100ms"}, env: {PYTHONPATH: $python, PYTHONDONTWRITEBYTECODE: "1", OMP_NUM_THREADS: "1"},
        roles: [{role: "trainer", entrypoint: $command, min: 1, max: $n, cpu: "500m", ports: 1}]}' >"$work/$job.json"
    edl submit "$work/$job.json" >/dev/null
}

storm() { # as elastic_storm.py has it
    "$python" "$EDL_SOURCE_DIR/tests/lib/elastic_storm.py" "$work/$job" "$job" "$@" || fail 'the processes do not agree'
}
