#!/usr/bin/env bash
# edl search, killed EDL_KILLS times and gone on with each time, beside one that nobody disturbs: of each method that learns from results
# they try the same, and each trial is one job.
# Runs at night: fifty kills of each of two searches
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/search.sh"
cluster_start --nodes 2 --cpu 2000m
cd "$work"
n=60
for method in evolution tpe; do
    trials $n $method >space.yaml
    gate 1000000
    search_run calm-$method space.yaml >run 2>&1 || fail "it failed: $(cat run)"
    search_with_kills killed-$method space.yaml "${EDL_KILLS:-50}" $n
    tried calm-$method >calm.json
    tried killed-$method | cmp - calm.json || fail "$method tried something else: $(tried killed-$method)"
    [ "$(jobs_of killed-$method)" = $n ] || fail "a trial was submitted twice: $(jobs_of killed-$method) jobs"
done
cluster_stop
