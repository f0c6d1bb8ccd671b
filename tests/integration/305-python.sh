#!/usr/bin/env bash
# The Python module against an agent that says whatever the test wants, its data files and its checkpoints; what it promises
# as types is so, where a checker is there to say. EDL_KILLS: how often a writer of checkpoints is killed.
# Takes 32 s: many processes of Python, and writers that are killed
set -eu
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
cd "$EDL_SOURCE_DIR/python"
[ -n "$python" ] || {
    echo 'there is no python3'
    exit 77
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || {
    echo "the module needs Python 3.9, this is $("$python" --version)"
    exit 77
}
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD
for tests in 'edl sampler jobserver trial' 'recordio records records_job dataset checkpoint checkpoint_store checkpoint_keep checkpoint_tree records_fork' checkpoint_kill; do
    # shellcheck disable=SC2046,SC2086
    "$python" -W error -m unittest $(printf 'tests/test_%s.py ' $tests)
done
if command -v mypy >/dev/null; then mypy --strict --python-version 3.9 --cache-dir /dev/null edl; fi
