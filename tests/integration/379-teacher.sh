#!/usr/bin/env bash
# edl-teacher: a saved model answers students as edl-trainer infer does, alone and as a service; strangers, rubbish, another model; its end
# Takes 20 s: students ask from Python, half a dozen times, and as jobs that find their service
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -c 'import numpy' 2>/dev/null || {
    echo 'there is no numpy (python3-numpy)'
    exit 77
}
cd "$work"
teacher='' stranger=''
trap 'status=$?; kill $teacher $stranger 2>/dev/null || true; (exit $status); on_exit' EXIT
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
edl-trainer data digits --out data --samples 400 >/dev/null
edl-trainer --local --config=digits_mlp --data=data --num_passes=3 --save_dir=digits >train.log
edl-trainer infer --config=digits_mlp --data=data --init_model_path=digits/pass-00002 >expected

# asks for the test samples; prints what differs most from what edl-trainer says
cat >student.py <<'PY'
import glob
import struct
import sys

import edl
import numpy as np
from edl.distill import DistillReader

given = sys.argv[1:]
where, predict, field, always = given + ["", "prediction", "pixel", ""][len(given) :]
work = WORK
paths = sorted(glob.glob(work + "/data/test-*.recordio"))
samples = [np.frombuffer(record, "<f4", 784) for path in paths for record in edl._recordio.records(path)]
expected = np.array([[float(value) for value in line.split(",")] for line in open(work + "/expected")], np.float32)
assert len(samples) == len(expected) > 20, (len(samples), len(expected))
reader = DistillReader(ins=[field], predicts=[predict])
reader.set_teacher_batch_size(3)
if ":" in where:
    reader.set_fixed_teacher(where)
else:
    reader.set_dynamic_teacher("", where, 2)
reader.set_sample_list_generator(lambda: [[(sample,) for sample in samples[i : i + 7]] for i in range(0, len(samples), 7)])
passes = 0
while passes == 0 or always:
    found = np.array([p for batch in reader() for _x, p in batch])
    assert found.shape == expected.shape, found.shape
    far = float(np.abs(found - expected).max())
    assert far < 1e-5, far
    passes += 1
    if always:
        with open(work + "/passes", "a") as told:
            print(passes, file=told)
print(f"{len(found)} predictions as those of edl-trainer")
PY
sed -i "s|WORK|\"$work\"|" student.py

# alone: the folder and the tar, a secret, strangers
(umask 077 && openssl rand -hex 32 >secret && openssl rand -hex 32 >other)
edl-teacher --config=digits_mlp --init_model_path=digits/pass-00002 --outputs prediction=__fc_layer_2__ --listen 127.0.0.1:0 --secret-file secret 2>teacher.log &
teacher=$!
listens() { port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\),.*/\1/p' teacher.log) && [ -n "$port" ]; }
await 120 'the teacher listens' while_runs $teacher listens
ask() { EDL_TEACHER_SECRET_FILE=$1 timeout 300 "$python" student.py "127.0.0.1:$port" "${@:2}" 2>&1; }
ask secret | grep -q '^[0-9]* predictions as those of edl-trainer$' || fail "$(ask secret)"
ask secret prediction image | grep -q 'wants pixel, and ins of this reader are image' || fail 'a field of another name is sent'
ask secret logits | grep -q 'has no logits; it predicts prediction' || fail 'another prediction is promised'
EDL_TEACHER_SECRET_FILE=other "$python" student.py "127.0.0.1:$port" >stranger.log 2>&1 &
stranger=$!
refused() { grep -q 'does not know the secret' stranger.log; }
await 120 'a stranger is refused' refused
kill $stranger && wait $stranger || true
stranger=''
for rubbish in 'GET / HTTP/1.1\r\n\r\n' 'EDLT\1\10\0\0\0\0\0\100\0\0\0\0' '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; do
    # shellcheck disable=SC2059
    { printf "$rubbish" >"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || true
done
ask secret | grep -q '^[0-9]* predictions' || fail 'rubbish disturbs others'
kill $teacher
wait $teacher || fail "the end of a teacher: $? $(cat teacher.log)"
teacher=''
grep -q 'left: [0-9]* tasks of' teacher.log || fail "$(cat teacher.log)"
! edl-teacher --config=digits_mlp --init_model_path=digits/pass-00002 --listen 0.0.0.0:0 2>open.log || fail 'it serves anybody'
grep -q 'anybody could ask a teacher at 0.0.0.0' open.log || fail "$(cat open.log)"
! edl-teacher --config=digits_conv --init_model_path=digits/pass-00002.tar --listen 127.0.0.1:0 2>none.log || fail 'it serves no model'

# a service, as the example types it
cluster_start --nodes 2
sed "s|/var/tmp/edl-digits|$work/digits|" "$EDL_SOURCE_DIR/conf/examples/teacher.yaml" >teacher.yaml
edl submit teacher.yaml >/dev/null
with=(--cpu 0.1 --memory 256Mi -e "PYTHONPATH=$PYTHONPATH" -e PYTHONDONTWRITEBYTECODE=1)
edl submit --name once "${with[@]}" -- "$python" "$work/student.py" digits >/dev/null
edl wait once --timeout 120 >/dev/null || fail "$(edl logs once) $(edl logs digits)"
edl logs once | grep -q '^.*[0-9]* predictions as those of edl-trainer$' || fail "$(edl logs once)"
tells() { edl show digits --json | grep -q '"busy_share"'; }
await 120 'a teacher tells of itself' while_job digits tells
edl scale digits 2:2 >/dev/null
await 120 'two teachers' while_job digits at_least digits trainer 2
edl submit --name always "${with[@]}" -- "$python" "$work/student.py" digits prediction pixel always >/dev/null
passes() { [ "$(wc -l 2>/dev/null <passes || echo 0)" -ge "$1" ]; }
await 120 'passes' while_job always passes 3
edl scale digits 1:1 >/dev/null
left() { edl logs digits | grep -q 'left: [0-9]* tasks of'; }
await 120 'a teacher leaves' left
await 120 'more passes' while_job always passes $(($(wc -l <passes) + 3))
edl kill always digits >/dev/null
cluster_stop
