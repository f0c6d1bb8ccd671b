#!/usr/bin/env bash
# The second demo of examples/distill as jobs: a small residual network of PyTorch learns pictures from a service, and cannot from labels of
# which three in five are wrong. What is typed is what its README says.
# Takes 25 s: two trainings of PyTorch
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -c 'import numpy, torch' 2>/dev/null || {
    echo 'there is no PyTorch (python3-torch)'
    exit 77
}
readme=$EDL_SOURCE_DIR/examples/distill/README.md
types=$(grep '^    edl submit --name pictures-' "$readme")
[ "$(wc -l <<<"$types")" = 3 ] || fail "the README has other submissions: $types"
cluster_start --nodes 2
mkdir "$work/bin" "$work/pictures"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/bin/python3"
chmod +x "$work/bin/python3"
cp "$EDL_SOURCE_DIR"/examples/distill/* "$work/pictures"
cd "$work/pictures"
# the module as a package would install it
with="-e PYTHONPATH=$EDL_SOURCE_DIR/python -e PYTHONDONTWRITEBYTECODE=1 -e PATH=$work/bin:$PATH"
while read -r line; do eval "${line/ -- / $with -- }" >/dev/null; done <<<"$types"
error_of() { # JOB
    edl wait "$1" --timeout 900 >/dev/null || fail "$(edl logs "$1")"
    edl logs "$1" | sed -n 's/.*error \(0[.0-9]*\),.*/\1/p'
}
taught=$(error_of pictures-student)
alone=$(error_of pictures-alone)
awk "BEGIN { exit !($taught < 0.1 && $alone > 0.15) }" || fail "with a teacher the error is $taught, without $alone"
await 120 'the service is listed' eval "edl services | grep -q '^pictures-teacher '"
edl kill pictures-teacher >/dev/null
cluster_stop
