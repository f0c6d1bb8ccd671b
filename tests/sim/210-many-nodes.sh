#!/usr/bin/env bash
# `edl simulate` plays a cluster of 50,000 nodes in 2 GiB: all of its jobs come to their end.
# EDL_MANY_NODES: how many instead.
# Runs at night: computes for minutes
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}"
n=${EDL_MANY_NODES:-50000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# a lease as long as a scheduler wants it for so many nodes
cat >"$work/many.yaml" <<YAML
name: many
nodes: [{count: $n, cpu: 8, memory: 32Gi}]
lease: $((n * 5 / 1000 > 5 ? n * 5 / 1000 : 5))s
jobs:
  - copies: 20
    at: 10s
    work: {lifetime: 60s}
    job:
      metadata: {name: wide}
      spec:
        fault_tolerant: true
        trainer: {entrypoint: "true", min-instance: 1, max-instance: 500, resources: {requests: {cpu: 1, memory: 1Gi}}}
YAML
ulimit -v $((2 * 1024 * 1024))
"$EDL_BUILD_DIR/edl" simulate "$work/many.yaml" --json >"$work/many.json"
jq -en '[input | .. | objects | select(has("state")) | .state] | length == 20 and all(. == "succeeded")' "$work/many.json" >/dev/null ||
    { jq '[.. | objects | select(has("state")) | .state] | group_by(.) | map({(.[0]): length}) | add' "$work/many.json" >&2; exit 1; }
