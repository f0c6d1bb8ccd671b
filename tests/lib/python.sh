# shellcheck shell=bash
# python.sh - a test of programs in Python, without a cluster: a folder of its own in $work, removed at the end, and the module edl
#
#   . "$EDL_SOURCE_DIR/tests/lib/python.sh"     ends with 77 where no Python 3.9 is; $python as in await.sh
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
set -eu
PATH=${EDL_BUILD_DIR:?the folder of the built programs}:$PATH
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || {
    echo 'there is no Python 3.9'
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$EDL_SOURCE_DIR/python EDL_PYTHON=$python TMPDIR=$work/tmp
mkdir "$work/tmp"
