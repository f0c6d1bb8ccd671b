#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""paddle.py - the command line of PaddlePaddle's cluster scripts, for `python3 paddle.py ...`: edl run"""
import os
import sys

try:
    os.execvp("edl", ["edl", "run"] + sys.argv[1:])
except OSError as error:
    sys.exit("paddle.py: edl cannot be started: %s\ntry: apt-get install edl-client" % error)
