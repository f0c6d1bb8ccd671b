# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: versions side by side, written by one process of a job, the newest whole one of which is loaded."""
from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from . import _tree, _writer
from ._call import NotFound
from ._client import Client
from ._files import LOG
from ._manifest import FOLDER, TREE, File, Manifest, Writer
from ._model import Self
from ._versions import Found, Pending, Store, Taken, store_of
from ._whole import MANIFEST_BYTES_MAX, WRONG, Checkpoint, Digest, Gone, NotWhole, TrainStatus, Versions, check, known, parts_of
from ._writer import CheckpointError, OldWriter

KEEP = 3
EPOCH_MAX = 2**63 - 2  # the one behind it is a number that can be told as well
TRIES = 20
TORCHRUN_GENERATION = "EDL_TORCHRUN_GENERATION"  # set by edl.torch.rendezvous for the workers
Where = Union[str, "os.PathLike[str]"]
DATA = "data/00000"
STAY = "the versions before stay"
REMEDIES = {
    errno.ENOSPC: "make room there, or name another path",
    errno.EDQUOT: "make room there, or name another path",
    errno.EACCES: "let this account write there, or name another path",
    errno.EPERM: "let this account write there, or name another path",
    errno.EROFS: "name a path that can be written to",
    errno.ENOENT: "find out which program removes files there, or name another path",
}


# ---- writing ----


def _files_below(folder: str, without: Optional[str]) -> Iterator[str]:
    """without: a folder that is left out where it is below; the versions are in it."""
    left_out = None if without is None else os.path.realpath(without)
    for at, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if os.path.realpath(os.path.join(at, name)) != left_out]
        for name in folders:
            if os.path.islink(os.path.join(at, name)):
                raise CheckpointError(f"{os.path.join(at, name)} is a link to a folder", "save the folder itself")
        for name in names:
            path = os.path.join(at, name)
            if not os.path.isfile(path):
                raise CheckpointError(f"{path} is no file that can be saved")
            yield os.path.relpath(path, folder)
        folders.sort()


def _raise(error: OSError) -> None:
    raise error


def _write_folder(pending: Pending, folder: str, without: Optional[str]) -> List[File]:
    files = []
    for name in _files_below(folder, without):
        with open(os.path.join(folder, name), "rb") as file:
            digest = Digest(parts_of(file))
            pending.write(f"files/{name}", digest)
        files.append(digest.file(f"files/{name}"))
    return files


def _write_tree(pending: Pending, tree: _tree.Packed) -> List[File]:
    if not tree.blobs:
        return []
    digest = Digest(tree.parts())
    pending.write(DATA, digest)
    return [digest.file(DATA)]


def _read_back(pending: Pending, files: List[File]) -> None:
    """CheckpointError"""
    for file in files:
        try:
            with pending.open(file.name) as source:
                check(source, file)
        except NotWhole as error:
            raise CheckpointError(f"the checkpoint does not read back as it was written: {error}",
                                  f"look at the disk, or name another path; {STAY}") from None


def _check_epoch(epoch: Any) -> None:
    if not isinstance(epoch, int) or isinstance(epoch, bool) or not -1 <= epoch <= EPOCH_MAX:
        raise ValueError(f"the epoch is {epoch!r}: a whole number from -1 to {EPOCH_MAX} is possible, as in edl.TrainStatus(3)")


def _pack_manifest(manifest: Manifest) -> bytes:
    """Bytes that a load reads. CheckpointError."""
    data = manifest.pack()
    if len(data) > MANIFEST_BYTES_MAX:
        raise CheckpointError(f"the names and values of the checkpoint have {len(data)} bytes, {MANIFEST_BYTES_MAX} at most are loaded",
                              "give long values as bytes or arrays, many files as one")
    try:
        Manifest.read(data)
    except WRONG as error:
        raise CheckpointError(f"the checkpoint could not be loaded again: {error}", "save other values") from error
    return data


def _cannot_write(store: Store, error: OSError) -> CheckpointError:
    remedy = REMEDIES.get(error.errno or 0, "name another path")
    return CheckpointError(f"no checkpoint can be written to {store}: {error}", f"{remedy}; {STAY}")


# ---- of this process ----


class Checkpoints:
    """The checkpoints of this process: its status, its right to write."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client
        self._job: Optional[str] = None
        self._versions = Versions()
        self._last: Dict[str, int] = {}  # by store: the number of the version that this process wrote last
        self.status = TrainStatus()  #: of the one that was loaded last
        self.base = 0  #: the epoch of the job's pass 0

    @staticmethod
    def default_path() -> str:
        """The job's own folder for them; alone one below the current folder."""
        named = os.environ.get("EDL_CHECKPOINT_DIR", "")
        return named or os.path.join(os.environ.get("EDL_OUTPUT_DIR", "."), "checkpoint")

    def _name_of_job(self) -> str:
        """The same in all processes of the job, and in no other job: another cluster may have one of the same number."""
        if self._job is None:
            try:
                key = self._client().secret()
            except NotFound:  # a scheduler of before
                me = Self.read()
                key = f"{me.job} {me.job_id}".encode()
            self._job = hmac.new(key, b"edl-checkpoint", hashlib.sha256).hexdigest()[:32]
        return self._job

    def _writer(self) -> Optional[Writer]:
        """None: it is for another process to write."""
        if not os.environ.get("EDL_SOCKET"):
            return _writer.this_process()
        me = Self.read()
        rank, generation = self._rank(me)
        if rank != 0:
            return None
        place = f"{me.role} {me.index}"
        return _writer.this_process(self._name_of_job(), generation, me.incarnation, place, f"job {me.job_id} ({me.job}), {place}")

    def _rank(self, me: Self) -> Tuple[int, int]:
        """The rank, and the generation of its world: of the one that this process has joined, or the torchrun that started it. Else the
        index, and 0."""
        world = self._client().world
        if world is not None:
            return world.rank, world.generation
        rank, generation = os.environ.get("RANK", ""), os.environ.get(TORCHRUN_GENERATION, "")
        return (int(rank), int(generation)) if rank.isdigit() and generation.isdigit() else (me.index, 0)

    def _fenced(self, store: Store, found: Found, writer: Writer) -> Writer:
        """The writer as it counts beside those of the versions. OldWriter; CheckpointError: another program writes as well."""
        manifests = [(version, manifest) for version, manifest in known(store, found) if isinstance(manifest, Manifest)]
        writer = writer.beside(manifest.writer for _, manifest in manifests)
        numbers = {version: number for number, version in found}
        last = self._last.get(str(store))
        for version, manifest in manifests:
            if writer.is_older(manifest.writer):
                raise OldWriter(f"{version} in {store} was written by a newer process of this job "
                                f"(incarnation {manifest.writer.incarnation}, this one is {writer.incarnation})",
                                "end this process")
            if last is not None and numbers[version] > last and writer.is_other_than(manifest.writer):
                raise CheckpointError(f"{manifest.writer.name or 'another program'} has written {version} in {store} meanwhile",
                                      "give each program a path of its own")
        return writer

    def _tidy(self, store: Store, writer: Writer, number: int, keep: int) -> None:
        """The version is written: what remains of others is for the next save, if the store fails now."""
        try:
            store.sweep(writer.incarnation, number)
            for old in self._versions.keep(store, store.versions(), keep):
                store.remove(old, writer.incarnation)
        except Exception as error:  # each store behind fsspec has its own
            LOG.warning("older versions in %s stay until the next save: %s", store, error)

    def _write(self, store: Store, what: Any, status: TrainStatus, writer: Writer, keep: int) -> str:
        is_folder = isinstance(what, (str, os.PathLike))
        tree = _tree.Packed({}, []) if is_folder else _tree.pack(what)
        found = store.versions()
        self._fenced(store, found, writer)
        kind = FOLDER if is_folder else TREE
        _pack_manifest(Manifest(kind, status.epoch, self.base, writer, tree.values))  # before much is written
        self._claim(store, writer)
        pending = store.begin(found[0][0] + 1 if found else 1, writer.incarnation)
        try:
            files = _write_folder(pending, os.fspath(what), store.local()) if is_folder else _write_tree(pending, tree)
            _read_back(pending, files)
            found = store.versions()
            counts = self._fenced(store, found, writer)
            manifest = Manifest(kind, status.epoch, self.base, counts, tree.values, files)
            number = found[0][0] + 1 if found else 1
            version = pending.commit(number, _pack_manifest(manifest))
        except BaseException:
            pending.abort()
            raise
        self._last[str(store)] = number
        with contextlib.suppress(OSError):
            self._versions.is_whole(store, version, manifest)
        self._tidy(store, writer, number, keep)
        return version

    @staticmethod
    def _claim(store: Store, writer: Writer) -> None:
        """This process writes, and no other one. CheckpointError, OldWriter, OSError."""
        local = store.local()
        if local is not None:
            os.makedirs(local, exist_ok=True)
            _writer.claim(local, writer)

    def _store(self, what: Any, path: Optional[Where]) -> Store:
        """CheckpointError: `what` is no folder that can be saved there."""
        store = store_of(self.default_path() if path is None else path)
        if isinstance(what, (str, os.PathLike)):
            local = store.local()
            if not os.path.isdir(what):
                raise CheckpointError(f"{os.fspath(what)} is no folder", "save a folder, or a tree of values")
            if local is not None and os.path.realpath(what) == os.path.realpath(local):
                raise CheckpointError(f"{os.fspath(what)} keeps the checkpoints themselves", "save another folder, or name another path")
        return store

    def save(self, what: Any, status: TrainStatus, path: Optional[Where], keep: int) -> Optional[str]:
        """edl.save_checkpoint"""
        if keep < 1:
            raise ValueError(f"keep is {keep}, 1 at least is possible")
        _check_epoch(status.epoch)
        writer = self._writer()
        if writer is None:
            return None
        store = self._store(what, path)
        for _ in range(TRIES):
            try:
                return self._write(store, what, status, writer, keep)
            except Taken:
                continue
            except OSError as error:
                with contextlib.suppress(OSError):
                    self._fenced(store, store.versions(), writer)  # a newer writer removes what an older one has begun
                raise _cannot_write(store, error) from error
        raise CheckpointError(f"others write to {store} all the time", "give each program a path of its own")

    def check(self, what: Any, path: Optional[Where]) -> None:
        """edl.check_checkpoint"""
        if not isinstance(what, (str, os.PathLike)):
            _pack_manifest(Manifest(TREE, 0, 0, Writer(), _tree.pack(what).values))
        writer = self._writer()
        if writer is None:
            return
        store = self._store(what, path)
        try:
            found = store.versions()
            self._fenced(store, found, writer)
            self._claim(store, writer)
            pending = store.begin(found[0][0] + 1 if found else 1, writer.incarnation)
            try:
                pending.write(DATA, [b"edl.check_checkpoint"])
            finally:
                pending.abort()
        except OSError as error:
            raise _cannot_write(store, error) from error

    def load(self, path: Optional[Where], device: Optional[str]) -> Optional[Checkpoint]:
        """edl.load_checkpoint"""
        store = store_of(self.default_path() if path is None else path)
        for _ in range(TRIES):
            try:
                checkpoint, manifest = self._versions.load(store, device)
                break
            except Gone:
                continue
            except OSError as error:
                raise CheckpointError(f"the checkpoints in {store} cannot be read: {error}",
                                      "try again when they can be; they stay as they are") from error
        else:
            raise CheckpointError(f"the checkpoints in {store} are removed faster than they are read", "keep more of them")
        if checkpoint is None or manifest is None:
            return None
        self.status = checkpoint.status
        same = bool(manifest.writer.job) and bool(os.environ.get("EDL_SOCKET")) and manifest.writer.job == self._name_of_job()
        self.base = manifest.base if same else checkpoint.status.next()
        return checkpoint
