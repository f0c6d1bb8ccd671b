#!/usr/bin/env bash
# Jobs whose trainers have a trainer_config.py. Of one, each trainer runs it for the network, and the saved model tells its shapes. The
# other is that of PaddlePaddle's run.sh: a folder with the configuration, its provider and its data goes to every host.
# Takes 16 s: two jobs train, each of whose trainers runs Python for its network
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/ports.sh"
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$EDL_SOURCE_DIR/python
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || {
    echo 'there is no Python 3.9'
    exit 77
}
cluster_start --nodes 1
cp "$EDL_SOURCE_DIR"/tests/lib/recommendation/*.py "$work"
cd "$work"
"$python" make_meta.py
"$python" -m edl.trainer_config trainer_config.py --out made >/dev/null
mv made/data corpus
training_job rates 2 2 4 '--config=trainer_config.py --config_args=width=8 --batch=50 --task-records 100' |
    sed "s|entrypoint: exec |entrypoint: cd $work \&\& PYTHONPATH=$PYTHONPATH EDL_PYTHON=$python exec |" >job.yaml
edl submit job.yaml
edl wait rates --timeout 900 || fail "rates: $(job_field rates .reason)"
exact_counts rates
before=$(job_field rates .metrics.cost_before) after=$(job_field rates .metrics.cost_after)
awk -v before="$before" -v after="$after" 'BEGIN { exit !(before > 0 && after < 0.95 * before) }' || fail "cost $before before, $after after"
model=$(job_field rates .metrics.model)
edl model show "$model" --json >model.json || fail "edl model show: $(cat model.json)"
holds '(.parameters | length) == 31 and .problems == [] and all(.parameters[]; .shape != null)' <model.json || fail "edl model show: $(cat model.json)"

# the flags of a run.sh; the names go along, as no package is installed here
mkdir package paddle
cp -- *.py meta.bin train.* test.* package
cp -r "$PYTHONPATH/edl" package
node=$(api GET /nodes | jq -r '.nodes[0].name')
printf 'HOSTS = ["root@%s"]\nROOT_DIR = "%s/paddle"\nPADDLE_NIC = "lo"\nPADDLE_PORT = %s\nPADDLE_PORTS_NUM = 1\nPADDLE_PORTS_NUM_FOR_SPARSE = 2\n' "$node" "$work" "$port" >conf.py
edl-paddle --job_dispatch_package=./package --dot_period=10 --ports_num_for_sparse=2 --log_period=1 --num_passes=2 --trainer_count=4 --saving_period=1 \
    --local=0 --config=./trainer_config.py --config_args=width=8 --save_dir=./output --use_gpu=0 >out 2>err || fail "edl-paddle: $(cat out err)"
folder=$(sed -n 's/.*, in \(.*\/JOB[0-9]\{14\}\)$/\1/p' err)
saved=$folder/output/pass-00001
[ "$(find "$saved" -type f | wc -l)" = 34 ] || fail "the second pass: $(ls "$saved") $(cat out err)"
cmp trainer_config.py "$saved/trainer_config.py" || fail 'the configuration is not beside its parameters'
grep 'Pass=1 Batch=1 samples=900 AvgCost=' "$folder/log/train.log" >/dev/null || fail "train.log is $(cat "$folder/log/train.log")"
cluster_stop
