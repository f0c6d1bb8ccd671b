# SPDX-License-Identifier: Apache-2.0
"""The writers of checkpoints: who they are, which of two is the older one, and that one process at a time writes to a folder.

The one that writes holds a lock on the file NAME there, which tells its name to those that come later. The kernel ends the
lock with the process, also on another machine. A newer process of the same job does not wait for it: the older one may
stand still. It puts a file of its own into the place, and the older one finds that when it goes on.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import socket
import sys
import threading
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, Optional, Tuple

from ._call import Error
from ._files import LOG
from ._model import number, text

NAME = ".writer"
TEXT_MAX = 4096
NAME_MAX = 200
TRIES = 20
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF)


class CheckpointError(Error):
    """A checkpoint cannot be written, or there is none that is whole."""


class OldWriter(CheckpointError):
    """A newer process of the job has written meanwhile: this one should end."""


@dataclass(frozen=True)
class Writer:
    """The process that writes. Of two of one place in a job the greater incarnation is the newer one, else the greater fence."""

    job: str = ""  #: names a job, without telling its secret; "" alone
    generation: int = 0  #: of its world, 0 where it joined none
    incarnation: int = 0
    place: str = ""  #: role and index; "" in manifests of before
    name: str = ""  #: for people; "" in manifests of before
    id: str = ""  #: of the process, which no other one has; "" in manifests of before

    @property
    def fence(self) -> Tuple[int, int]:
        return self.generation, self.incarnation

    def is_older(self, other: "Writer") -> bool:
        if not self.job or self.job != other.job:
            return False
        if self.place and self.place == other.place:
            return self.incarnation < other.incarnation
        return self.fence < other.fence

    def is_other_than(self, other: "Writer") -> bool:
        """Whether they are two programs, neither of which takes the place of the other one."""
        return self.id != other.id and (not self.job or self.job != other.job)

    def beside(self, others: Iterable["Writer"]) -> "Writer":
        """The one that counts where these have written: a process that has joined no world yet, and started after all of
        them, is newer than each of their worlds."""
        same = [other for other in others if self.job and self.job == other.job]
        if self.generation or not same or any(other.incarnation > self.incarnation for other in same):
            return self
        return replace(self, generation=max(other.generation for other in same))

    def told(self) -> Dict[str, Any]:
        return {"job": self.job, "generation": self.generation, "incarnation": self.incarnation, "place": self.place,
                "name": self.name, "id": self.id}

    @classmethod
    def read(cls, json: Any) -> "Writer":
        """ValueError, TypeError, KeyError"""
        name = "".join(c if c.isprintable() else "?" for c in text(json.get("name", ""))[:NAME_MAX])
        return cls(text(json["job"]), number(json["generation"]), number(json["incarnation"]), text(json.get("place", "")),
                   name, text(json.get("id", "")))


def this_process(job: str = "", generation: int = 0, incarnation: int = 0, place: str = "", of_job: str = "") -> Writer:
    """of_job: the job and the place as people know them; "" alone"""
    program = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] else sys.executable) or "python"
    name = f"{of_job + ', ' if of_job else ''}process {os.getpid()} ({program}) on {socket.gethostname()}"
    return Writer(job, generation, incarnation, place, name[:NAME_MAX], _id)


# ---- one at a time ----

_id = secrets.token_hex(8)
_held: Dict[str, Tuple[int, Writer]] = {}  # by folder: a descriptor of its file, and who this process said that it is
_lock = threading.Lock()


def _forked() -> None:
    """A child is another process: the lock stays its parent's."""
    global _id, _lock
    _id, _lock = secrets.token_hex(8), threading.Lock()
    for fd, _ in _held.values():
        with contextlib.suppress(OSError):
            os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_forked)


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _try_lock(fd: int) -> Optional[bool]:
    """None: this file system has no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return None
    return True


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except PermissionError:  # of another account
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)


def _holder(fd: int) -> Writer:
    try:
        return Writer.read(json.loads(os.pread(fd, TEXT_MAX, 0)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Writer()


def _refuse_unless_newer(root: str, holder: Writer, writer: Writer) -> None:
    """OldWriter, CheckpointError"""
    who = holder.name or "another process"
    same_life = (holder.place, holder.incarnation) == (writer.place, writer.incarnation)
    if holder.job and holder.job == writer.job and not same_life:
        if writer.beside([holder]).is_older(holder):
            raise OldWriter(f"a newer process of this job writes the checkpoints in {root}: {who} (incarnation "
                            f"{holder.incarnation}, this one is {writer.incarnation})", "end this process")
        return
    raise CheckpointError(f"{who} writes the checkpoints in {root}",
                          "one process at a time does: save in that one, end it, or name another path")


def _put(root: str, writer: Writer) -> None:
    """A file of this process's own into the place. FileNotFoundError: another one was quicker."""
    aside = os.path.join(root, f"{NAME}-{secrets.token_hex(8)}")
    fd = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        os.write(fd, json.dumps(writer.told()).encode())
        if _try_lock(fd) is None:
            LOG.warning("whether another program writes the checkpoints in %s is seen late: it has no locks", root)
        os.replace(aside, os.path.join(root, NAME))
    except BaseException:
        os.close(fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    before = _held.get(root)
    _held[root] = fd, writer
    if before is not None:
        os.close(before[0])
    for name in os.listdir(root):  # of processes that were killed here
        if name.startswith(f"{NAME}-"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(root, name))


def _take(root: str, writer: Writer, was_held: bool) -> bool:
    """False: another one was quicker, look again."""
    path = os.path.join(root, NAME)
    fd = _open(path)
    try:
        locked = _try_lock(fd)
        if not _is_at(fd, path):
            return False
        if locked is False or (locked is None and was_held):
            _refuse_unless_newer(root, _holder(fd), writer)
        _put(root, writer)
    except FileNotFoundError:
        return False
    finally:
        os.close(fd)
    return True


def claim(folder: str, writer: Writer) -> None:
    """The folder, which is there, is this process's to write to, until it ends or a newer one of its job comes.
    OldWriter, CheckpointError, OSError."""
    root = os.path.realpath(folder)
    with _lock:
        was_held = root in _held
        for _ in range(TRIES):
            before = _held.get(root)
            if before is not None and not _is_at(before[0], os.path.join(root, NAME)):
                os.close(_held.pop(root)[0])
            elif before is not None:
                if before[1] != writer:
                    _put(root, writer)
                return
            if _take(root, writer, was_held):
                return
    raise CheckpointError(f"the writers of the checkpoints in {root} change all the time", "give each program a path of its own")
