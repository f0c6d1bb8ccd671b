# SPDX-License-Identifier: Apache-2.0
"""python3 -m edl.jobserver server|client"""
import sys

from . import _client, _server

PROGRAMS = {"server": _server.main, "client": _client.main}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit("usage: python3 -m edl.jobserver server|client [--help]")
    sys.exit(PROGRAMS[sys.argv[1]](sys.argv[2:]))
