#!/usr/bin/env bash
# Jobs of two shipped networks: of each a trainer is killed and the job is resized; every record is counted exactly once, and
# the saved model is whole and costs less on its test samples than the start values.
# Runs by twos: trains
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2

submit_network() { # NAME NETWORK SOURCE SAMPLES PASSES BATCH
    edl-trainer data "$3" --out "$work/data-$1" --samples "$4" --chunk-records 100
    training_job "$1" 2 3 "$5" "--config=$2 --batch=$6 --task-records 100" | sed "s|$work/corpus|$work/data-$1|" >"$work/$1.yaml"
    edl submit "$work/$1.yaml"
}

disturb() { # NAME RECORDS
    await 120 "trainers of $1 run" at_least "$1" trainer 2
    await 120 "$1 trains" records_at_least "$1" "$2"
    kill -9 "$(pids "$1" trainer | head -n 1)"
    edl scale "$1" 1:4 >/dev/null
}

check_model() { # NAME NETWORK
    local model before after
    edl wait "$1" --timeout 900 || fail "$1: $(job_field "$1" .reason)"
    exact_counts "$1"
    [ "$(api GET "/jobs/$1/processes?state=all" | jq '[.processes[] | select(.role == "trainer" and .exit_signal == 9)] | length')" -ge 1 ] ||
        fail "no trainer of $1 was seen killed"
    model=$(job_field "$1" .metrics.model)
    edl model show "$model" || fail "edl model show $model"
    before=$(job_field "$1" .metrics.cost_before)
    after=$(edl-trainer test "--config=$2" "--data=$work/data-$1" "--init_model_path=$model" | sed -n 's/^Test samples=.* cost=\([^ ]*\).*/\1/p')
    awk -v before="$before" -v after="$after" 'BEGIN { exit !(after != "" && after < 0.7 * before) }' ||
        fail "$1 costs \"$after\" on its test samples, $before before"
}

submit_network line fit_a_line housing 6000 4 2
disturb line 600
submit_network digits digits_mlp digits 4000 4 8
disturb digits 400
check_model line fit_a_line
check_model digits digits_mlp
cluster_stop
