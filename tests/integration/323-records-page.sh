#!/usr/bin/env bash
# docs/records.md takes a text to a trained model: each of its blocks is typed in one folder beside a cluster, and says what the page shows.
# Takes 7 s: types the five blocks of docs/records.md, and a job trains five epochs
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"

machines=$work
folder=$work/folder
mkdir "$folder"
cp -r "$EDL_SOURCE_DIR/python/edl" "$folder/edl" # in the place of the package python3-edl
cluster_start --nodes 2 --cpu 2000m
type_in() { # MACHINE FILE: in a shell of its own, as a person does
    (cd "$folder" && timeout 300 bash -e "$2")
}
blocks docs/records.md
run_blocks
[ "$(find "$work/blocks" -name '*.sh' | wc -l)" = 5 ] || fail "the page has other blocks: $(ls "$work/blocks")"
exact_counts line
cluster_stop
