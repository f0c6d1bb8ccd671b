# SPDX-License-Identifier: Apache-2.0
"""python3 -m edl.paddle PROGRAM [ARGUMENT]...: a program of paddle.v2, with edl-trainer to train."""
from __future__ import annotations

import os
import runpy
import sys

from . import ConfigError, install
from ._python2 import python2_error


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    program = sys.argv[1]
    if not os.path.isfile(program):
        print(f"there is no program {program}", file=sys.stderr)
        return 2
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    install(2)
    try:
        runpy.run_path(program, run_name="__main__")
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # pylint: disable=broad-except
        old = python2_error(error)
        if old is None:
            raise
        print(old, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
