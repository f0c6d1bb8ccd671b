# SPDX-License-Identifier: Apache-2.0
"""The versions of a checkpoint: which of them are whole, and what the newest of these holds."""
from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Tuple, Union

from . import _tree
from ._files import LOG
from ._manifest import TREE, File, Manifest
from ._versions import MANIFEST, Found, Store
from ._writer import CheckpointError

BLOCK_BYTES = 1 << 20
MANIFEST_BYTES_MAX = 64 << 20
WRONG = (ValueError, TypeError, KeyError, RecursionError)  # what reading something else than a checkpoint raises


class NotWhole(Exception):
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
    tree: Any  #: what was saved; an empty dict where a folder was
    folder: Optional[str]  #: with the files, where a folder was saved; read it before the next save, of a URL while this is held


# ---- the bytes of a file ----


def parts_of(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(BLOCK_BYTES), b"")


class Digest:
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

    def check(self, file: File) -> None:
        """NotWhole: these are not the bytes that were written."""
        if self.size != file.size:
            raise NotWhole(f"{file.name} has {self.size} bytes, {file.size} were written")
        if self._hash.hexdigest() != file.sha256:
            raise NotWhole(f"the digest of {file.name} is not that of its bytes")


def check(source: BinaryIO, file: File, take: Callable[[bytes], Any] = len) -> None:
    """NotWhole. `take` has them before it is known."""
    digest = Digest(parts_of(source))
    for part in digest:
        if digest.size > file.size:
            break
        take(part)
    digest.check(file)


def _check(store: Store, version: str, file: File, take: Callable[[bytes], Any] = len) -> None:
    with store.open(version, file.name) as source:
        check(source, file, take)


# ---- a version ----


def _manifest(store: Store, version: str) -> Manifest:
    """NotWhole, FileNotFoundError."""
    try:
        with store.open(version, MANIFEST) as file:
            return Manifest.read(file.read(MANIFEST_BYTES_MAX))
    except WRONG as error:
        raise NotWhole(str(error)) from None


def _into(source: BinaryIO, data: bytearray) -> Iterator[memoryview]:
    """Reads as many bytes, in parts."""
    left = memoryview(data)
    while left:
        n = source.readinto(left[:BLOCK_BYTES])  # type: ignore[attr-defined]
        if not n:
            return
        yield left[:n]
        left = left[n:]


def _read_blobs(store: Store, version: str, manifest: Manifest) -> List[bytearray]:
    """Each in memory of its own, as they are read."""
    sizes = _tree.sizes(manifest.values)
    if sum(sizes) != sum(file.size for file in manifest.files) or len(manifest.files) > 1:
        raise NotWhole("its data are not those of its tree")
    blobs: List[bytearray] = []
    for file in manifest.files:
        if store.facts(version, file.name)[0] != file.size:  # before memory is taken for what a manifest says
            raise NotWhole(f"{file.name} has {store.facts(version, file.name)[0]} bytes, {file.size} were written")
        with store.open(version, file.name) as source:

            def all_parts() -> Iterator[Any]:
                for size in sizes:
                    blobs.append(bytearray(size))
                    yield from _into(source, blobs[-1])

            digest = Digest(all_parts())
            for _ in digest:
                pass
            digest.check(file)
    return blobs or [bytearray(0) for _ in sizes]


def _read_tree(store: Store, version: str, manifest: Manifest, device: Optional[str]) -> Any:
    try:
        if manifest.format == 1:
            return _read_tree_1(store, version, manifest)
        return _tree.unpack(manifest.values, _read_blobs(store, version, manifest), device)
    except WRONG as error:
        raise NotWhole(f"its tree is none: {error}") from None


def _read_tree_1(store: Store, version: str, manifest: Manifest) -> Dict[str, Any]:
    tree = dict(manifest.values)
    for file in manifest.files:
        data = bytearray()
        _check(store, version, file, data.extend)
        tree[file.of] = _tree.unpack_1(file.kind, bytes(data))
    return tree


def _read_folder(store: Store, version: str, manifest: Manifest) -> Tuple[str, Optional[str]]:
    """Where the files are; and the folder that was made for them, where one had to be."""
    at = store.path(version, "files")
    if at is not None:
        for file in manifest.files:
            _check(store, version, file)
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


def _read(store: Store, version: str, manifest: Manifest, device: Optional[str]) -> Checkpoint:
    status = TrainStatus(manifest.epoch)
    if manifest.kind == TREE:
        return Checkpoint(status, version, _read_tree(store, version, manifest, device), None)
    folder, temporary = _read_folder(store, version, manifest)
    checkpoint = Checkpoint(status, version, {}, folder)
    if temporary is not None:
        weakref.finalize(checkpoint, shutil.rmtree, temporary, ignore_errors=True)
    return checkpoint


# ---- all versions ----


class Gone(Exception):
    """A version was removed while it was read: there are newer ones."""


def known(store: Store, found: Found) -> Iterator[Tuple[str, Union[Manifest, str]]]:
    """Each version with its manifest, or with why it has none."""
    for _, version in found:
        try:
            yield version, _manifest(store, version)
        except (NotWhole, OSError) as error:
            if not store.exists(version):
                continue
            yield version, str(error)


def _not_replaced(store: Store, found: Found) -> List[Tuple[str, Union[Manifest, str]]]:
    """The same. A version whose writer was replaced before it wrote has this for a reason."""
    versions = list(known(store, found))
    ret: List[Tuple[str, Union[Manifest, str]]] = []
    for i, (version, manifest) in enumerate(versions):
        older = [other.writer for _, other in versions[i + 1:] if isinstance(other, Manifest)]
        if isinstance(manifest, Manifest) and any(manifest.writer.is_older(writer) for writer in older):
            ret.append((version, "its writer was replaced before it wrote"))
        else:
            ret.append((version, manifest))
    return ret


class Versions:
    """The versions of all stores, as this process knows them: what was read is known until a file looks otherwise."""

    def __init__(self) -> None:
        self._known: Dict[Tuple[str, str], Tuple[Any, Optional[str]]] = {}  # facts of files; why it is not whole, None: it is

    @staticmethod
    def _facts(store: Store, version: str, manifest: Manifest) -> Any:
        return [store.facts(version, name) for name in [MANIFEST] + [file.name for file in manifest.files]]

    def is_whole(self, store: Store, version: str, manifest: Manifest) -> None:
        """This process has just written it, and read it back."""
        self._known[str(store), version] = self._facts(store, version, manifest), None

    def _flaw(self, store: Store, version: str, manifest: Manifest) -> Optional[str]:
        """Why it is not whole; None: it is. It is read, unless that is known."""
        try:
            facts = self._facts(store, version, manifest)
            before = self._known.get((str(store), version))
            if before is not None and before[0] == facts:
                return before[1]
            flaw = None
            try:
                for file in manifest.files:
                    _check(store, version, file)
            except NotWhole as error:
                flaw = str(error)
            self._known[str(store), version] = facts, flaw
            return flaw
        except OSError as error:  # it may be there again the next time
            return str(error)

    def keep(self, store: Store, found: Found, keep: int) -> Iterator[str]:
        """Those behind the last `keep` that are whole. Others do not count, and go with what is older than all that count."""
        left = keep
        if len(found) <= keep:
            return
        for version, manifest in _not_replaced(store, found):
            if left == 0:
                self._known.pop((str(store), version), None)
                yield version
                continue
            flaw = manifest if isinstance(manifest, str) else self._flaw(store, version, manifest)
            left -= flaw is None

    def load(self, store: Store, device: Optional[str]) -> Tuple[Optional[Checkpoint], Optional[Manifest]]:
        """The newest whole one. CheckpointError, OSError, Gone."""
        found = _not_replaced(store, store.versions())
        for version, manifest in found:
            facts = None
            try:
                if isinstance(manifest, str):
                    raise NotWhole(manifest)
                facts = self._facts(store, version, manifest)
                checkpoint = _read(store, version, manifest, device)
                self._known[str(store), version] = facts, None
                return checkpoint, manifest
            except (NotWhole, OSError) as error:
                if facts is not None and isinstance(error, NotWhole):
                    self._known[str(store), version] = facts, str(error)
                if not store.exists(version):
                    raise Gone from None
                LOG.warning("the checkpoint %s in %s is passed over: %s", version, store, error)
        if found:
            n = sum(isinstance(manifest, Manifest) for _, manifest in found)
            raise CheckpointError(f"none of the {len(found)} checkpoints in {store} is whole",
                                  f"to begin anew move them away; {n} have a manifest")
        return None, None
