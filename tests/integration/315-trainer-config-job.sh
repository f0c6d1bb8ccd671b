#!/usr/bin/env bash
# A job whose trainers have a trainer_config.py: each of them runs it for the network, and the saved model tells its shapes.
# Runs by twos: trains
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
