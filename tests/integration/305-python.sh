#!/usr/bin/env bash
# The Python module against an agent that says whatever the test wants; what it promises
# as types is so, where a checker is there to say.
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
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD "$python" -W error -m unittest tests/test_edl.py tests/test_sampler.py
if command -v mypy >/dev/null; then mypy --strict --python-version 3.9 --cache-dir /dev/null edl; fi
