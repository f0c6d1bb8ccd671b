# SPDX-License-Identifier: Apache-2.0
"""By what a file of a data set is known: its size, and when it was changed last. libedl/record_file.c has the same.

Who cuts a file into tasks tells both with each of its chunks, so that who opens it first on another machine knows
another file.
"""
from __future__ import annotations

import datetime
import os
from typing import Tuple

from ._call import Error
from ._model import Chunk

AGAIN = "end the job and submit it again"
_SECOND_US = 10**6


class Changed(Error):
    """A file is another one than when it was cut into tasks, or when this process read it first."""


def facts(found: os.stat_result) -> Tuple[int, int]:
    """Size and time, which is never 0: that would say that it is not told."""
    return found.st_size, max(found.st_mtime_ns // 1000, 1)


def _is_same_time(one: int, other: int) -> bool:
    """A copy may have lost the part of a second, by tar say."""
    if one % _SECOND_US == 0 or other % _SECOND_US == 0:
        return one // _SECOND_US == other // _SECOND_US
    return one == other


def _shown(time_us: int) -> str:
    try:
        when = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=time_us)
    except OverflowError:  # of a file system that says anything
        return f"{time_us} us after 1970"
    return when.isoformat(timespec="microseconds") + "Z"


def check(chunk: Chunk, found: os.stat_result) -> None:
    """That the file is the one that was cut. Changed."""
    size, time_us = facts(found)
    if chunk.mtime_us and not (size == chunk.size and _is_same_time(time_us, chunk.mtime_us)):
        raise Changed(f"{chunk.path} has changed: it had {chunk.size} bytes, of {_shown(chunk.mtime_us)}, when the job cut it into "
                      f"tasks, and has {size}, of {_shown(time_us)}",
                      f"{AGAIN}; a copy on another machine needs the time of the file: cp -p, rsync -t")
