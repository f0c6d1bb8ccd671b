# SPDX-License-Identifier: Apache-2.0
"""Where versions of a checkpoint are kept: a folder of this machine, or a URL of what fsspec knows.

A version is a folder of files, one of which, MANIFEST, lists the others. In a folder it is written aside, synced, and
renamed when it is whole. Stores of URLs have no such rename: there the manifest is written last, and a folder without
one is no version.
"""
from __future__ import annotations

import errno
import importlib
import os
import re
import secrets
import shutil
import stat
from typing import Any, BinaryIO, Iterable, List, Optional, Protocol, Set, Tuple

from ._call import Error
from ._sync import sync_folder

MANIFEST = "manifest"
CHANGES = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "updated", "created")  # as stores name them
NAME = re.compile(r"ckpt-([0-9]{10})(?:-[0-9a-f]{16})?")
ASIDE = re.compile(r"\.(?:tmp|old)-([0-9]+)-.*")
Found = List[Tuple[int, str]]  # number and name of each version, the newest first


class Taken(Error):
    """There is a version of this number."""


class Pending(Protocol):
    """A version that is being written."""

    def write(self, name: str, parts: Iterable[bytes]) -> None:
        ...

    def open(self, name: str) -> Any:
        """What was written, as the store has it."""

    def commit(self, number: int, manifest: bytes) -> str:
        ...

    def abort(self) -> None:
        ...


class Store(Protocol):
    """Versions below one path."""

    def local(self) -> Optional[str]:
        """The folder of this machine that keeps them; None: they are elsewhere."""

    def versions(self) -> Found:
        ...

    def exists(self, version: str) -> bool:
        """OSError: the store does not say; then nothing may be concluded, and nothing removed."""

    def open(self, version: str, name: str) -> Any:
        ...

    def facts(self, version: str, name: str) -> Tuple[Any, ...]:
        """The size of a file, and what else is another when its bytes are. OSError."""

    def path(self, version: str, name: str) -> Optional[str]:
        ...

    def begin(self, number: int, incarnation: int) -> Pending:
        ...

    def remove(self, version: str, incarnation: int) -> None:
        ...

    def sweep(self, incarnation: int, newest: int) -> None:
        ...


def _found(names: Iterable[str]) -> Found:
    matches = (NAME.fullmatch(name) for name in names)
    return sorted(((int(match.group(1)), match.group(0)) for match in matches if match is not None), reverse=True)


# ---- a folder ----


def _write_file(path: str, parts: Iterable[bytes]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[os.write(fd, left):]
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)  # it is read back from the disk, where that is possible
    finally:
        os.close(fd)


def _check_manifest(source: Any, manifest: bytes) -> None:
    """OSError: it is not what was written."""
    with source as file:
        if file.read(len(manifest) + 1) != manifest:
            raise OSError(errno.EIO, "the manifest does not read back as it was written")


class _PendingFolder:
    under_way: Set[str] = set()  # the folders of this process

    def __init__(self, root: str, incarnation: int) -> None:
        self._root = root
        self._aside = os.path.join(root, f".tmp-{incarnation}-{os.getpid()}-{secrets.token_hex(4)}")
        self._folders = {self._aside}
        self.under_way.add(self._aside)
        os.mkdir(self._aside)

    def open(self, name: str) -> BinaryIO:
        return open(os.path.join(self._aside, name), "rb")

    def write(self, name: str, parts: Iterable[bytes]) -> None:
        path = os.path.join(self._aside, name)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        while folder not in self._folders:
            self._folders.add(folder)
            folder = os.path.dirname(folder)
        _write_file(path, parts)

    def commit(self, number: int, manifest: bytes) -> str:
        name = f"ckpt-{number:010d}"
        if not os.path.exists(os.path.join(self._aside, MANIFEST)):
            _write_file(os.path.join(self._aside, MANIFEST), [manifest])
        _check_manifest(self.open(MANIFEST), manifest)
        for folder in sorted(self._folders, key=len, reverse=True):
            sync_folder(folder)
        try:
            os.rename(self._aside, os.path.join(self._root, name))  # fails where another one is
        except FileExistsError:
            raise Taken(f"{name} is there") from None
        except OSError:
            if os.path.exists(os.path.join(self._root, name)):
                raise Taken(f"{name} is there") from None
            raise
        self.under_way.discard(self._aside)
        sync_folder(self._root)
        return name

    def abort(self) -> None:
        self.under_way.discard(self._aside)
        shutil.rmtree(self._aside, ignore_errors=True)


class FolderStore:
    """Versions in a folder of this machine."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)

    def __str__(self) -> str:
        return self._root

    def local(self) -> Optional[str]:
        return self._root

    def versions(self) -> Found:
        try:
            return _found(os.listdir(self._root))
        except FileNotFoundError:
            return []

    def exists(self, version: str) -> bool:
        try:
            return stat.S_ISDIR(os.stat(os.path.join(self._root, version)).st_mode)
        except FileNotFoundError:
            return False

    def open(self, version: str, name: str) -> BinaryIO:
        return open(os.path.join(self._root, version, name), "rb")

    def facts(self, version: str, name: str) -> Tuple[Any, ...]:
        found = os.stat(os.path.join(self._root, version, name))
        return found.st_size, found.st_mtime_ns, found.st_ino

    def path(self, version: str, name: str) -> Optional[str]:
        return os.path.join(self._root, version, name)

    def begin(self, number: int, incarnation: int) -> Pending:
        return _PendingFolder(self._root, incarnation)

    def remove(self, version: str, incarnation: int) -> None:
        """First out of sight: half of a version would look like one that is damaged."""
        aside = os.path.join(self._root, f".old-{incarnation}-{secrets.token_hex(4)}")
        try:
            os.rename(os.path.join(self._root, version), aside)
        except FileNotFoundError:
            return
        shutil.rmtree(aside, ignore_errors=True)

    def sweep(self, incarnation: int, newest: int) -> None:
        """Removes the folders of writers that were killed: of this one's earlier lives, and of older ones."""
        for name in os.listdir(self._root):
            match = ASIDE.fullmatch(name)
            aside = os.path.join(self._root, name)
            if match is not None and int(match.group(1)) <= incarnation and aside not in _PendingFolder.under_way:
                shutil.rmtree(aside, ignore_errors=True)


# ---- a URL ----


class _PendingObject:
    def __init__(self, store: "UrlStore", number: int) -> None:
        self._store = store
        self._number = number
        self._version = f"ckpt-{number:010d}-{secrets.token_hex(8)}"

    def write(self, name: str, parts: Iterable[bytes]) -> None:
        self._store.write(self._version, name, parts)

    def commit(self, number: int, manifest: bytes) -> str:
        if number != self._number:
            raise Taken(f"a version of the number {self._number} came meanwhile")
        self._store.write(self._version, MANIFEST, [manifest])
        _check_manifest(self.open(MANIFEST), manifest)
        return self._version

    def open(self, name: str) -> Any:
        return self._store.open(self._version, name)

    def abort(self) -> None:
        self._store.remove(self._version, 0)


class UrlStore:
    """Versions below a URL, through fsspec."""

    def __init__(self, url: str) -> None:
        try:
            fsspec: Any = importlib.import_module("fsspec")
        except ImportError:
            raise Error(f"the checkpoint {url} is a URL, and fsspec is not installed",
                        "apt install python3-fsspec, or name a folder") from None
        self._url = url
        self._fs, self._root = fsspec.core.url_to_fs(url)

    def __str__(self) -> str:
        return self._url

    def local(self) -> Optional[str]:
        return self._root if getattr(self._fs, "local_file", False) else None

    def _at(self, *parts: str) -> str:
        return "/".join((self._root.rstrip("/"),) + parts)

    def _names(self, *parts: str) -> List[str]:
        self._fs.invalidate_cache()
        try:
            found = self._fs.ls(self._at(*parts), detail=False)
        except FileNotFoundError:
            return []
        return [name.rstrip("/").rsplit("/", 1)[-1] for name in found]

    def versions(self) -> Found:
        return [(number, name) for number, name in _found(self._names()) if self.exists(name)]

    def exists(self, version: str) -> bool:
        try:
            self._fs.info(self._at(version, MANIFEST))  # its `exists` takes every error for absence
        except FileNotFoundError:
            return False
        return True

    def open(self, version: str, name: str) -> Any:
        return self._fs.open(self._at(version, name), "rb")

    def facts(self, version: str, name: str) -> Tuple[Any, ...]:
        found = self._fs.info(self._at(version, name))
        changes = tuple(str(found[name]) for name in CHANGES if name in found)
        return (found["size"],) + (changes or (object(),))  # a store that tells of no change is read each time

    def path(self, version: str, name: str) -> Optional[str]:
        return None

    def write(self, version: str, name: str, parts: Iterable[bytes]) -> None:
        path = self._at(version, name)
        self._fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        with self._fs.open(path, "wb") as file:
            for part in parts:
                file.write(part)

    def begin(self, number: int, incarnation: int) -> Pending:
        return _PendingObject(self, number)

    def remove(self, version: str, incarnation: int) -> None:
        """The manifest first: without it the folder is no version."""
        for path in (self._at(version, MANIFEST), self._at(version)):
            try:
                self._fs.rm(path, recursive=path != self._at(version, MANIFEST))
            except FileNotFoundError:
                pass

    def sweep(self, incarnation: int, newest: int) -> None:
        """Parts that are older than the newest version: nobody goes on with them. OSError: it is not known which they are."""
        for number, name in _found(self._names()):
            if number < newest and not self.exists(name):
                self.remove(name, incarnation)


def store_of(path: "str | os.PathLike[str]") -> Store:
    text = os.fspath(path)
    if re.match("[a-z][a-z0-9+.:-]*://", text):
        return UrlStore(text)
    return FolderStore(text)
