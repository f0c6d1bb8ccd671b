# SPDX-License-Identifier: Apache-2.0
"""One process of an incarnation takes tasks: a second one would be given the tasks that the first one holds.

The agent knows an incarnation and not its processes. So the one that takes tasks holds a lock on a byte of a file in
the output folder, which is the job's own. The byte stands for role, index and incarnation. The kernel ends the lock with
the process, and gives no child a share in it.
"""
from __future__ import annotations

import fcntl
import os
from typing import Optional

from ._call import Error
from ._files import LOG

NAME = ".edl-reader"

_claimed: Optional[int] = None  # the process that holds the lock: this one or, after a fork, its parent


def _byte() -> int:
    who = b"".join(os.environb.get(name, b"") + b" " for name in (b"EDL_JOB_ID", b"EDL_ROLE", b"EDL_INDEX", b"EDL_INCARNATION"))
    number = 0xcbf29ce484222325  # FNV-1a, as libedl/one_reader.c has it
    for byte in who:
        number = (number ^ byte) * 0x100000001b3 % 2**64
    return number % 2**62


def claim() -> None:
    """For this process until it ends. Error: another process of this incarnation takes the tasks."""
    global _claimed
    folder = os.environ.get("EDL_OUTPUT_DIR", "")
    if not folder or _claimed == os.getpid():
        return
    try:  # it is never closed: that would end the lock
        file = os.open(os.path.join(folder, NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        LOG.warning("whether other processes read the records of this one cannot be seen: %s: %s", folder, error.strerror)
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte())
        _claimed = os.getpid()
    except (BlockingIOError, PermissionError):
        os.close(file)
        raise Error("another process, a parent or a worker of this one, takes the records of this process of the job",
                    "read them in one process (a DataLoader with num_workers=0), and hand them to the others") from None
    except OSError as error:  # a file system without locks
        os.close(file)
        LOG.warning("whether other processes read the records of this one cannot be seen: %s: %s", folder, error.strerror)
