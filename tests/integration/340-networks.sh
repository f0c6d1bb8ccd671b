#!/usr/bin/env bash
# Jobs of shipped networks, all at once: of each a trainer is killed and the job is resized; every record is counted exactly once, and
# the saved model is whole and costs less on its test samples than the start values.
# Takes 19 s: trains six networks
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2

# Several trainers with momentum move about as one with a larger rate, which the convolutions alone do not bear: theirs is smaller.
#      job      network         its data  samples  passes  batch  records of a task  arguments of the network  rate
table='line     fit_a_line      housing   6000     4       2      100                -                         1e-3
       softmax  digits_softmax  digits    4000     8       8      100                -                         8e-4
       words    ngram_lm        words     8000    3       8      100                vocabulary=23,dropout=0.2 0.05
       mlp      digits_mlp      digits    4000     4       8      100                -                         8e-4
       conv     digits_conv     digits    1500     3       8      50                 -                         2e-4
       resnet   resnet_cifar    images    800      2       8      20                 depth=8                   8e-4'

submit_network() { # NAME NETWORK SOURCE SAMPLES PASSES BATCH TASK ARGUMENTS RATE
    local data=$work/data-$3-$4 arguments=${8#-}
    case $3 in
    words) edl corpus build --out "$data" --synthetic 20 --samples "$4" --chunk-records "$7" ;;
    *) [ -d "$data" ] || edl-trainer data "$3" --out "$data" --samples "$4" --chunk-records "$7" ;;
    esac
    hold_at "$1" $(($4 * $5 / 2)) "$7"
    training_job "$1" 2 3 "$5" "--config=$2 ${arguments:+--config_args=$arguments} --batch=$6 --task-records $7 --learning-rate $9" |
        sed "s|$work/corpus|$data|" >"$work/$1.yaml"
    edl submit "$work/$1.yaml"
}

disturb() { # NAME RECORDS
    await 120 "trainers of $1 run" at_least "$1" trainer 2
    await 120 "$1 trains" records_at_least "$1" "$2"
    kill -9 "$(pids "$1" trainer | head -n 1)"
    edl scale "$1" 1:4 >/dev/null
    let_go "$1"
}

check_model() { # NAME NETWORK SOURCE SAMPLES PASSES BATCH TASK ARGUMENTS RATE
    local model before after arguments=${8#-}
    edl wait "$1" --timeout 900 || fail "$1: $(job_field "$1" .reason)"
    exact_counts "$1"
    [ "$(api GET "/jobs/$1/processes?state=all" | jq '[.processes[] | select(.role == "trainer" and .exit_signal == 9)] | length')" -ge 1 ] ||
        fail "no trainer of $1 was seen killed"
    model=$(job_field "$1" .metrics.model)
    edl model show "$model" ${arguments:+--config_args="$arguments"} || fail "edl model show $model"
    before=$(job_field "$1" .metrics.cost_before)
    after=$(edl-trainer test "--config=$2" ${arguments:+--config_args="$arguments"} "--data=$work/data-$3-$4" "--init_model_path=$model" |
        sed -n 's/^Test samples=.* cost=\([^ ]*\).*/\1/p')
    awk -v before="$before" -v after="$after" 'BEGIN { exit !(before > 0 && after != "" && after < 0.7 * before) }' ||
        fail "$1 costs \"$after\" on its test samples, $before before"
}

# those that compute for long come first
while read -r line; do
    # shellcheck disable=SC2086
    submit_network $line
    disturb "${line%% *}" 60
done <<<"$(tac <<<"$table")"
while read -r line; do
    # shellcheck disable=SC2086
    check_model $line
done <<<"$table"
cluster_stop
