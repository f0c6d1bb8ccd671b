# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: versions side by side, written by one process of a job, the newest whole one of which is loaded."""
from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _tree
from ._call import Error, NotFound
from ._client import Client
from ._files import LOG
from ._manifest import FOLDER, TREE, File, Manifest, Writer
from ._model import Self
from ._versions import MANIFEST, Found, Pending, Store, Taken, store_of

KEEP = 3
BLOCK_BYTES = 1 << 20
MANIFEST_BYTES_MAX = 64 << 20
EPOCH_MAX = 2**63 - 2  # the one behind it is a number that can be told as well
TRIES = 20
Where = Union[str, "os.PathLike[str]"]


class CheckpointError(Error):
    """A checkpoint cannot be written, or there is none that is whole."""


class OldWriter(CheckpointError):
    """A newer process of the job has written meanwhile: this one should end."""


class _NotWhole(Exception):
    """Why a version is passed over."""


@dataclass(frozen=True)
class TrainStatus:
    """How far a training is: the epoch that was completed last, -1 none."""

    epoch: int = -1

    def next(self) -> int:
        """The epoch that comes next."""
        return self.epoch + 1


@dataclass
class Checkpoint:
    """A version that was loaded."""

    status: TrainStatus
    version: str  #: its name
    tree: Dict[str, Any]  #: the values that were saved, by name; empty where a folder was saved
    folder: Optional[str]  #: with the files, where a folder was saved; read it before the next save, of a URL while this is held


def _parts(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(BLOCK_BYTES), b"")


class _Digest:
    """Passes parts on, and knows their size and digest."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._hash = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            self._hash.update(part)
            self.size += len(part)
            yield part

    def file(self, name: str, of: str = "", kind: str = "") -> File:
        return File(name, self.size, self._hash.hexdigest(), of, kind)


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
            digest = _Digest(_parts(file))
            pending.write(f"files/{name}", digest)
        files.append(digest.file(f"files/{name}"))
    return files


def _write_tree(pending: Pending, files: List[Tuple[str, str, Callable[[], bytes]]]) -> List[File]:
    ret = []
    for i, (of, kind, data) in enumerate(files):
        digest = _Digest(iter([data()]))
        pending.write(f"data/{i:05d}", digest)
        ret.append(digest.file(f"data/{i:05d}", of, kind))
    return ret


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
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(f"the checkpoint could not be loaded again: {error}", "save other values") from error
    return data


def _tidy(store: Store, writer: Writer, number: int, keep: int) -> None:
    """The version is written: what remains of others is for the next save, if the store fails now."""
    try:
        store.sweep(writer.incarnation, number)
        for _, old in store.versions()[keep:]:
            store.remove(old, writer.incarnation)
    except Exception as error:  # each store behind fsspec has its own
        LOG.warning("older versions in %s stay until the next save: %s", store, error)


# ---- reading ----


def _manifest(store: Store, version: str) -> Manifest:
    """_NotWhole, FileNotFoundError."""
    try:
        with store.open(version, MANIFEST) as file:
            return Manifest.read(file.read(MANIFEST_BYTES_MAX))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _NotWhole(str(error)) from None


def _check(store: Store, version: str, file: File, take: Callable[[bytes], Any]) -> None:
    with store.open(version, file.name) as source:
        digest = _Digest(_parts(source))
        for part in digest:
            if digest.size > file.size:
                break
            take(part)
    if digest.size != file.size:
        raise _NotWhole(f"{file.name} has {digest.size} bytes, {file.size} were written")
    if digest.file(file.name).sha256 != file.sha256:
        raise _NotWhole(f"the digest of {file.name} is not that of its bytes")


def _read_tree(store: Store, version: str, manifest: Manifest) -> Dict[str, Any]:
    tree = dict(manifest.values)
    for file in manifest.files:
        data = bytearray()
        _check(store, version, file, data.extend)
        try:
            tree[file.of] = _tree.unpack(file.kind, bytes(data))
        except ValueError as error:
            raise _NotWhole(f"{file.name}: {error}") from None
    return tree


def _read_folder(store: Store, version: str, manifest: Manifest) -> Tuple[str, Optional[str]]:
    """Where the files are; and the folder that was made for them, where one had to be."""
    at = store.path(version, "files")
    if at is not None:
        for file in manifest.files:
            _check(store, version, file, len)
        return at, None
    temporary = tempfile.mkdtemp(prefix="edl-checkpoint-")
    try:
        for file in manifest.files:
            path = os.path.join(temporary, file.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as copy:
                _check(store, version, file, copy.write)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return os.path.join(temporary, "files"), temporary


def _read(store: Store, version: str, manifest: Manifest) -> Checkpoint:
    status = TrainStatus(manifest.epoch)
    if manifest.kind == TREE:
        return Checkpoint(status, version, _read_tree(store, version, manifest), None)
    folder, temporary = _read_folder(store, version, manifest)
    checkpoint = Checkpoint(status, version, {}, folder)
    if temporary is not None:
        weakref.finalize(checkpoint, shutil.rmtree, temporary, ignore_errors=True)
    return checkpoint


class _Gone(Exception):
    """A version was removed while it was read: there are newer ones."""


def _known(store: Store, found: Found) -> Iterator[Tuple[str, Union[Manifest, str]]]:
    """Each version with its manifest, or with why it has none."""
    for _, version in found:
        try:
            yield version, _manifest(store, version)
        except (_NotWhole, OSError) as error:
            if not store.exists(version):
                continue
            yield version, str(error)


def _load(store: Store) -> Tuple[Optional[Checkpoint], Optional[Manifest]]:
    found = list(_known(store, store.versions()))
    writers = [manifest.writer for _, manifest in found if isinstance(manifest, Manifest)]
    for i, (version, manifest) in enumerate(found):
        older = [other.writer for _, other in found[i + 1:] if isinstance(other, Manifest)]
        try:
            if isinstance(manifest, str):
                raise _NotWhole(manifest)
            if any(manifest.writer.is_older(writer) for writer in older):
                raise _NotWhole("its writer was replaced before it wrote")
            return _read(store, version, manifest), manifest
        except (_NotWhole, OSError) as error:
            if not store.exists(version):
                raise _Gone from None
            LOG.warning("the checkpoint %s in %s is passed over: %s", version, store, error)
    if found:
        raise CheckpointError(f"none of the {len(found)} checkpoints in {store} is whole",
                              f"to begin anew move them away; {len(writers)} have a manifest")
    return None, None


# ---- of this process ----


class Checkpoints:
    """The checkpoints of this process: its status, its right to write."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client
        self._job: Optional[str] = None
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
            self._job = hmac.new(key, b"edl checkpoint", hashlib.sha256).hexdigest()[:32]
        return self._job

    def _writer(self) -> Optional[Writer]:
        """None: it is for another process to write."""
        if not os.environ.get("EDL_SOCKET"):
            return Writer()
        me = Self.read()
        world = self._client().world
        if (me.index if world is None else world.rank) != 0:
            return None
        return Writer(self._name_of_job(), 0 if world is None else world.generation, me.incarnation, f"{me.role} {me.index}")

    @staticmethod
    def _fenced(store: Store, found: Found, writer: Writer) -> Writer:
        """The writer as it counts beside those of the versions. OldWriter."""
        known = [(version, manifest) for version, manifest in _known(store, found) if isinstance(manifest, Manifest)]
        writer = writer.beside(manifest.writer for _, manifest in known)
        for version, manifest in known:
            if writer.is_older(manifest.writer):
                raise OldWriter(f"{version} in {store} was written by a newer process of this job "
                                f"(incarnation {manifest.writer.incarnation}, this one is {writer.incarnation})",
                                "end this process")
        return writer

    def _write(self, store: Store, what: Any, status: TrainStatus, writer: Writer, keep: int) -> str:
        values, files = ({}, []) if isinstance(what, (str, os.PathLike)) else _tree.pack(what)
        found = store.versions()
        self._fenced(store, found, writer)
        number = found[0][0] + 1 if found else 1
        _pack_manifest(Manifest(TREE, status.epoch, self.base, writer, values))  # before much is written
        pending = store.begin(number, writer.incarnation)
        try:
            if isinstance(what, (str, os.PathLike)):
                kind, written = FOLDER, _write_folder(pending, os.fspath(what), store.local())
            else:
                kind, written = TREE, _write_tree(pending, files)
            found = store.versions()
            counts = self._fenced(store, found, writer)
            manifest = _pack_manifest(Manifest(kind, status.epoch, self.base, counts, values, written))
            number = found[0][0] + 1 if found else 1
            version = pending.commit(number, manifest)
        except BaseException:
            pending.abort()
            raise
        _tidy(store, writer, number, keep)
        return version

    def save(self, what: Any, status: TrainStatus, path: Optional[Where], keep: int) -> Optional[str]:
        """edl.save_checkpoint"""
        if keep < 1:
            raise ValueError(f"keep is {keep}, 1 at least is possible")
        _check_epoch(status.epoch)
        if isinstance(what, (str, os.PathLike)):
            if not os.path.isdir(what):
                raise CheckpointError(f"{os.fspath(what)} is no folder", "save a folder, or a dict of names")
        elif not isinstance(what, Mapping):
            raise TypeError(f"{type(what).__name__} cannot be saved: name a folder, or give a dict of names")
        writer = self._writer()
        if writer is None:
            return None
        store = store_of(self.default_path() if path is None else path)
        local = store.local()
        if isinstance(what, (str, os.PathLike)) and local is not None and os.path.realpath(what) == os.path.realpath(local):
            raise CheckpointError(f"{os.fspath(what)} keeps the checkpoints themselves", "save another folder, or name another path")
        for _ in range(TRIES):
            try:
                return self._write(store, what, status, writer, keep)
            except Taken:
                continue
            except OSError as error:
                with contextlib.suppress(OSError):
                    self._fenced(store, store.versions(), writer)  # a newer writer removes what an older one has begun
                raise CheckpointError(f"no checkpoint can be written to {store}: {error}",
                                      "make room there, or name another path; the versions before stay") from error
        raise CheckpointError(f"others write to {store} all the time", "give each program a path of its own")

    def load(self, path: Optional[Where]) -> Optional[Checkpoint]:
        """edl.load_checkpoint"""
        store = store_of(self.default_path() if path is None else path)
        for _ in range(TRIES):
            try:
                checkpoint, manifest = _load(store)
                break
            except _Gone:
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
