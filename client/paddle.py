#!/bin/sh
''':'
# SPDX-License-Identifier: Apache-2.0
# paddle.py - the command line of PaddlePaddle's cluster scripts: edl run; for sh, and for `python3 paddle.py ...`
edl=$(dirname "$0")/edl
[ -x "$edl" ] || edl=edl
if [ "$*" = --version ]; then "$edl" --version | sed 's/^edl/paddle.py/'; exit; fi
exec "$edl" run "$@"
: <<'pass'
'''
import os
import sys

try:
    os.execvp("edl", ["edl", "run"] + sys.argv[1:])
except OSError as error:
    sys.exit("paddle.py: edl cannot be started: %s\ntry: apt-get install edl-client" % error)
pass
