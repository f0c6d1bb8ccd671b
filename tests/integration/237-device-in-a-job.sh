#!/usr/bin/env bash
# Trainers of a job that asks for GPUs train on what they were granted, those of another on the CPU beside them; where a GPU cannot
# be used they say so in their logs and train all the same. In place of GPUs: tests/lib/fake_nvml.c, tests/lib/fake_device.c.
# Takes 54 s: four jobs train to their end, each with two trainers and two servers
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
export EDL_NVML_LIBRARY=$EDL_BUILD_DIR/tests/lib/libnvidia-ml.so.1 EDL_TEST_NVML=$work/gpus
printf '%s\n' 'gpu 00000000:AF:00.0 GPU-b 80000 500 0' 'gpu 00000000:3B:00.0 GPU-a 40000 0 7' >"$EDL_TEST_NVML"
cluster_start --nodes 1
small_corpus 60 8000
job() { # NAME GPUS FOLDER [OPTION]
    training_job "$1" 2 2 2 "--learning-rate 0.05${4:+ $4}" |
        sed "s|^  passes:|  env: {EDL_KERNELS_DIR: $3}\n&|; 0,/memory: 32Mi}}/s||memory: 32Mi}, limits: {gpu: $2}}|" >"$work/$1.yaml"
    edl submit "$work/$1.yaml" >/dev/null
}
succeeds() { # NAME
    edl wait "$1" --timeout 900 || fail "$1: $(job_field "$1" .reason): $(edl logs "$1")"
    exact_counts "$1"
    edl logs "$1" >"$work/$1.log"
}
says() { # NAME TIMES TEXT
    [ "$(grep -c "$3" "$work/$1.log")" = "$2" ] || fail "$1 does not say $2 times \"$3\": $(cat "$work/$1.log")"
}
node=$(edl nodes --json | jq -r '.nodes[0].name')
offered() { edl nodes "$node" --json | holds '.devices | length == 2'; }
await 120 'both GPUs are offered' offered

job granted 1 "$EDL_BUILD_DIR/tests/lib"
job plain 0 "$EDL_BUILD_DIR/tests/lib"
succeeds granted
says granted 2 'computing on cuda: fake device'
succeeds plain
says plain 0 'cuda'
job fallen 1 "$work"
succeeds fallen
sed 's/"ngram_lm"/"tanh_lm"/; s/"activation": "sigmoid"/"activation": "tanh"/' "$EDL_SOURCE_DIR/conf/models/ngram_lm.json" >"$work/tanh_lm.json"
job network 1 "$EDL_BUILD_DIR/tests/lib" "--config=$work/tanh_lm.json --config_args=embedding=8,hidden=16" # a layer has no ops on a GPU
succeeds network
says network 2 'a GPU was granted, but the CPU is used: the device (cuda) has no ops for the activation of the layer hidden yet'
says fallen 2 'the CPU is used: the CUDA back-end is not installed'
costs=$(for name in granted plain fallen; do job_field $name .metrics.cost_after; done)
for cost in $costs; do # asynchronous, so not the same; all have learned
    awk "BEGIN { exit !($cost > 0 && $cost < 0.8 * log(62)) }" || fail "costs after training: $costs"
done
cluster_stop
