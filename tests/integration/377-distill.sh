#!/usr/bin/env bash
# Distillation as jobs, as the examples type it: a student of a service learns better than alone, its batches come in order and once while
# teachers are killed, stand still, come and go; without any it waits and says so. The service's secret is its user's.
# Takes 35 s: a student of some hundred passes, while its teachers come and go, and start again behind a pause
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -c 'import numpy' 2>/dev/null || {
    echo 'there is no numpy (python3-numpy)'
    exit 77
}
cluster_start --nodes 2
mkdir "$work/bin" "$work/digits"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/bin/python3"
chmod +x "$work/bin/python3"
cp "$EDL_SOURCE_DIR"/examples/distill/* "$work/digits"
cd "$work/digits"
# the module as a package would install it
with=(--cpu 0.1 --memory 256Mi --upload . -e "PYTHONPATH=$EDL_SOURCE_DIR/python" -e PYTHONDONTWRITEBYTECODE=1 -e "PATH=$work/bin:$PATH")
teach() { edl submit --name digits-teacher --mode service --min 1 --max "$1" "${with[@]}" -- python3 -m edl.teach digits:predict >/dev/null; }
teach 1
edl submit --name digits-student "${with[@]}" -- python3 digits_student.py --service digits-teacher >/dev/null
edl wait digits-student --timeout 120 >/dev/null || fail "$(edl logs digits-student)"
error=$(edl logs digits-student | sed -n 's/.*error \(0[.0-9]*\)$/\1/p')
alone=$(PYTHONPATH=$EDL_SOURCE_DIR/python "$python" digits_student.py --without | sed -n 's/error //p')
awk "BEGIN { exit !($error < 0.06 && $alone > 0.12) }" || fail "with a teacher the error is $error, without $alone"
await 120 'the service is listed' eval "edl services | grep -q '^digits-teacher .*1'"

# a student that counts: 49 tasks of 194 samples in 25 batches, again and again
cat >counts.py <<'PY'
import sys

import numpy as np

from edl.distill import DistillReader

work = sys.argv[1]
reader = DistillReader(ins=["image", "number"], predicts=["prediction"])
reader.set_teacher_batch_size(4)
reader.set_dynamic_teacher("", "digits-teacher", 2)


def batches():
    first = 0
    for batch in range(25):
        n = 8 if batch < 24 else 2
        yield [(np.full(64, (first + i) % 7, np.float32), first + i) for i in range(n)]
        first += n


reader.set_sample_list_generator(batches)
with open(f"{work}/epochs", "a", buffering=1) as told:
    while True:
        out = list(reader())
        samples = [sample for batch in out for sample in batch]
        right = [len(batch) for batch in out] == [8] * 24 + [2] and [n for _, n, _ in samples] == list(range(194))
        right = right and all(abs(p.sum() - 1) < 1e-3 for _, _, p in samples)
        print("right" if right else f"WRONG {samples}", file=told)
PY
edl submit --name counts "${with[@]}" -- python3 counts.py "$work" >/dev/null
epochs() { [ "$(wc -l <"$work/epochs" 2>/dev/null || echo 0)" -ge "$1" ]; }
more() { await 120 "$1" while_job counts epochs $(($(wc -l <"$work/epochs") + 5)); }
await 120 'it counts' while_job counts epochs 5
edl scale digits-teacher 3:3 >/dev/null
await 120 'three teachers' while_job digits-teacher at_least digits-teacher trainer 3
for _ in 1 2; do
    kill -9 "$(pids digits-teacher trainer | head -n 1)"
    more 'it counts on when a teacher was killed'
done
still=$(pids digits-teacher trainer | head -n 1)
kill -STOP "$still"
more 'it counts on while a teacher stands still'
kill -CONT "$still"
edl scale digits-teacher 1:1 >/dev/null
more 'it counts on with one'
# none at all, and the service anew
edl kill digits-teacher >/dev/null
edl wait digits-teacher --timeout 120 >/dev/null || true
says() { edl logs counts 2>/dev/null | grep -q "$1"; }
await 120 'it says that it waits' while_job counts says 'no teacher of the service digits-teacher is there: waiting for one'
before=$(wc -l <"$work/epochs")
teach 1
await 120 'it goes on' while_job counts epochs $((before + 5))
! grep -q WRONG "$work/epochs" || fail "$(grep -m1 WRONG "$work/epochs")"
echo "$(wc -l <"$work/epochs") epochs"

# the processes of another user are told no secret of it
edl user add bob >/dev/null
token=$(edl token create --user bob --json | jq -r .token)
as_bob() { env -u EDL_TOKEN_FILE EDL_TOKEN="$token" edl "$@"; }
cat >ask.json <<'JOB'
{"name": "asks", "roles": [{"role": "trainer", "command": ["sh", "-c", "curl -sS --unix-socket $EDL_SOCKET http://edl/services/digits-teacher/secret; echo"], "min": 1, "max": 1}]}
JOB
as_bob submit ask.json >/dev/null
as_bob wait asks --timeout 120 >/dev/null || fail "bob cannot ask: $(as_bob logs asks)"
as_bob logs asks | grep -q '"status":403.*the service digits-teacher is one of' || fail "bob is told $(as_bob logs asks)"
edl kill counts digits-teacher >/dev/null
cluster_stop
