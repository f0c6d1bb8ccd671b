#!/usr/bin/env bash
# docs/search.md: each of its blocks is typed beside a cluster, and says what the page shows. A trial on a higher rung goes on from its
# checkpoint.
# Takes 15 s: two searches in Python, of some twenty jobs
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
machines=$work
folder=$work/folder
mkdir "$folder"
cp -r "$EDL_SOURCE_DIR/python/edl" "$folder/edl" # where it is not installed
python3 -m compileall -q "$folder/edl"
export PYTHONDONTWRITEBYTECODE=1
cluster_start --nodes 2 --cpu 2000m
type_in() { (cd "$folder" && timeout 300 bash -e "$2" </dev/null 2>"$2.told") || fail "$2: $(cat "$2.told")"; } # MACHINE FILE
blocks docs/search.md
[ "$(find "$work/blocks" -name '*.sh' | wc -l)" = 7 ] || fail "the page has other blocks: $(ls "$work/blocks")"
run_blocks
cat "$(grep -l rungs.yaml "$work"/blocks/*.sh).told" >"$work/told"
best=$(grep -ho 'loss [^ ,]*, the best so far' "$work"/told | awk '{print $2}')
[ -n "$best" ] && [ "$best" = "$(sort -rgu <<<"$best")" ] || fail "the best so far is none: $best"
edl search show rungs --json >"$work/rungs.json"
holds '[.trials[] | select(.rung > 0)] | length >= 3' <"$work/rungs.json" || fail "no trial went on: $(edl search show rungs)"
holds 'all(.trials[]; [.points[].resource] | . == unique and length == max)' <"$work/rungs.json" ||
    fail "an epoch was trained twice, or never: $(cat "$work/rungs.json")"
cluster_stop
