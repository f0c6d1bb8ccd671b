#!/usr/bin/env bash
# The third demo of examples/distill as jobs: a residual network that edl-trainer has trained is the teacher of a smaller one of PyTorch. What is
# typed is what its README says, but for the folders.
# Runs at night, and for examples/: trains for a minute
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -c 'import numpy, torch' 2>/dev/null || {
    echo 'there is no PyTorch (python3-torch)'
    exit 77
}
types=$(grep '^    \(edl submit\|edl-trainer\) .*resnet\|^    edl-trainer data' "$EDL_SOURCE_DIR/examples/distill/README.md")
[ "$(wc -l <<<"$types")" = 4 ] || fail "the README has other lines: $types"
cluster_start --nodes 2
mkdir "$work/bin" "$work/pictures"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/bin/python3"
chmod +x "$work/bin/python3"
cp "$EDL_SOURCE_DIR"/examples/distill/* "$work/pictures"
cd "$work/pictures"
with="-e PYTHONPATH=$EDL_SOURCE_DIR/python -e PYTHONDONTWRITEBYTECODE=1 -e PATH=$work/bin:$PATH"
while read -r line; do
    line=${line//\/var\/tmp/$work}
    eval "${line/ -- / $with -- }" >>"$work/typed" 2>&1 || fail "$line: $(tail -n 5 "$work/typed")"
done <<<"$types"
edl wait resnet-student --timeout 600 >/dev/null || fail "$(edl logs resnet-student)"
error=$(edl logs resnet-student | sed -n 's/.*error \(0[.0-9]*\),.*/\1/p')
awk "BEGIN { exit !($error < 0.2) }" || fail "the error is $error"
edl kill resnet-teacher >/dev/null
cluster_stop
