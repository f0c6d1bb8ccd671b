#!/usr/bin/env bash
# `edl simulate`: who waits keeps its turn. A gang, a long job and large ones come in the middle of many small ones; nothing is known
# of any program. That the small ones are known when the first has ended lets none of them pass whoever came before it.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

jobs() { # NAME PROGRAM AT COPIES MIN MAX TASKS
    cat <<END
- {at: $3s, copies: $4, every: 0s, work: {tasks: $7, task: 10s, speedup: 0.9}, job: {name: $1, fault_tolerant: true, dataset: /d/x,
   roles: [{role: worker, command: [$2], min: $5, max: $6, cpu: 1, memory: 1Gi}]}}
END
}
waits() { # NAME MOST_S SMALL-BEFORE SMALL-AFTER SMALL-TASKS COPIES MIN MAX TASKS: none of those of NAME waits longer
    local longest_s
    {
        echo 'max-load: 1.0'
        echo 'nodes: [{count: 4, cpu: 4, memory: 64Gi}]'
        echo 'jobs:'
        jobs before small 0 "$3" 1 1 "$5"
        jobs "$1" "$1" 1 "$6" "$7" "$8" "$9"
        jobs after small 2 "$4" 1 1 "$5"
    } >"$work/$1.yaml"
    edl simulate "$work/$1.yaml" --json >"$work/$1.json"
    longest_s=$(jq --arg name "$1" '[.rounds[0].jobs[] | select(.name | startswith($name)) | .started_s - .submitted_s] | max' "$work/$1.json")
    jq -en "$longest_s <= $2" >/dev/null || fail "$1: waited $longest_s s instead of at most $2 s"
}
waits gang 800 32 96 30 1 12 12 300
waits long 400 16 128 30 1 1 8 600
waits large 300 16 256 6 3 4 4 120
