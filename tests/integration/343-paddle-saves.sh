#!/usr/bin/env bash
# Saved passes: trainers and servers are killed and go on behind the last one; saves within a pass; one save only; the tar of paddle.v2.
# Takes 18 s: over a dozen trainings, nearly all one after another
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/ports.sh"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
set -eu
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
export HOME=$work/home XDG_CONFIG_HOME=
mkdir -p "$HOME"
cd "$work"
edl-trainer data recommendation --out data --samples 3000 --users 60 --movies 40 --noise 0.2 >/dev/null
small=(--config=recommendation --config_args=width=16 --data=data)
cost_of() { sed -n 's/.*Test samples=.* cost=\([0-9.]*\).*/\1/p' "$1"; }
export PADDLE_INIT_PORT=$port PADDLE_INIT_PORTS_NUM=2 PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1 PADDLE_INIT_NUM_GRADIENT_SERVERS=2 PADDLE_INIT_PSERVERS=127.0.0.1

# trainers and servers are killed behind the first saved pass; started again they go on with its values, those of trainer 0's folder
edl-paddle pserver >pserver.log 2>&1 &
servers=$!
for i in 1 0; do
    edl-paddle train "${small[@]}" --trainer_id=$i --num_passes=1000000 --save_dir=./killed-$i --log_period=0 --dot_period=0 >killed-$i.log 2>&1 &
    trainers[i]=$!
done
await 120 'the first pass is saved' while_runs "${trainers[0]}" grep -q 'Saving parameters to ./killed-0/pass-00000' killed-0.log
# another training must not save over these passes
edl-trainer "${small[@]}" --num_passes=1 --save_dir=./killed-0 >second.log 2>&1 && fail 'two trainings save to one folder'
grep -q "process [0-9]* (edl-trainer) on .* writes to \./killed-0, .*name another folder" second.log || fail "second: $(cat second.log)"
kill -9 "${trainers[@]}" $(pgrep -P $servers) $servers
for pid in "${trainers[@]}" $servers; do wait "$pid" || true; done
[ ! -e killed-1 ] || fail 'trainer 1 saves as well'
rm -rf killed-0/pass-00001*
edl-paddle pserver >pserver.log 2>&1 &
servers=$!
edl-paddle train "${small[@]}" --trainer_id=1 --start_pass=1 --num_passes=3 --save_dir=./killed-1 --log_period=0 >resumed-1.log 2>&1 &
trainer=$!
await 120 'trainer 1 waits for trainer 0' while_runs "$trainer" grep -q 'waiting for trainer 0 to set the values of its saved model' resumed-1.log
edl-paddle train "${small[@]}" --trainer_id=0 --start_pass=1 --num_passes=3 --save_dir=./killed-0 --log_period=0 >resumed-0.log 2>&1 || fail "resumed: $(cat resumed-0.log)"
wait "$trainer" || fail "resumed, trainer 1: $(cat resumed-1.log)"
[ "$(cost_of resumed-0.log | head -n 1)" = "$(cost_of killed-0.log | sed -n 2p)" ] || fail "resumed with $(cost_of resumed-0.log), saved with $(cost_of killed-0.log)"
[ "$(grep -c 'trainer-0 has set the values of its saved model' pserver.log)" = 3 ] || fail "servers: $(cat pserver.log)"
[ -e killed-0/pass-00002/done ] && [ ! -e killed-1 ] || fail "saved: $(ls -d killed-*/*)"
grep -q 'Pass=2 ' resumed-0.log && ! grep -q 'Pass=0 ' resumed-0.log || fail "other passes: $(cat resumed-0.log)"
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"

# a trainer that knows of no saved pass is not of this training; one that waits in vain says for whom
edl-paddle pserver >pserver.log 2>&1 &
servers=$!
given=(edl-trainer "${small[@]}" "--servers=127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))" --ports_num=2 --ports_num_for_sparse=1 --secret-file="$HOME/.config/edl/paddle-secret" --num_passes=3)
if "${given[@]}" --trainer_id=1 --start_pass=1 --servers-wait=1s >vain.log 2>&1; then fail 'it trains without values'; fi
grep -q 'trainer 0 has not set the values of its saved model.*' vain.log || fail "in vain: $(cat vain.log)"
if "${given[@]}" --trainer_id=0 >other.log 2>&1; then fail 'another declaration is taken'; fi
grep -q 'trainer-0 begins with start values, and the first trainer with a saved model: give all trainers --start_pass or --init_model_path' other.log || fail "other: $(cat other.log)"
# local SGD, and a model by its name
"${given[@]}" --num_batches_per_send_parameter=2 --num_gradient_servers=2 --init_model_path=killed-0/pass-00002 >mixed.log 2>&1 && fail 'local SGD on servers of another training'
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"
edl-paddle pserver >pserver.log 2>&1 &
servers=$!
"${given[@]}" --num_batches_per_send_parameter=2 --num_gradient_servers=2 --init_model_path=killed-0/pass-00002 --num_passes=1 --log-style=glog >local.log 2>&1 || fail "local SGD: $(cat local.log)"
[ "$(cost_of local.log | head -n 1)" = "$(cost_of resumed-0.log | tail -n 1)" ] || fail "local SGD begins with $(cost_of local.log), saved: $(cost_of resumed-0.log)"
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"

# saves within a pass change nothing of the training, and each is a whole one
alone=(edl-trainer --local "${small[@]}" --batch=100 --log-period=0)
"${alone[@]}" --num_passes=2 --save_dir=plain >plain.log 2>&1 || fail "plain: $(cat plain.log)"
"${alone[@]}" --num_passes=2 --saving_period=2 --saving_period_by_batches=10 --save_dir=within >within.log 2>&1 || fail "within: $(cat within.log)"
[ "$(cd within && echo *)" = 'pass-00000-001 pass-00000-002 pass-00001 pass-00001-001 pass-00001-002' ] || fail "saved within passes: $(ls within)"
diff -r plain/pass-00001 within/pass-00001 || fail 'saves within a pass have changed the training'
for name in "done" path.txt recommendation.json; do cmp plain/pass-00000/$name within/pass-00000-002/$name || fail "no $name within a pass"; done
if cmp -s within/pass-00000-001/_movie_fusion.w0 within/pass-00000-002/_movie_fusion.w0; then fail 'two saves have the same values'; fi
edl-trainer test "${small[@]}" --init_model_path=within/pass-00001-002 >/dev/null || fail 'a pass that was saved within is no whole one'
"${alone[@]}" --num_passes=2 --push-every=4 --saving_period_by_batches=10 --save_dir=groups >groups.log 2>&1 || fail "groups: $(cat groups.log)"
[ "$(cd groups && echo *)" = 'pass-00000 pass-00000-001 pass-00000-002 pass-00001 pass-00001-001 pass-00001-002' ] || fail "saved behind groups: $(ls groups)"
"${alone[@]}" --num_passes=2 --push-every=4 --save_dir=groups-plain >groups.log 2>&1 || fail "groups: $(cat groups.log)"
diff -r groups/pass-00001 groups-plain/pass-00001 || fail 'saves behind groups have changed the training'

# one save at a time, also that with which the training began
"${alone[@]}" --num_passes=2 --saving_period_by_batches=10 --save_only_one=1 --save_dir=one >one.log 2>&1 || fail "one: $(cat one.log)"
[ "$(grep -c 'Saving parameters to' one.log)" = 6 ] && [ "$(cd one && echo *)" = pass-00001 ] || fail "one: $(ls one) $(cat one.log)"
diff -r plain/pass-00001 one/pass-00001 || fail 'the only one has other values'
"${alone[@]}" --start_pass=2 --num_passes=3 --save_only_one=1 --save_dir=one >one.log 2>&1 || fail "one: $(cat one.log)"
[ "$(cd one && echo *)" = pass-00002 ] || fail "behind the only one: $(ls one)"

# with servers trainer 0 alone saves, by PaddlePaddle's flags
edl-paddle pserver >pserver.log 2>&1 &
servers=$!
for i in 1 0; do
    edl-paddle train "${small[@]}" --trainer_id=$i --num_passes=3 --save_dir=./served-$i --log_period=0 --saving_period_by_batches=1 >served-$i.log 2>&1 &
    trainers[i]=$!
done
for i in 0 1; do wait "${trainers[i]}" || fail "trainer $i: $(cat served-$i.log)"; done
[ "$(cd served-0 && echo *)" = 'pass-00000 pass-00000-001 pass-00001 pass-00001-001 pass-00002 pass-00002-001' ] || fail "trainer 0 saved $(ls served-0)"
[ ! -e served-1 ] || fail 'trainer 1 saves as well'
for folder in served-0/*; do [ "$(find "$folder" -type f | wc -l)" = 34 ] && [ "$(stat -c %s "$folder/done")" = 169 ] || fail "$folder: $(ls "$folder")"; done
kill $servers
wait $servers || fail "the servers failed: $(cat pserver.log)"

# a tar beside each save: Python's tarfile and our paddle.v2 read the values and shapes of the folder; with one save there is one tar
edl-paddle train --local=1 "${small[@]}" --num_passes=2 --save_dir=tars --save_tar --saving_period_by_batches=1 --log_period=0 >tars.log 2>&1 || fail "tars: $(cat tars.log)"
[ "$(cd tars && echo *.tar)" = 'pass-00000-001.tar pass-00000.tar pass-00001-001.tar pass-00001.tar' ] || fail "tars: $(ls tars)"
edl-trainer model show tars/pass-00001 --config_args width=16,movie_ids=40,user_ids=60 --json >shown.json || fail "model show: $(cat shown.json)"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$EDL_SOURCE_DIR/python /usr/bin/python3 - tars/pass-00001 shown.json <<'PY' || fail 'the tar has other values than the folder'
import io, json, os, sys, tarfile
from edl.paddle import _parameters
folder, shown = sys.argv[1], json.load(open(sys.argv[2]))
names = [p["name"] for p in shown["parameters"]]
assert len(names) == 31
with tarfile.open(folder + ".tar") as tar:
    members = tar.getnames()
    assert sorted(members) == sorted(names + [name + ".protobuf" for name in names]), members
    assert members[1::2] == [name + ".protobuf" for name in members[::2]], members
    for name in names:
        assert tar.extractfile(name).read() == open(os.path.join(folder, name), "rb").read(), name
parameters = _parameters.Parameters.from_tar(open(folder + ".tar", "rb"))
for p in shown["parameters"]:
    rows, columns = (1, p["values"]) if p["name"].endswith("bias") else p["shape"]
    assert parameters.get_shape(p["name"]) == (rows, columns), (p, parameters.get_shape(p["name"]))
again = io.BytesIO()  # a tar that paddle.v2 writes of it has the same members with the same bytes
parameters.to_tar(again)
again.seek(0)
with tarfile.open(fileobj=again) as ours, tarfile.open(folder + ".tar") as tar:
    assert ours.getnames() == tar.getnames()
    assert all(ours.extractfile(n).read() == tar.extractfile(n).read() for n in tar.getnames())
PY
edl-paddle train --local=1 "${small[@]}" --num_passes=2 --save_dir=tars-one --save_tar --save_only_one --log_period=0 >tars.log 2>&1 || fail "tars: $(cat tars.log)"
[ "$(cd tars-one && echo *)" = 'pass-00001 pass-00001.tar' ] || fail "one tar: $(ls tars-one)"
edl-trainer --local --config=resnet_cifar --config_args=depth=8 --data=generated --samples=60 --batch=20 --num_passes=1 --save_dir=pictures --save_tar=1 >tars.log 2>&1 || fail "pictures: $(cat tars.log)"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$EDL_SOURCE_DIR/python /usr/bin/python3 - <<'PY' || fail 'shapes of batch_norm or of filters are not those of paddle.v2'
from edl.paddle import _parameters
parameters = _parameters.Parameters.from_tar(open("pictures/pass-00000.tar", "rb"))
shapes = {name: parameters.get_shape(name) for name in parameters.names()}
assert any(rows == 16 and columns == 3 * 9 for rows, columns in shapes.values()), shapes
assert sum(shape == (1, 16) for shape in shapes.values()) >= 4 and not any(columns == 1 for _, columns in shapes.values()), shapes
PY
