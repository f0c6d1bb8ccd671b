#!/usr/bin/env bash
# `edl simulate`: who waits keeps its turn. A gang, a long job, large ones or gangs of 90 % come in the middle of small ones. Those
# keep coming for over an hour, five minutes each, at nine tenths of the cluster. Nobody waits longer than about twice what it waits
# in the order of the submission. Who says truly how long it takes waits at most ten minutes longer than who is silent.
# Takes 6 s: computes seven simulations of three hours
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

job() { # NAME AT COPIES EVERY MIN MAX TASKS
    cat <<END
- {at: $2s, copies: $3, every: $4s, work: {tasks: $7, task: 10s, speedup: 0.9}, job: {name: $1,
   fault_tolerant: true, dataset: /d/x, roles: [{role: worker, command: [$1], min: $5, max: $6, cpu: 1, memory: 1Gi}]}}
END
}
small() { # SEED: one each 21 s on 16 cores, as they come
    awk -v x="$1" 'BEGIN {
        for (at = 0; at < 4500; at += 2 + x % 38) {
            x = (x * 69069 + 12345) % 65536
            printf "- {at: %ds, work: {tasks: %d, task: 10s}, job: {name: small-%d, fault_tolerant: true, dataset: /d/x, ", at, 15 + x % 31, n++
            print "roles: [{role: worker, command: [small], min: 1, max: 1, cpu: 1, memory: 1Gi}]}}"
        }
    }'
}
longest_s() { # FILE POLICY NAME
    edl simulate "$1" --policy "$2" --json |
        jq --arg name "$3" '[.rounds[0] | .end_s as $over | .jobs[] | select(.name | startswith($name)) | (.started_s // $over) - .submitted_s] | max | floor'
}
waits() { # NAME MOST_S SEED COPIES EVERY MIN MAX TASKS: none of those of NAME waits longer
    local name=$1 most_s=$2 seed=$3 silent_s told_s
    shift 3
    {
        printf 'duration: 3h\nmax-load: 1.0\nnodes: [{count: 4, cpu: 4, memory: 64Gi}]\njobs:\n'
        small "$seed"
        job "$name" $((600 + seed)) "$@"
    } >"$work/$name.yaml"
    silent_s=$(longest_s "$work/$name.yaml" goodput "$name")
    echo "$name, seed $seed: $silent_s s"
    [ "$silent_s" -le "$most_s" ] || fail "$name of seed $seed waited $silent_s s instead of at most $most_s s"
    [ "$name" = gang ] || return 0
    sed 's/name: gang,/name: gang, expected: 2h,/' "$work/$name.yaml" >"$work/told.yaml"
    told_s=$(longest_s "$work/told.yaml" goodput "$name")
    echo "$name, seed $seed: $told_s s when it says its length"
    [ "$told_s" -le $((silent_s + 600)) ] || fail "a gang that says its length truly waited $told_s s, a silent one $silent_s s"
}
among_many() { # FIRST-COME: how long gangs of three users wait at worst who come after one user's 500 jobs
    {
        printf 'duration: 4h\nmax-load: 1.0\nfirst-come: %s\nnodes: [{count: 4, cpu: 4, memory: 64Gi}]\njobs:\n' "$1"
        job many 0 500 0 1 1 30
        job gang-b 600 1 0 8 8 80
        job gang-c 1500 1 0 8 8 80
        job gang-d 3000 1 0 8 8 80
    } | sed '/name: many/s/^- {/- {user: ann, /; s/^- {\(.*name: gang-\([bcd]\)\)/- {user: \2, \1/' >"$work/many.yaml"
    longest_s "$work/many.yaml" goodput gang
}
for seed in 1 2; do
    waits gang 800 "$seed" 1 0 12 12 720
done
waits long 120 1 1 0 1 1 360
waits large 800 2 4 300 4 4 60
waits wide 1400 1 2 1200 14 14 280
fair_s=$(among_many false)
first_s=$(among_many true)
echo "gangs of others behind one user's 500 jobs: $fair_s s, first come first served $first_s s"
[ "$fair_s" -le 700 ] || fail "gangs behind one user's 500 jobs waited $fair_s s"
[ "$first_s" -ge 4000 ] || fail "gangs behind one user's 500 jobs waited $first_s s where the first come goes first"
