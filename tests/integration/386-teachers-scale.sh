#!/usr/bin/env bash
# Teachers follow their queue: a service of 1 to 4 grows while its student waits, gives a gang its room, never below its minimum, takes it
# back when that is over, and shrinks when nobody asks any more. A scheduler that is killed meanwhile moves nothing.
# Takes 30 s: fewer teachers are wanted only when fewer had work for ten seconds
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -c 'import numpy' 2>/dev/null || {
    echo 'there is no numpy (python3-numpy)'
    exit 77
}
cluster_start --nodes 1 --cpu 5 --memory 16Gi
mkdir "$work/bin" "$work/jobs"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/bin/python3"
chmod +x "$work/bin/python3"
cd "$work/jobs"
cat >slow.py <<'PY'
import time


def predict(values):
    time.sleep(0.3)
    return {"twice": 2 * values["number"]}
PY
cat >student.py <<'PY'
import numpy as np

import edl
from edl.distill import DistillReader

reader = DistillReader(ins=["number"], predicts=["twice"])
reader.set_teacher_batch_size(1)
reader.set_dynamic_teacher("", "slow", 4)
reader.set_sample_list_generator(lambda: ([(np.float32(i),)] for i in range(200)))
batches = 0
while True:
    for batch in reader():
        batches += 1
        edl.progress(batches=batches)
PY
with=(--memory 256Mi --upload . -e "PYTHONPATH=$EDL_SOURCE_DIR/python" -e PYTHONDONTWRITEBYTECODE=1 -e "PATH=$work/bin:$PATH")
edl submit --name slow --mode service --cpu 1 --min 1 --max 4 "${with[@]}" -- python3 -m edl.teach slow:predict --max-batch 1 >/dev/null
teachers() { [ "$(pids slow trainer | wc -l)" = "$1" ]; }
incarnations() { api GET '/jobs/slow/processes?state=live' | jq -c '[.processes[] | .incarnation] | sort[]'; }
figure() { edl services --json | jq -r ".services[] | select(.service == \"slow\") | .figures.$1 // empty"; }
told() { [ -n "$(figure told)" ]; }
await 120 'the teacher tells of its queue' while_job slow told
teachers 1 || fail "without a student: $(edl show slow)"
idles() { edl why slow | grep -q '0.0 tasks wait for each trainer'; }
await 120 'edl why says that it idles' while_job slow idles

# the queue grows, and they with it
edl submit --name student --cpu 0.1 "${with[@]}" -- python3 student.py >/dev/null
await 120 'four teachers' while_job student teachers 4
resizes() { api GET /jobs/slow/events | jq -r '.events[] | select(.event == "job-resized") | .text'; }
resizes | grep -Eq 'grown: [0-9.]+ tasks wait for each trainer of [0-9], which compute [0-9]+% of the time: [0-9] are wanted' ||
    fail "$(api GET /jobs/slow/events)"
busy() { [ "$(figure 'told == 4 and .figures.busy_share > 0.3 and .figures.tasks_per_s > 1 and .figures.students >= 1')" = true ]; }
await 120 'their figures' while_job student busy
edl services | grep -Eq '^slow  *[^ ]+  *4  *4  *[1-9][0-9]*  *[0-9.]+  *[0-9.]+  *[0-9]+%$' || fail "$(edl services)"
edl services slow | grep -Eq '^trainer-0 .*%$' || fail "$(edl services slow)"
edl show slow | grep -q '^serving  *[1-9].* tasks wait for each of 4, .*; its queue wants 4$' || fail "$(edl show slow)"

# a gang gets its room of them, and the student goes on
before=$(incarnations)
edl submit --name gang --cpu 1 --min 3 --max 3 -- sleep 600 >/dev/null
await 120 'the gang runs' at_least gang trainer 3
teachers 1 || fail "beside the gang: $(edl show slow)"
[[ $before == *"$(incarnations)"* ]] || fail 'another teacher was started'
edl kill gang >/dev/null
await 120 'four teachers again' while_job student teachers 4

# a new scheduler wants what there is
await 120 'all four are asked' while_job student busy
before=$(incarnations)
pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
kill -9 "$pid"
await 120 'the new scheduler hears them' while_job student busy
[ "$(incarnations)" = "$before" ] || fail "the new scheduler moved teachers: $(incarnations), before: $before"

# nobody asks any more
edl kill student >/dev/null
await 120 'one teacher is left' while_job slow teachers 1
resizes | grep -q 'trainer: . -> 1 (shrunk: 0.0 tasks wait for each trainer' || fail "$(resizes)"
cluster_stop
